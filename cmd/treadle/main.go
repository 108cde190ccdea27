// Command treadle is Treadle with the job types that come with it.
package main

import (
	"github.com/treadle-run/treadle/cmd"
	"github.com/treadle-run/treadle/job/builtin"
)

func main() {
	cmd.Main(builtin.Registry())
}
