// Package plan says what an app is to do and when: its compiled definition, what
// becomes of periods that were missed or overlap, which starts of upstream apps a period
// needs, when a period is late, and what comes next.
//
// It is pure: no I/O, no clock, no goroutine. Who asks gives the time and what is
// recorded; package engine carries out what is decided here.
package plan
