package chat

// Clip shortens s to at most n characters (Unicode code points); where
// something is left out, the last of them is an ellipsis. n is at least 1.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count, end := 0, 0 // end is where the n-th character begins
	for i := range s {
		if count++; count == n {
			end = i
		}
		if count > n {
			return s[:end] + "…"
		}
	}
	return s
}
