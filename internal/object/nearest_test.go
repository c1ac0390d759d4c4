package object_test

import (
	"fmt"
	"testing"

	"github.com/ruqi-dev/ruqi/internal/object"
)

func TestTheNameThatWasMeantIsAskedFor(t *testing.T) {
	overlaps := []string{"skip", "queue", "queue_one", "cancel_running", "allow"}
	for _, c := range []struct {
		wrong string
		known []string
		want  string
	}{
		{"skpi", overlaps, `; did you mean "skip"?`},
		{"Skip", overlaps, `; did you mean "skip"?`},
		{"queue-one", overlaps, `; did you mean "queue_one"?`},
		{"cancel_runing", overlaps, `; did you mean "cancel_running"?`},
		{"Allwo", overlaps, `; did you mean "allow"?`},
		{"never", overlaps, ""},
		{"", overlaps, ""},
		{"sk", overlaps, ""},
		{"skip", overlaps, ""}, // it is right, so it is not what is wrong
		{"overlpa", []string{"Overlap"}, `; did you mean "Overlap"?`},
		{"skip", nil, ""},
		{"delete_when_finnished", []string{"delete_when_finished"}, `; did you mean "delete_when_finished"?`},
	} {
		if got := object.DidYouMean(c.wrong, c.known...); got != c.want {
			t.Errorf("%q of %v: got %s, want %s", c.wrong, c.known, got, c.want)
		}
	}
}

func TestAMisspeltMemberIsAnsweredWithTheOneThatWasMeant(t *testing.T) {
	var said string
	o, err := object.Read([]byte(`{"overlapp":"skip"}`), func(_, _, format string, args ...any) { said = fmt.Sprintf(format, args...) })
	if err != nil {
		t.Fatal(err)
	}
	o.Text("overlap")
	o.Done("overlap", "retry")
	if want := `unknown member; accepted are overlap and retry; did you mean "overlap"?`; said != want {
		t.Errorf("got %s, want %s", said, want)
	}
}
