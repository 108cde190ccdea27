// Package spec has the nouns of spec files (Sequence, Node, Arg, App) and decodes them
// from YAML, with the place of each. Decoding goes on after a mistake, and bounds what
// a hostile file can cost.
//
// It knows one file at a time: whether what a node calls exists, and whatever else
// needs more than one object, is for package check. It reads no files. It may import
// proto and problem.
package spec
