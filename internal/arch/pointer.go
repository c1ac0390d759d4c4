package arch

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// escaper is the file that escapes the names in a JSON pointer.
const escaper = "internal/object/pointer.go"

// CheckPointers finds programs that escape the names in JSON pointers by themselves: one that forgets it, or does it in the
// other order, sends users to a field that is not there.
func CheckPointers(tree fs.FS) ([]Violation, error) {
	var found []Violation
	err := walk(tree, func(name string) error {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == escaper {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for _, escaped := range []string{`"~0"`, `"~1"`, "`~0`", "`~1`"} {
			if bytes.Contains(source, []byte(escaped)) && path.Dir(name) != "internal/arch" {
				found = append(found, Violation{"one-pointer-escaper", name,
					fmt.Sprintf("has %s: internal/object.Pointer escapes names, and nobody else does", escaped)})
				break
			}
		}
		return nil
	}, inSource)
	return found, err
}
