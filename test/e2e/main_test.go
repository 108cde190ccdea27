package e2e_test

import (
	"os"
	"testing"

	"github.com/treadle-run/treadle/test/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Main(m)) }
