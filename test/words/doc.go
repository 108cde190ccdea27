// Package words has tests that hold what users read to docs/glossary.md: messages, help
// texts, samples and pages.
package words
