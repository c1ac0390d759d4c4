package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/trigger"
)

func TestAMisspeltZoneIsAskedAbout(t *testing.T) {
	for wrong, right := range map[string]string{
		"Europe/Berln": "Europe/Berlin", "America/New_Yrok": "America/New_York", "europe/berln": "Europe/Berlin", "Asia/Shangai": "Asia/Shanghai",
		"America/New York": "America/New_York", "America/Argentina/Buenos_Aries": "America/Argentina/Buenos_Aires", "Erope/Berlin": "Europe/Berlin",
		"Australia/Sidney": "Australia/Sydney", "Singapor": "Singapore", "EST5ETD": "EST5EDT", "Europe/Berlin ": "Europe/Berlin", "EUROPE/BERLIN": "Europe/Berlin",
		"utc": "UTC", "est": "EST", "Asia/Ho_Chi_Min": "Asia/Ho_Chi_Minh",
	} {
		_, err := trigger.LoadZone(wrong)
		if err == nil || !strings.HasSuffix(err.Error(), `; did you mean "`+right+`"?`) {
			t.Errorf("%s, which is %s: %v", wrong, right, err)
		}
	}
	for _, wrong := range []string{
		"", "Local", "local", "localtime", "Mars", "Europe/Atlantis", "Nowhere/Else", "CST", "PST", "BST", "AEST", "UTC+8", "GMT+8", "Etc/GMT+15", "UTC8",
		"posix/Europe/Berlin", "/etc/localtime", "Europe/", "../Europe/Berlin", "Asia/上海",
	} {
		if _, err := trigger.LoadZone(wrong); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// Wherever a zone is named the question is put.
func TestAMisspeltZoneIsAskedAboutWhereverItIsNamed(t *testing.T) {
	const want = `did you mean "Europe/Berlin"?`
	kinds := ruqi.NewRegistry()
	trigger.Register(kinds)
	_, inFront := trigger.Cron("TZ=Europe/Berln 0 9 * * *", trigger.CronOptions{})
	_, parsed := trigger.Parse("cron", "0 9 * * *", trigger.ParseOptions{Zone: "Europe/Berln"})
	_, decoded := kinds.DecodeTrigger([]byte(`{"kind":"cron","expr":"0 9 * * *","zone":"Europe/Berln"}`))
	_, within := kinds.DecodeTrigger([]byte(`{"kind":"any","zone":"Europe/Berln","of":[{"kind":"cron","expr":"0 9 * * *"}]}`))
	for name, err := range map[string]error{"in front of an expression": inFront, "beside what is parsed": parsed, "in JSON": decoded, "of a composite": within} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A name of a megabyte costs no time.
func TestALongZoneNameIsRefusedAtOnce(t *testing.T) {
	long := strings.Repeat("Europe/Berlin/", 100_000)
	start := time.Now()
	for range 100 {
		if _, err := trigger.LoadZone(long); err == nil || strings.Contains(err.Error(), "did you mean") || len(err.Error()) > 300 {
			t.Fatalf("%.400v", err)
		}
	}
	if took := time.Since(start); took > 5*time.Second { // less than half a second on a quiet machine
		t.Errorf("it took %v", took)
	}
	if _, err := trigger.LoadZone(long[:64]); err == nil {
		t.Error("half of it is taken")
	}
}
