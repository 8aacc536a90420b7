// Package fault is an HTTP proxy in front of one server that does to requests what networks
// and overloaded servers do: delay, refuse with a status, reset, cut in the middle.
package fault

import (
	"bufio"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// Fault is what happens to one request. The zero value lets it through.
type Fault struct {
	// Delay passes before anything else.
	Delay time.Duration
	// Status, if not 0, answers instead of the server, with RetryAfter as a header if set.
	Status     int
	RetryAfter string
	// Reset closes the client's connection with a TCP reset instead of an answer.
	Reset bool
	// CutAfter, if above 0, ends the connection after that many bytes of the response body,
	// or of what flows to the client after an upgrade.
	CutAfter int
}

// Proxy forwards to its target until it is closed. It is safe for concurrent use.
type Proxy struct {
	URL string

	server  *http.Server
	forward *httputil.ReverseProxy

	mu    sync.Mutex // guards fault
	fault func(*http.Request) Fault
}

// New starts a proxy on a free loopback port. The transport reaches the target; nil is
// http.DefaultTransport.
func New(target *url.URL, transport http.RoundTripper) (*Proxy, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{URL: "http://" + listener.Addr().String()}
	p.forward = &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // a cut must find the bytes before it delivered
		ErrorLog:      log.New(discard{}, "", 0),
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(discard{}, "", 0)}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// Close stops the proxy and the connections through it.
func (p *Proxy) Close() { _ = p.server.Close() }

// Set decides from now on what happens to each request; nil lets all through.
func (p *Proxy) Set(fault func(*http.Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// Next applies the faults to the next requests in turn and then lets all through.
func (p *Proxy) Next(faults ...Fault) {
	var mu sync.Mutex
	p.Set(func(*http.Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		if len(faults) == 0 {
			return Fault{}
		}
		f := faults[0]
		faults = faults[1:]
		return f
	})
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	decide := p.fault
	p.mu.Unlock()
	var f Fault
	if decide != nil {
		f = decide(r)
	}
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case f.Reset:
		reset(w)
	case f.Status != 0:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		http.Error(w, http.StatusText(f.Status), f.Status)
	case f.CutAfter > 0:
		p.forward.ServeHTTP(&cutter{ResponseWriter: w, left: f.CutAfter}, r)
	default:
		p.forward.ServeHTTP(w, r)
	}
}

// reset drops the connection so that the client sees ECONNRESET: a linger of 0 makes close send
// RST instead of FIN.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// cutter lets a number of body bytes through and then breaks the connection.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(b []byte) (int, error) {
	if len(b) < c.left {
		c.left -= len(b)
		return c.ResponseWriter.Write(b)
	}
	_, _ = c.ResponseWriter.Write(b[:c.left])
	c.Flush()
	panic(http.ErrAbortHandler) // net/http: aborts the response, the client sees an unexpected EOF
}

// Flush implements http.Flusher.
func (c *cutter) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// Hijack implements http.Hijacker, for upgraded connections.
func (c *cutter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &cutConn{Conn: conn, left: c.left}, rw, nil
}

// cutConn is an upgraded connection that is cut after a number of bytes to the client. The
// response to the upgrade itself goes through the bufio.ReadWriter and does not count.
type cutConn struct {
	net.Conn
	left int
}

var errCut = errors.New("cut")

func (c *cutConn) Write(b []byte) (int, error) {
	if len(b) < c.left {
		c.left -= len(b)
		return c.Conn.Write(b)
	}
	n, _ := c.Conn.Write(b[:c.left])
	_ = c.Conn.Close()
	return n, errCut
}

// discard drops the messages of net/http about the connections that are broken on purpose.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
