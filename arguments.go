package ruqi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ruqi-dev/ruqi/internal/object"
)

// An argumentNames says how a function's params find its arguments.
type argumentNames int

const (
	// noNames: it takes none by name; it may read them with CurrentRun.
	noNames argumentNames = iota
	// fieldNames: by the names of a struct's fields, which encoding/json finds in any case.
	fieldNames
	// keyNames: by the keys of a map.
	keyNames
)

// namesOf looks what a function takes.
func namesOf(args reflect.Type) argumentNames {
	for args.Kind() == reflect.Pointer {
		args = args.Elem()
	}
	switch args.Kind() {
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(args) {
			if field.IsExported() && field.Tag.Get("json") != "-" {
				return fieldNames
			}
		}
	case reflect.Map:
		return keyNames
	}
	return noNames
}

// layOver returns the arguments with the params in the places of those of the same names.
func (n argumentNames) layOver(args, params json.RawMessage) (json.RawMessage, error) {
	if n == noNames {
		return args, nil
	}
	over, err := paramsOf(params)
	if err != nil || len(over) == 0 {
		return args, err
	}
	var all map[string]json.RawMessage
	if len(args) > 0 {
		if err := json.Unmarshal(args, &all); err != nil {
			return args, nil // no object: they are the function's to judge
		}
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if n == fieldNames {
		given := make(map[string]bool, len(over))
		for name := range over {
			given[strings.ToLower(name)] = true
		}
		maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return given[strings.ToLower(name)] })
	}
	maps.Copy(all, over)
	return json.Marshal(all)
}

// checkParams reports whether the function takes the params over these arguments: an *InvalidError that lists, by name, those that
// it does not. It is nil for a function that takes no params by name, and for one that is not registered here.
func (r *Registry) checkParams(name string, args, params json.RawMessage) error {
	f, err := r.function(name)
	if err != nil || f.names == noNames {
		return nil
	}
	all, err := f.names.layOver(args, params)
	if err != nil {
		return err
	}
	whole := f.check(all)
	if whole == nil || f.check(args) != nil { // the arguments have their own word
		return nil
	}
	var faults Faults
	members, err := paramsOf(params)
	if err != nil {
		return err
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		alone, err := json.Marshal(map[string]json.RawMessage{member: members[member]})
		if err != nil {
			return err
		}
		var wrongType *json.UnmarshalTypeError
		switch err := f.check(alone); {
		case err == nil:
		case errors.As(err, &wrongType) && wrongType.Field != "":
			pointer := object.Pointer(append([]string{member}, strings.Split(wrongType.Field, ".")[1:]...)...)
			faults.Add(pointer, string(members[member]), "function %q expects %v here, not %s", name, wrongType.Type, wrongType.Value)
		default:
			faults.Add(object.Pointer(member), string(members[member]), "function %q does not take it: %v", name, err)
		}
	}
	if faults.Err() == nil {
		faults.Add("", string(params), "function %q does not take them: %v", name, whole)
	}
	return faults.Err()
}

// checkCall checks the params of a function's run.
func (r *Registry) checkCall(task Task, params json.RawMessage) error {
	f, ok := task.(*FuncTask)
	if !ok || f == nil || f.closure != nil || f.err != nil || len(params) == 0 {
		return nil
	}
	return r.checkParams(f.name, f.args, params)
}

// CallFunc calls the function by name, with the params laid over its arguments: a param takes the place of the argument of
// its name where the function takes a struct or a map. Panics are the caller's.
func (r *Registry) CallFunc(ctx context.Context, name string, args, params json.RawMessage) error {
	f, err := r.function(name)
	if err != nil {
		return err
	}
	if len(params) > len("{}") {
		if err := r.checkParams(name, args, params); err != nil {
			return fmt.Errorf("params of %s: %w", name, err)
		}
		if args, err = f.names.layOver(args, params); err != nil {
			return fmt.Errorf("params of %s: %w", name, err)
		}
	}
	return f.call(ctx, args)
}
