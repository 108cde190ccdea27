package audit

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// line is what a job wrote of itself, see lib.sh.
type line struct {
	what    byte // B, E, T or D
	at      int64
	request string
	try     tryID
	pid     int
	runner  string
	text    string
}

// tryID names one try of a job of a request, under one hand-over.
type tryID struct {
	job   string
	try   uint64
	epoch uint64
}

func (l line) String() string {
	return fmt.Sprintf("%s trace %c job %s try %d epoch %d pid %d on %s %s",
		clock(l.at), l.what, l.try.job, l.try.try, l.try.epoch, l.pid, l.runner, l.text)
}

// clock writes Unix nanoseconds for a reader of logs.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format("15:04:05.000000") }

// readTrace reads what all jobs wrote, by request, in the order of writing.
func readTrace(dir string) (map[string][]line, error) {
	f, err := os.Open(filepath.Join(dir, "trace"))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	out := map[string][]line{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		l, err := parseLine(in.Text())
		if err != nil {
			return nil, fmt.Errorf("%w in %q", err, in.Text())
		}
		out[l.request] = append(out[l.request], l)
	}
	return out, in.Err()
}

func parseLine(text string) (line, error) {
	f := strings.SplitN(text, " ", 9)
	if len(f) != 9 || len(f[0]) != 1 {
		return line{}, fmt.Errorf("not a line of a trace")
	}
	l := line{what: f[0][0], request: f[2], try: tryID{job: f[3]}, runner: f[7], text: f[8]}
	var err error
	number := func(s string) uint64 {
		n, e := strconv.ParseUint(s, 10, 63)
		if e != nil {
			err = e
		}
		return n
	}
	l.at = int64(number(f[1]))
	l.try.try, l.try.epoch, l.pid = number(f[4]), number(f[5]), int(number(f[6]))
	return l, err
}
