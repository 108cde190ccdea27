// Package mask keeps secrets out of what is stored, logged and shown.
//
// A Masker replaces by proto.SecretMask, wherever they stand in a text:
//
//   - each secret, and what is left of it without the newlines at its end;
//   - each line of a secret of several lines, such as a private key, without the
//     white space around it. Lines of less than minLine bytes are no secret alone,
//     such as the braces of a JSON key file;
//   - all of these with escapes, those of JSON, Go, Python, C and the shell: \n, \",
//     \u00e9, \x00;
//   - all of these in the percent-encoding of URLs and forms (%2F, and + for a space);
//   - all of these in hex and in base64, with or without padding, of the standard
//     alphabet and that of URLs, alone or within something longer, in one line or
//     several; from minEncoded bytes on, as shorter ones would be found by chance.
//
// Matches that overlap become one mask. What was encoded twice, compressed,
// reversed, or cut in pieces by the one who writes it is not found: masks keep
// secrets out of sight, they do not hold back a job that wants to tell them.
//
// Time and memory are linear in the text and the secrets together, whatever they
// look like: an Aho-Corasick automaton finds all secrets in one pass, and a text is
// decoded once for each encoding instead of encoding the secrets.
//
// The package may import proto alone.
package mask
