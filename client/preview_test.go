package client_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/wire"
)

func TestAPreviewSaysWhatATriggerMeans(t *testing.T) {
	c := remote(t)
	from := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC) // a Friday
	at := time.Date(2026, 11, 28, 2, 30, 0, 0, time.UTC)
	until := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	got, err := c.Preview(t.Context(), wire.PreviewRequest{
		Trigger: json.RawMessage(`{"kind":"cron","expr":"30 2 * * mon-fri","zone":"UTC"}`), From: &from, Until: &until, N: 9, Previous: 1, At: &at,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Description.English != "at 02:30 on Monday to Friday, UTC" || got.Description.Chinese != "在每周一至周五的 02:30，UTC 时间" {
		t.Errorf("described as %+v", got.Description)
	}
	if len(got.Times) != 2 || got.Times[1].Day() != 30 || len(got.Previous) != 1 || got.Previous[0].Day() != 26 {
		t.Errorf("times %v after %v", got.Times, got.Previous)
	}
	why := got.Explanation
	if why == nil || why.Fires || len(why.Reasons) != 1 || why.Reasons[0].Part != "day_of_week" || why.Before.Day() != 27 || why.After.Day() != 30 {
		t.Errorf("explained by %+v", why)
	}
	var invalid *ruqi.InvalidError
	_, err = c.Preview(t.Context(), wire.PreviewRequest{Trigger: json.RawMessage(`{"kind":"cron","expr":"61 * * * *"}`)})
	if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Faults[0].Pointer, "/trigger") {
		t.Errorf("a wrong trigger: %v", err)
	}
}
