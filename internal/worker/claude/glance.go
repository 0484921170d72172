package claude

import (
	"bytes"
	"encoding/json"
)

// Most of what an agent prints is the output of tools, of which only the frame
// is of interest. Here a line is looked at without decoding what is in it: a
// string is passed over by looking for its end. What cannot be understood so is
// left to the decoder.

// glance reads a message's head; not ok when the decoder has to look.
func glance(line []byte) (h head, ok bool) {
	ok = members(line, func(key string, value []byte) {
		switch key {
		case "type":
			h.Type = word(value)
		case "subtype":
			h.Subtype = word(value)
		case "session_id":
			h.Session = word(value)
		case "parent_tool_use_id":
			h.Parent = word(value)
		}
	})
	return h, ok && h.Type != ""
}

// results returns the results of tools in a user message, without what the
// tools said.
func results(line []byte) (rs []block) {
	members(line, func(key string, message []byte) {
		if key != "message" {
			return
		}
		members(message, func(key string, content []byte) {
			if key != "content" {
				return
			}
			elements(content, func(item []byte) {
				var b block
				members(item, func(key string, value []byte) {
					switch key {
					case "type":
						b.Type = word(value)
					case "tool_use_id":
						b.Result = word(value)
					case "is_error":
						b.Failed = string(value) == "true"
					}
				})
				rs = append(rs, b)
			})
		})
	})
	return rs
}

// word is the value of a JSON string; empty for anything else.
func word(value []byte) string {
	switch {
	case len(value) < 2 || value[0] != '"':
		return ""
	case bytes.IndexByte(value, '\\') < 0:
		return string(value[1 : len(value)-1])
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// members visits the members of an object, in order. It reports whether data is
// one, as far as that can be seen.
func members(data []byte, visit func(key string, value []byte)) bool {
	return inside(data, '{', '}', func(i int) int {
		if i == len(data) || data[i] != '"' {
			return -1
		}
		end := pass(data, i)
		if end < 0 {
			return -1
		}
		at := space(data, end)
		if at == len(data) || data[at] != ':' {
			return -1
		}
		at = space(data, at+1)
		next := pass(data, at)
		if next > at {
			visit(string(data[i+1:end-1]), data[at:next])
		}
		return next
	})
}

// elements visits the elements of an array.
func elements(data []byte, visit func(value []byte)) bool {
	return inside(data, '[', ']', func(i int) int {
		next := pass(data, i)
		if next > i {
			visit(data[i:next])
		}
		return next
	})
}

// inside goes through what stands between two brackets. one takes what begins
// at an index and returns its end; -1 ends it all.
func inside(data []byte, open, shut byte, one func(i int) int) bool {
	i := space(data, 0)
	if i == len(data) || data[i] != open {
		return false
	}
	i = space(data, i+1)
	if i < len(data) && data[i] == shut {
		return space(data, i+1) == len(data)
	}
	for {
		if i = one(i); i < 0 {
			return false
		}
		i = space(data, i)
		switch {
		case i == len(data):
			return false
		case data[i] == shut:
			return space(data, i+1) == len(data)
		case data[i] != ',':
			return false
		}
		i = space(data, i+1)
	}
}

// pass returns the end of the value that begins at i; -1 when it has none.
func pass(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			if i = ending(data, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return -1
			}
			i++
			continue
		default:
			for i < len(data) && bytes.IndexByte([]byte(",:]} \t\r\n"), data[i]) < 0 {
				i++
			}
		}
		if depth <= 0 {
			break
		}
	}
	if depth != 0 {
		return -1
	}
	return i
}

// ending returns the index behind the string that begins at i; -1 when it does
// not end.
func ending(data []byte, i int) int {
	for at := i + 1; ; {
		n := bytes.IndexByte(data[at:], '"')
		if n < 0 {
			return -1
		}
		at += n
		slashes := 0
		for data[at-1-slashes] == '\\' {
			slashes++
		}
		at++
		if slashes%2 == 0 {
			return at
		}
	}
}

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}
