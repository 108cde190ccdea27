package private

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Hide closes the memory, the environment and the open files of the process to all
// others, but for those of root: it cannot be traced, and leaves no core dump.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// scrubEnvironment overwrites variables where the system keeps what the process was
// started with: /proc/PID/environ reads them there. Go has copies of its own. Where
// it cannot be done the variables stay, and Hide alone keeps them.
func scrubEnvironment(prefix string) {
	start, end := environmentArea()
	if start <= 0 || end <= start {
		return
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer mem.Close() //nolint:errcheck // nothing is buffered
	area := make([]byte, end-start)
	if _, err := mem.ReadAt(area, start); err != nil {
		return
	}
	at := start
	for variable := range bytes.SplitSeq(area, []byte{0}) {
		if bytes.HasPrefix(variable, []byte(prefix)) {
			_, _ = mem.WriteAt(make([]byte, len(variable)), at) // see above
		}
		at += int64(len(variable)) + 1
	}
}

// environmentArea returns where the environment of the process starts and ends in
// its memory: fields 50 and 51 of its stat.
func environmentArea() (start, end int64) {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0
	}
	// The name of the program, field 2, may have any characters.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 49 {
		return 0, 0
	}
	start, _ = strconv.ParseInt(fields[47], 10, 64) // 0 is none
	end, _ = strconv.ParseInt(fields[48], 10, 64)
	return start, end
}
