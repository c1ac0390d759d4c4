package legacy

import "context"

// A statusRow is how the service is. Each is null when nothing is scheduled.
type statusRow struct {
	Wait  *seconds `json:"wait_seconds"`
	Check *string  `json:"check_time"`
	Next  *string  `json:"next_wakeup_time"`
}

func (h *Handler) status(ctx context.Context, _ *params) (any, error) {
	status, err := h.Operations.Status(ctx)
	if err != nil {
		return nil, err
	}
	if status.CheckTime == nil || status.NextWakeup == nil {
		return statusRow{}, nil
	}
	// Both are on the store's clock, so that the wait between them is right whatever the clock of this host says.
	wait := seconds(max(status.NextWakeup.Sub(*status.CheckTime), 0).Seconds())
	check, next := h.time(*status.CheckTime), h.time(*status.NextWakeup)
	return statusRow{&wait, &check, &next}, nil
}

func (h *Handler) wakeup(ctx context.Context, _ *params) (any, error) {
	return nil, h.Operations.Wakeup(ctx)
}
