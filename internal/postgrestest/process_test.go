package postgrestest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ruqi-dev/ruqi/internal/postgrestest"
)

// childEnv makes the test binary a process that has a server and waits. Its values: "private",
// "shared", "paused".
const childEnv = "RUQI_TEST_POSTGRESTEST_CHILD"

// child starts a server, prints the folder of its data, and waits for the end of its input.
func child(mode string) int {
	r := record(func(r testing.TB) {
		var s *postgrestest.Server
		if mode == "shared" {
			s = postgrestest.Shared(r)
		} else {
			s = postgrestest.New(r, postgrestest.Options{})
		}
		data, err := dataOf(context.Background(), s.URL())
		if err != nil {
			r.Fatal(err)
		}
		if mode == "paused" {
			s.Pause()
		}
		fmt.Println(data)
		_, _ = io.Copy(io.Discard, os.Stdin)
	})
	fmt.Fprint(os.Stderr, r.text.String())
	return 1
}

// dataOf asks a server for the folder of its data.
func dataOf(ctx context.Context, url string) (folder string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }()
	return folder, c.QueryRow(ctx, "SHOW data_directory").Scan(&folder)
}

func TestNoServerOutlivesAKilledProcess(t *testing.T) {
	for _, mode := range []string{"private", "shared", "paused"} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv("RUQI_TEST_POSTGRES", "") // the shared one is to be the child's own
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+mode)
			cmd.Stderr = os.Stderr
			_, err := cmd.StdinPipe() // open until Wait, so that the child stays
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			data, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatalf("the child tells no folder: %v, %v", err, cmd.Wait())
			}
			data = strings.TrimSpace(data)
			pids, segment := serverOf(t, data), segmentOf(t, data)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			waitFor(t, "the server's processes are gone", func() bool { return !slices.ContainsFunc(pids, postgrestest.Alive) })
			waitFor(t, "its folder is gone", func() bool { return !exists(filepath.Dir(data)) })
			noSegment(t, segment)
		})
	}
}

func TestNothingIsLeftOfAPrivateServer(t *testing.T) {
	for _, c := range []struct {
		title string
		last  func(*postgrestest.Server)
	}{
		{"that ran", func(*postgrestest.Server) {}},
		{"that was paused", (*postgrestest.Server).Pause},
		{"that was killed", (*postgrestest.Server).Kill},
	} {
		t.Run(c.title, func(t *testing.T) {
			var data, segment string
			var pids []int
			r := record(func(r testing.TB) {
				s := postgrestest.New(r, postgrestest.Options{})
				s.Schema(r)
				s.Database(r)
				var err error
				if data, err = dataOf(t.Context(), s.URL()); err != nil {
					t.Error(err)
					return
				}
				pids, segment = serverOf(t, data), segmentOf(t, data)
				c.last(s)
			})
			if r.failed {
				t.Error(r.text.String())
			}
			if slices.ContainsFunc(pids, postgrestest.Alive) || exists(filepath.Dir(data)) {
				t.Errorf("left are some of the processes %v, or the folder of %s", pids, data)
			}
			noSegment(t, segment)
		})
	}
}

// serverOf returns the processes of a server: the postmaster and its children.
func serverOf(t *testing.T, data string) []int {
	t.Helper()
	var postmaster int
	if _, err := fmt.Sscan(lockFile(t, data)[0], &postmaster); err != nil {
		t.Fatal(err)
	}
	children, err := postgrestest.ChildrenOf(postmaster)
	if err != nil {
		t.Fatal(err)
	}
	if len(children) < 3 || !postgrestest.Alive(postmaster) {
		t.Fatalf("the server %d has the processes %v only: too few to be one", postmaster, children)
	}
	return append(children, postmaster)
}

// segmentOf returns the id of a server's lock in shared memory.
func segmentOf(t *testing.T, data string) string {
	t.Helper()
	fields := strings.Fields(lockFile(t, data)[6])
	if len(fields) != 2 {
		t.Fatalf("postmaster.pid has %q for key and id", fields)
	}
	return fields[1]
}

// noSegment fails if there is such a lock in shared memory. It is what "ipcs -m" lists.
func noSegment(t *testing.T, id string) {
	t.Helper()
	text, err := exec.Command("ipcs", "-m").CombinedOutput()
	if err != nil {
		t.Fatalf("ipcs: %v: %s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == id {
			t.Errorf("a lock in shared memory is left: %s", line)
		}
	}
}

// lockFile returns the lines of postmaster.pid.
func lockFile(t *testing.T, data string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 8 {
		t.Fatalf("postmaster.pid has the lines %q only", lines)
	}
	return lines
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// waitFor looks every 10 ms until it is so, for at most 30 s.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	end := time.After(30 * time.Second)
	for !so() {
		select {
		case <-end:
			t.Fatalf("waited 30 s in vain until %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
