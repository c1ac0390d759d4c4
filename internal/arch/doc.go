// Package arch holds the rules of the house as code: which package may import
// which and why, how long a file and how wide an interface may grow, and which
// words do not belong in the source. Its tests apply the rules to this module,
// and to planted violations that each rule must find.
//
// Nothing imports this package.
package arch
