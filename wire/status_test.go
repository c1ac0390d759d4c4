package wire_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

func TestCountsThatTheStoreDoesNotTellAreNull(t *testing.T) {
	none := map[ruqi.JobState]int64{}
	some := map[ruqi.JobState]int64{ruqi.JobActive: 2, ruqi.JobPaused: 0, ruqi.JobFinished: 1}
	const unknown = `"jobs":{"active":null,"paused":null,"finished":null,"parked":null},"runs":{"running":null,"queued":null}`
	for title, c := range map[string]struct {
		status ruqi.Status
		want   string
	}{
		"a store that fails":                   {ruqi.Status{StoreError: "away", Jobs: none}, unknown},
		"an empty store":                       {ruqi.Status{Jobs: none}, `"jobs":{"active":0,"paused":0,"finished":0,"parked":0},"runs":{"running":0,"queued":0}`},
		"a store that fails and still counted": {ruqi.Status{StoreError: "cannot claim", Jobs: some, Queued: 3}, `"jobs":{"active":2,"paused":0,"finished":1,"parked":0},"runs":{"running":0,"queued":3}`},
	} {
		shape := wire.FromStatus(c.status, time.Now())
		text, err := json.Marshal(shape)
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %s, %v", title, text, err)
		}
		var read wire.Status
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if again := wire.FromStatus(read.Status(), time.Now()); !reflect.DeepEqual(again, shape) {
			t.Errorf("%s comes back as %+v", title, again)
		}
	}
}
