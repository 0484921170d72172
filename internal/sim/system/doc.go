// Package system holds the tests of the whole daemon: kills at every fault
// point, kills at random times, restarts, people who may nothing. It contains
// tests only; what they drive is package rig, and who judges is package oracle.
package system
