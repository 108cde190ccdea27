package database_test

import (
	"testing"

	"github.com/treadle-run/treadle/internal/database/databasetest"
)

func TestMain(m *testing.M) { databasetest.Main(m) }
