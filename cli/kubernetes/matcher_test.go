package kubernetes_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi/cli/kubernetes"
	"github.com/ruqi-dev/ruqi/internal/cronplain"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

func TestSchedulesMatchMinuteByMinuteForAYear(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.yaml", "styles/*"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	years := map[string][]cronplain.Minute{}
	compared, broken := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// A CronJob with a time zone lives in it, whatever the others do.
		for _, others := range []string{"UTC", "America/New_York"} {
			r, err := kubernetes.Read(file, data, kubernetes.Options{Zone: others})
			if err != nil {
				broken++
				continue
			}
			for _, job := range r.Jobs {
				text, err := json.Marshal(job.Definition)
				if err != nil {
					t.Fatal(err)
				}
				spec, err := wire.DecodeNew(standard.Registry(standard.Options{}), text)
				if err != nil {
					t.Fatalf("%s: %v", job.Where, err)
				}
				when := job.Definition["trigger"].(map[string]any)
				if when["kind"] != "cron" {
					continue // @every is no time of minutes
				}
				expr, zone := when["expr"].(string), when["zone"].(string)
				if years[zone] == nil {
					location, err := time.LoadLocation(zone)
					if err != nil {
						t.Fatal(err)
					}
					years[zone] = cronplain.Year(location)
				}
				m, err := cronplain.New(expr)
				if err != nil {
					t.Fatalf("%s: %v", job.Where, err)
				}
				if fired, err := m.Compare(years[zone], spec.Trigger.Next); err != nil || fired == 0 {
					t.Errorf("%s: %q in %s fired %d times, %v", job.Where, expr, zone, fired, err)
				}
				compared++
			}
		}
	}
	if compared < 38 || broken > 2 || len(years) < 4 {
		t.Errorf("%d schedules in %d zones were compared, %d files were not read", compared, len(years), broken)
	}
}
