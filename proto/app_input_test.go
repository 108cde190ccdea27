package proto

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fullApp has a value in every field, also in those that are added some day.
func fullApp(t *testing.T) App {
	t.Helper()
	var app App
	v := reflect.ValueOf(&app).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("text of " + v.Type().Field(i).Name)
		case reflect.Int64:
			f.SetInt(int64(i+1) * int64(time.Second))
		case reflect.Uint:
			f.SetUint(uint64(i + 1))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
			f.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf("value"))
		default:
			t.Fatalf("a field of kind %s", f.Kind())
		}
	}
	return app
}

func TestWhatIsReadOfAnAppCanBeWrittenBack(t *testing.T) {
	t.Parallel()
	app := fullApp(t)
	in := Instance{Name: "2026-01-02-0300-counter", State: InstanceFailed}
	body, err := json.Marshal(AppStatus{App: app, Source: AppFromAPI, Paused: true, Since: time.Now(), Next: &in, Last: &in, Running: 3, Problem: "upstream app feed is not there"})
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var input AppInput
	if err := d.Decode(&input); err != nil {
		t.Fatal(err)
	}
	got, err := input.Definition()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(app, got); diff != "" {
		t.Errorf("written back (-was +is):\n%s", diff)
	}
}

func TestNumbersThatAreThereAnd0AreRefused(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[App]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		var zero string
		switch f.Type.Kind() {
		case reflect.Int64:
			zero = `"0s"`
		case reflect.Uint:
			zero = "0"
		default:
			continue
		}
		for value, ok := range map[string]bool{zero: false, "null": true} {
			var input AppInput
			if err := json.Unmarshal([]byte(`{"`+name+`":`+value+`}`), &input); err != nil {
				t.Fatal(err)
			}
			_, err := input.Definition()
			if got := err == nil; got != ok {
				t.Errorf("%s: %s gives error %v", name, value, err)
			}
			if err != nil && !strings.Contains(err.Error(), "`"+name+"` must be more than 0") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
