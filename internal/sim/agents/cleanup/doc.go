// Package cleanup holds the tests that nothing of an agent outlives what it was
// started for: for each way in which agents are known to behave in the middle
// of a tool, and for each way in which a turn, a worker or the daemon ends. The
// installed CLIs go through the same under the build tag "agents".
package cleanup
