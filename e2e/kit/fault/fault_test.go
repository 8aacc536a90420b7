package fault_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"hangar.io/holdshort/e2e/kit/fault"
)

const body = "0123456789"

func start(t *testing.T, handler http.HandlerFunc) *fault.Proxy {
	t.Helper()
	backend := httptest.NewServer(handler)
	t.Cleanup(backend.Close)
	target, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := fault.New(target, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func get(p *fault.Proxy) (code int, text string, header http.Header, err error) {
	// net/http sends a GET again when a reused connection is reset: every request gets its own.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(p.URL)
	if err != nil {
		return 0, "", nil, err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return response.StatusCode, string(b), response.Header, err
}

func TestEachFaultHitsItsRequestAndTheNextPasses(t *testing.T) {
	p := start(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	p.Next(fault.Fault{Status: 503, RetryAfter: "7"}, fault.Fault{Reset: true}, fault.Fault{CutAfter: 4}, fault.Fault{Delay: 30 * time.Millisecond})

	if code, _, header, err := get(p); err != nil || code != 503 || header.Get("Retry-After") != "7" {
		t.Errorf("status: %d %v %v", code, header, err)
	}
	if _, _, _, err := get(p); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v", err)
	}
	if _, text, _, err := get(p); !errors.Is(err, io.ErrUnexpectedEOF) || text != body[:4] {
		t.Errorf("cut: %q %v", text, err)
	}
	begin := time.Now()
	if _, text, _, err := get(p); err != nil || text != body || time.Since(begin) < 30*time.Millisecond {
		t.Errorf("delay: %q %v", text, err)
	}
	if _, text, _, err := get(p); err != nil || text != body {
		t.Errorf("after the faults: %q %v", text, err)
	}
}

func TestAnUpgradedConnectionIsCut(t *testing.T) {
	p := start(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n"+body)
	})
	p.Next(fault.Fault{CutAfter: 4})
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
	all, _ := io.ReadAll(conn)
	if _, after, ok := strings.Cut(string(all), "\r\n\r\n"); !ok || after != body[:4] {
		t.Fatalf("got %q", all)
	}
}
