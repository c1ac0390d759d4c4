package ruqi_test

import (
	"os"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }
