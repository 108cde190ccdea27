package api

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkCreate is what the layer itself costs to take a request, network aside.
func BenchmarkCreate(b *testing.B) {
	api := New(Config{}, (&fakeManager{}).services(), slog.New(slog.DiscardHandler))
	const body = `{"Type":"deploy","Args":{"host":"a1","n":3}}`
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "http://localhost/api/v1/requests", strings.NewReader(body))
		api.ServeHTTP(w, r)
		if w.Code != 201 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
