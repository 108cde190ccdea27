package job

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Registry makes jobs by the name of their type. Register everything before
// the first use; after that it is safe for concurrent use.
type Registry struct {
	makers   map[string]func() Job
	declared map[string]*Declaration // by type; nil for those without
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{makers: map[string]func() Job{}, declared: map[string]*Declaration{}}
}

// Register adds a job type. Make returns a new value each time, a pointer to an
// empty struct (or any type that has UnmarshalBinary); it is called here too, for
// what a Declarer declares. Names may have slashes ("team/deploy"). Like http.Handle, it
// panics if the name is empty, too long or taken, or the declaration makes no sense:
// that is a mistake in the program.
func (r *Registry) Register(jobType string, make func() Job) {
	if err := proto.CheckJobType(jobType, proto.MaxJobType); err != nil {
		panic(fmt.Sprintf("job: the name of type %q %v", jobType, err))
	}
	if _, ok := r.makers[jobType]; ok {
		panic(fmt.Sprintf("job: type %q is registered twice", jobType))
	}
	if make == nil {
		panic(fmt.Sprintf("job: type %q: no function to make it", jobType))
	}
	d, err := declarationOf(make)
	if err != nil {
		panic(fmt.Sprintf("job: type %q: its declaration: %v", jobType, err))
	}
	r.makers[jobType] = make
	r.declared[jobType] = d
}

func declarationOf(make func() Job) (*Declaration, error) {
	declarer, ok := make().(Declarer)
	if !ok {
		return nil, nil
	}
	d := declarer.Declare()
	return &d, d.prepare()
}

// Declaration returns what the type declares, which must not be changed, and false if
// it declares nothing or is not registered.
func (r *Registry) Declaration(jobType string) (*Declaration, bool) {
	d := r.declared[jobType]
	return d, d != nil
}

// Has reports whether the type is registered.
func (r *Registry) Has(jobType string) bool {
	_, ok := r.makers[jobType]
	return ok
}

// Types returns the names of all types, sorted.
func (r *Registry) Types() []string {
	return slices.Sorted(maps.Keys(r.makers))
}

func (r *Registry) make(jobType string) (Job, error) {
	m, ok := r.makers[jobType]
	if !ok {
		return nil, fmt.Errorf("job type %q is not known to this program; it knows %s", jobType, strings.Join(r.Types(), ", "))
	}
	j := m()
	if j == nil {
		return nil, fmt.Errorf("job type %q: the registered function returned nil", jobType)
	}
	if _, ok := j.(encoding.BinaryUnmarshaler); !ok && reflect.TypeOf(j).Kind() != reflect.Pointer {
		return nil, fmt.Errorf("job type %q: the registered function returned a %T, which nothing can be read into: return a pointer", jobType, j)
	}
	return j, nil
}

// Create makes a job for a new request and returns its bytes. It may set keys in
// args. A panic of the job type is returned as a PanicError, a bad arg as an
// ArgError.
func (r *Registry) Create(ctx context.Context, info *Info, args Values) (b []byte, err error) {
	defer recoverAs("Create", &err)
	j, err := r.make(info.Type)
	if err != nil {
		return nil, err
	}
	accepted := args
	if d := r.declared[info.Type]; d != nil {
		if accepted, err = d.Accept(args); err != nil {
			return nil, err
		}
	}
	if c, ok := j.(Creator); ok {
		if err := c.Create(WithInfo(ctx, info), args); err != nil {
			return nil, err
		}
	} else if err := fill(j, accepted); err != nil {
		return nil, err
	}
	return encode(j)
}

func encode(j Job) (b []byte, err error) {
	defer recoverAs("MarshalBinary", &err)
	if m, ok := j.(encoding.BinaryMarshaler); ok {
		return m.MarshalBinary()
	}
	return json.Marshal(j)
}

// fill sets the exported fields of j from args, by their JSON names. Args
// without a field are left alone.
func fill(j Job, args Values) error {
	b, err := args.MarshalJSON()
	if err != nil {
		return err
	}
	whole := json.Unmarshal(b, j)
	if whole == nil {
		return nil
	}
	// One arg at a time, for the name of the one that does not fit: what the error
	// calls a field need not be it.
	for _, name := range slices.Sorted(maps.Keys(args)) {
		b, err := Values{name: args[name]}.MarshalJSON()
		if err != nil {
			return err
		}
		err = json.Unmarshal(b, j)
		if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return ArgErrorf(name, "expected %s, got a JSON %s", typeErr.Type, typeErr.Value)
		}
		if err != nil {
			return ArgErrorf(name, "%v", err)
		}
	}
	return whole
}

// Load makes the job that Create returned the bytes of.
func (r *Registry) Load(jobType string, b []byte) (j Job, err error) {
	defer recoverAs("UnmarshalBinary", &err)
	if j, err = r.make(jobType); err != nil {
		return nil, err
	}
	if u, ok := j.(encoding.BinaryUnmarshaler); ok {
		err = u.UnmarshalBinary(b)
	} else if len(b) > 0 {
		err = json.Unmarshal(b, j)
	}
	if err != nil {
		return nil, fmt.Errorf("job type %q: its stored form does not fit this program: %w", jobType, err)
	}
	return j, nil
}

// Run calls j.Run; a panic is returned as a PanicError.
func Run(ctx context.Context, j Job, data Values) (res Result, err error) {
	defer recoverAs("Run", &err)
	return j.Run(ctx, data)
}

// Sleep returns for how long j only waits, and whether it is a Sleeper at all; a
// panic is returned as a PanicError.
func Sleep(j Job) (d time.Duration, ok bool, err error) {
	s, ok := j.(Sleeper)
	if !ok {
		return 0, false, nil
	}
	defer recoverAs("Sleep", &err)
	return s.Sleep(), true, nil
}

// Grace returns for how long j may go on after it was told to stop: 0 if it does not say,
// or if Grace panics.
func Grace(j Job) time.Duration {
	g, ok := j.(Graceful)
	if !ok {
		return 0
	}
	var err error // a panic of it says nothing
	defer recoverAs("Grace", &err)
	return g.Grace()
}

// Status returns what j says that it is doing: "" if it does not say, and the
// panic if Status panics.
func Status(j Job) (status string) {
	s, ok := j.(Statuser)
	if !ok {
		return ""
	}
	var err error
	defer func() {
		if err != nil {
			status = err.Error()
		}
	}()
	defer recoverAs("Status", &err)
	return s.Status()
}

func recoverAs(call string, err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Call: call, Value: v, Stack: debug.Stack()}
	}
}
