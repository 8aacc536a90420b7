package audit_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hangar.io/holdshort/e2e/kit/audit"
)

const (
	first  = `{"auditID":"a","stage":"ResponseComplete","annotations":{"k":"1"}}` + "\n"
	second = `{"auditID":"b","stage":"RequestReceived"}` + "\n" + `{"auditID":"b","stage":"ResponseComplete","annotations":{"k":"2"}}` + "\n"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestAnEventIsFoundInALogThatGrowsInTheMiddleOfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	r := audit.Open(path)
	go func() {
		appendTo(t, path, first+second[:20])
		appendTo(t, path, second[20:])
	}()
	event, err := r.Wait(t.Context(), audit.ID("b"))
	if err != nil || event.Annotations["k"] != "2" {
		t.Fatalf("got %v, %v", event, err)
	}
}

func TestAMissingEventIsAnErrorWhenTheContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	appendTo(t, path, first)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if event, err := audit.Open(path).Wait(ctx, audit.ID("z")); err == nil {
		t.Fatalf("got %v", event)
	}
}

func TestABrokenLineIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	appendTo(t, path, "not json\n")
	if _, err := audit.Open(path).Wait(t.Context(), audit.ID("a")); err == nil {
		t.Fatal("no error")
	}
}
