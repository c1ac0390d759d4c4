package memory_test

import (
	"testing"

	"github.com/ruqi-dev/ruqi/jobstore/jobstoretest"
	"github.com/ruqi-dev/ruqi/jobstore/memory"
)

func TestLaws(t *testing.T) {
	jobstoretest.Run(t, func(_ testing.TB, o jobstoretest.Options) jobstoretest.Store {
		return memory.Open(memory.Options{Now: o.Now, OutputCap: o.OutputCap})
	})
}
