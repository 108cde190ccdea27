package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/treadle-run/treadle/test/e2e"
)

// TestMain lends the harness of whole programs.
func TestMain(m *testing.M) { os.Exit(e2e.Main(m)) }

// browserEnv says whether there is a Chromium: "on", or the tests are left out.
const browserEnv = "TREADLE_TEST_BROWSER"

// open starts a browser that ends with the test. Every host name that ends in
// .example is 127.0.0.1 for it; it reaches no other machine.
func open(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv(browserEnv) != "on" {
		t.Skip(browserEnv + "=on runs the tests in a browser")
	}
	bin, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%s=on needs chromium: %v", browserEnv, err)
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(bin), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	allocator, end := chromedp.NewExecAllocator(t.Context(), flags...)
	ctx, closeTab := chromedp.NewContext(allocator)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(func() {
		cancel()
		closeTab()
		end()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(fmt.Errorf("starting chromium: %w", err))
	}
	return ctx
}
