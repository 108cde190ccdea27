package requests

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// clusterSecret is known to all services, and here.
const clusterSecret = "the secret of a torture test"

// call makes one HTTP call; the error says that no answer came.
func (s *system) call(ctx context.Context, method, url, key string, body any) (status int, answer []byte, err error) {
	var b []byte
	if body != nil {
		if b, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(b))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Treadle "+clusterSecret)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// submit asks a manager for a request, and returns its id if it was accepted.
func (s *system) submit(ctx context.Context, rm *service, w *work) (id string, status int, err error) {
	status, answer, err := s.call(ctx, http.MethodPost, rm.baseURL()+"/api/v1/requests", w.key,
		map[string]any{"Type": w.kind, "Args": w.args})
	if err != nil || status != http.StatusCreated {
		return "", status, err
	}
	var r struct {
		ID string `json:"id"`
	}
	return r.ID, status, json.Unmarshal(answer, &r)
}
