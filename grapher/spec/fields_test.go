package spec

import "testing"

// Every field of every table can be noted.
func TestFieldNamesAreComplete(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		fieldNamesOf(documentFields), fieldNamesOf(sequenceFields), fieldNamesOf(argsFields), fieldNamesOf(argFields),
		fieldNamesOf(aclFields), fieldNamesOf(nodeFields), fieldNamesOf(nodeArgFields), fieldNamesOf(setFields), fieldNamesOf(appFields),
	} {
		for _, name := range names {
			if _, ok := fieldNumbers[name]; !ok {
				t.Errorf("field %s is not in fieldNames", name)
			}
		}
	}
}
