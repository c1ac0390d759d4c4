package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/ruqi-dev/ruqi/cli/kubernetes"
	"github.com/ruqi-dev/ruqi/internal/cronplain"
	"github.com/ruqi-dev/ruqi/standard"
	"github.com/ruqi-dev/ruqi/wire"
)

// A written schedule is what a manifest says, read without the package that is tried here.
type written struct{ schedule, zone string }

// schedulesOf finds the CronJobs of a value of YAML by their names.
func schedulesOf(value any, found map[string]written) {
	object, _ := value.(map[string]any)
	items, _ := object["items"].([]any)
	for _, item := range items {
		schedulesOf(item, found)
	}
	spec, _ := object["spec"].(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	if schedule, is := spec["schedule"].(string); is {
		zone, _ := spec["timeZone"].(string)
		found[fmt.Sprint(metadata["name"])] = written{schedule, zone}
	}
}

func readSchedules(t *testing.T, file string, data []byte) map[string]written {
	t.Helper()
	found := map[string]written{}
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var value any
		switch err := d.Decode(&value); {
		case errors.Is(err, io.EOF):
			return found
		case err != nil:
			t.Fatalf("%s: %v", file, err)
		}
		schedulesOf(value, found)
	}
}

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
				want, is := readSchedules(t, file, data)[job.Definition["name"].(string)]
				if !is {
					t.Fatalf("%s: the manifest has no schedule", job.Where)
				}
				expr, zone := want.schedule, want.zone
				if zone == "" {
					zone = others
				}
				if strings.HasPrefix(expr, "@every ") {
					continue // no time of minutes
				}
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
