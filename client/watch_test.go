package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ruqi-dev/ruqi/client"
)

// later is a body that ends after a while, or when its request does.
type later struct {
	r    *http.Request
	wait time.Duration
}

func (l later) Read([]byte) (int, error) {
	select {
	case <-time.After(l.wait):
		return 0, io.EOF
	case <-l.r.Context().Done():
		return 0, l.r.Context().Err()
	}
}

func TestAServiceThatHangsIsNotWaitedForWithoutEnd(t *testing.T) {
	silent := line(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	stalls := line(func(r *http.Request) (*http.Response, error) {
		resp, err := says(http.StatusOK, "")(r)
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"items":[`), later{r, 24 * time.Hour}))
		return resp, err
	})
	const maybe = "may have been done all the same"
	for title, c := range map[string]struct {
		answer line
		ask    func(ctx context.Context, c *client.Client) error
		maybe  bool
	}{
		"a question":           {silent, func(ctx context.Context, c *client.Client) error { _, err := c.Status(ctx); return err }, false},
		"a change":             {silent, func(ctx context.Context, c *client.Client) error { _, err := c.PauseJob(ctx, "x"); return err }, true},
		"an answer that stops": {stalls, func(ctx context.Context, c *client.Client) error { _, err := c.Instances(ctx); return err }, false},
		"a follower's request": {silent, func(ctx context.Context, c *client.Client) error {
			return c.CopyOutput(ctx, io.Discard, 7, client.Follow)
		}, false},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := over(t, c.answer)
				begin := time.Now()
				err := c.ask(t.Context(), client)
				if took := time.Since(begin); took != 30*time.Second {
					t.Errorf("it takes %s", took)
				}
				if !unreachable(err) || !strings.Contains(err.Error(), "did not answer within 30s") || strings.Contains(err.Error(), maybe) != c.maybe {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

func TestAnOutputThatIsFollowedMayBeSilentForHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(t, func(r *http.Request) (*http.Response, error) {
			resp, err := says(http.StatusOK, "")(r)
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("begin"), later{r, 5 * time.Hour}, strings.NewReader(" end")))
			return resp, err
		})
		var out bytes.Buffer
		if err := c.CopyOutput(t.Context(), &out, 7, client.Follow); err != nil || out.String() != "begin end" {
			t.Errorf("%q, %v", &out, err)
		}
	})
}

func over(t *testing.T, transport line) *client.Client {
	t.Helper()
	c, err := client.New("http://127.0.0.1:8585", token, newRegistry(anywhere{}), client.Options{HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func unreachable(err error) bool { return errors.Is(err, client.ErrUnreachable) }
