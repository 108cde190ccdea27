package request

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/treadle-run/treadle/proto"
)

// maxAsked is how many runners are asked at a time.
const maxAsked = 16

// Running returns the jobs that run now, of one request or (requestID "") of all,
// oldest first. It asks the runners that hold something, side by side; the answer
// names those that did not answer in time.
//
// orderBy is "startTime" or "", which are the same.
func (m *Manager) Running(ctx context.Context, requestID, orderBy string) (proto.RunningStatus, error) {
	status := proto.RunningStatus{Jobs: []proto.JobStatus{}, Requests: map[string]proto.Request{}}
	if orderBy != "" && orderBy != "startTime" {
		return status, proto.Errorf(proto.CodeInvalid, "orderBy %q: expected startTime", orderBy)
	}
	urls, err := m.holders(ctx, requestID)
	if err != nil {
		return status, err
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StatusTimeout)
	defer cancel()
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
		slots = make(chan struct{}, maxAsked)
	)
	for _, url := range urls {
		slots <- struct{}{}
		asked.Go(func() {
			defer func() { <-slots }()
			jobs, err := m.cfg.Runners.Running(ctx, url)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				m.log.Info("a job runner did not answer what it is running", "url", url, "error", err)
				status.Unreachable = append(status.Unreachable, url)
				return
			}
			for _, j := range jobs {
				if requestID == "" || j.RequestID == requestID {
					status.Jobs = append(status.Jobs, j)
				}
			}
		})
	}
	asked.Wait()
	slices.Sort(status.Unreachable)
	slices.SortStableFunc(status.Jobs, func(a, b proto.JobStatus) int {
		if a.StartedAt != b.StartedAt {
			return int(min(max(a.StartedAt-b.StartedAt, -1), 1))
		}
		return strings.Compare(a.RequestID+a.JobID, b.RequestID+b.JobID)
	})
	return status, m.addRequests(context.WithoutCancel(ctx), &status)
}

// holders returns the base URLs of the runners that hold the request, or any.
func (m *Manager) holders(ctx context.Context, requestID string) ([]string, error) {
	if requestID != "" {
		r, err := m.store.Request(ctx, requestID)
		if err != nil {
			return nil, storeError(err, requestID)
		}
		if r.State != proto.StateRunning || r.JobRunnerURL == "" {
			return nil, nil
		}
		return []string{r.JobRunnerURL}, nil
	}
	loads, err := m.store.RunnerLoads(ctx)
	if err != nil {
		return nil, storeError(err, "")
	}
	known := m.fleet.urls()
	var urls []string
	for id := range loads {
		if url := known[id]; url != "" && !slices.Contains(urls, url) {
			urls = append(urls, url)
		}
	}
	return urls, nil
}

// addRequests adds the requests of the jobs.
func (m *Manager) addRequests(ctx context.Context, status *proto.RunningStatus) error {
	seen := map[string]bool{}
	var ids []string
	for _, j := range status.Jobs {
		if !seen[j.RequestID] {
			seen[j.RequestID] = true
			ids = append(ids, j.RequestID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	requests, err := m.store.Requests(ctx, ids)
	if err != nil {
		return storeError(err, "")
	}
	status.Requests = requests
	return nil
}
