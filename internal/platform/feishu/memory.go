package feishu

import "sync"

// remembered is how many chats, messages and people are kept in mind: what is
// forgotten is asked for again, or does without.
const remembered = 4096

// recent keeps the newest entries of a map.
type recent[V any] struct {
	mu    sync.Mutex
	m     map[string]V
	order []string
}

func (r *recent[V]) put(key string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = map[string]V{}
	}
	if _, known := r.m[key]; !known {
		r.order = append(r.order, key)
		if len(r.order) > remembered {
			delete(r.m, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.m[key] = v
}

func (r *recent[V]) get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.m[key]
	return v, ok
}
