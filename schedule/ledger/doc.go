// Package ledger reads what is recorded of recurring work and says how it stands: the
// periods of an app and why each is where it is, what is blocked and on what, lists of
// apps, instances and events, the next times, and whether all that a period needs of its
// upstream apps has SUCCEEDED. It changes nothing.
//
// The engine asks it the same questions that users ask, so that what is shown is what is
// acted on.
package ledger
