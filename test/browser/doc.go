// Package browser has tests in a real Chromium against real services.
package browser
