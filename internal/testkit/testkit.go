// Package testkit has what the tests of many packages use.
package testkit

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Must ends the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ErrorCode ends the test unless err is an error with that code.
func ErrorCode(t testing.TB, err error, want proto.Code) {
	t.Helper()
	if err == nil || proto.ErrorCode(err) != want {
		t.Fatalf("error is %v (%s), want %s", err, proto.ErrorCode(err), want)
	}
}

// After lets virtual time pass, in a bubble of synctest, and everything happen that
// then happens.
func After(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
	synctest.Wait()
}

// MostlyWaiting is called by the TestMain of a package whose tests wait for other
// processes most of the time: several times as many of them run side by side as there
// are processors, unless the command line says how many.
func MostlyWaiting() {
	if !flag.Parsed() {
		flag.Parse()
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	// The flag is there in every test, and takes any number from 1 on.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}

// Long skips a test in -short that waits for seconds of real time, or does a thing very
// often.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: not with -short")
	}
}
