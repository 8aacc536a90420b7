package manifest

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// kubectlValue is what kubectl makes of one YAML document and the API server of its request.
func kubectlValue(data []byte) (any, error) {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	var v any
	err = utiljson.Unmarshal(text, &v)
	return v, err
}

// scalars are the values of which YAML 1.1, YAML 1.2 and JSON have different opinions.
var scalars = strings.Split(`y|Y|yes|Yes|YES|yEs|n|N|no|No|NO|nO|true|True|TRUE|tRUE|false|False|FALSE|on|On|ON|off|Off|OFF|oFF|
~|null|Null|NULL|nULL|""|''|"yes"|'1'|0|-0|+0|1|-1|+1|01|010|-010|08|09|0o10|0O10|0x1F|0X1f|-0x1f|0b101|-0b11|0B11|1_000|1__0|_1|0x_f|
1.0|1.5|-1.5|.5|-.5|+.5|1.|1e3|1E3|1e-3|1e+3|1.5e300|-0.0|0.0|1e21|1e20|123456789012345.0|9007199254740993.0|1e400|.1e400|1e|e1|
9223372036854775807|-9223372036854775808|.|..|-|+|--|1.2.3|1-2|12:30:45|190:20:30|2001-01-01|2001-1-1|2001-12-14t21:59:43.10-05:00|
2001-12-14T21:59:43Z|2001-12-14 21:59:43|2001-12-14 21:59:43.10 -5|2001-13-01|<<|=|!!str 1|!!str yes|!!int "3"|!!int 0x10|!!float 3|!!float 3.5|
!!bool yes|!!bool "off"|!!null ~|!!timestamp 2001-01-01|!!binary aGk=|!foo bar|!foo 3|!<tag:yaml.org,2002:str> 4|text|'it''s'|"\u00e9\x41\n"|a b|a#b|a #b|0.1|
1234567890123456789|0777|0888|0xfffffffffffffff|1_0.5|1_0e3|+.inf2|.Inf2|-.5.|1e5.5|0b2|0xg|0o8|2001-|200-1-1|NaN|Infinity|inf|nan`, "|")

func TestYAMLMeansWhatItMeansToKubectl(t *testing.T) {
	var docs []string
	for _, s := range scalars {
		s = strings.TrimSpace(s)
		if s == "-" {
			continue // the beginning of a list
		}
		docs = append(docs, "v: "+s+"\n", "- "+s+"\n")
		if s != "<<" && !strings.HasPrefix(s, "!!null") && !strings.Contains("~nullNullNULL", s) {
			docs = append(docs, s+": v\n")
		}
	}
	docs = append(docs,
		"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n",
		"a: &x {b: 1, c: 2}\nd:\n  c: 3\n  <<: *x\n",
		"a: &x {b: 1}\ne: &y {b: 2, f: 1}\nd:\n  <<: [*x, *y]\n",
		"a: &x {b: 1}\nd:\n  <<: *x\n  <<: {b: 2}\n",
		"a: &x {b: 1}\ne: &y {<<: *x, g: 2}\nd: {<<: *y, b: 3}\n",
		"a: &x {b: 1}\nd: {!!merge x: *x}\n",
		"a: &x [1, 2]\nb: *x\nc: [*x, *x]\n",
		"a: &k key\nb: {*k : 1}\n",
		"'<<': {a: 1}\n",
		"? a\n: b\n",
		"{a: b, c: [d, e: f]}\n",
		"{a, b: c}\n",
		"a: |\n  x\n   y\n\n  z\nb: >-\n  x\n  y\n\n  z\n",
		"a: \"x\n  y\"\n",
		"# Source: c/t.yaml\na: 1 # one\n# end\n",
		"a:\n- b\n-\n- - c\n  - d\n",
		"%YAML 1.1\n---\na: yes\n",
		"--- # comment\na: 1\n",
		"a: 1\r\nb:\r\n- c\r\n",
		"a:\n  b: {}\n  c: []\n  d:\n",
	)
	for _, doc := range docs {
		want, err := kubectlValue([]byte(doc))
		if err != nil {
			t.Errorf("%q: no value to compare with: %v", doc, err)
			continue
		}
		_, got, fault := parseYAML([]byte(doc))
		if fault != nil {
			t.Errorf("%q: refused: %v, kubectl reads %#v", doc, fault, want)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, kubectl reads %#v", doc, got, want)
		}
	}
}

func TestJSONMeansWhatItMeansToTheServer(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[]`, `{"a":1,"b":-1,"c":1.5,"d":1e3,"e":"x","f":null,"g":true,"h":[false,{}]}`,
		`{"a":"\u00e9\ud83d\ude00\ud800\"\\\/\b"}`, `{"":0}`, "\t{ \"a\" :\r\n [ 1 , 2 ] } ", `-0`, `0`, `0.10`, `1E-5`,
		`9223372036854775807`, `-9223372036854775808`, `"é"`, `1e20`, `123456789012345678.0`, `2.5e-300`,
	} {
		var sent any
		if err := json.Unmarshal([]byte(doc), &sent); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		var want any
		if err := utiljson.Unmarshal([]byte(doc), &want); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		got, fault := parseJSON([]byte(doc))
		if fault != nil {
			t.Errorf("%s: refused: %v", doc, fault)
		} else if !reflect.DeepEqual(got, resent(want)) {
			t.Errorf("%s: %#v, the server reads %#v", doc, got, want)
		}
	}
}

// resent is a value after a client has written it as JSON and the server has read it.
func resent(v any) any {
	text, err := utiljson.Marshal(v)
	if err != nil {
		panic(err)
	}
	var back any
	if err := utiljson.Unmarshal(text, &back); err != nil {
		panic(err)
	}
	return back
}

func TestBillionLaughsAreRefusedEarly(t *testing.T) {
	for name, link := range map[string]string{"aliases": "[%]", "merge keys": "{<<: [%]}"} {
		var b strings.Builder
		b.WriteString("a0: &a0 {x: 1}\n")
		if name == "aliases" {
			b.Reset()
			b.WriteString("a0: &a0 [x]\n")
		}
		for i := 1; i < 30; i++ {
			prev, this := "a"+strconv.Itoa(i-1), "a"+strconv.Itoa(i)
			list := strings.TrimSuffix(strings.Repeat("*"+prev+", ", 9), ", ")
			b.WriteString(this + ": &" + this + " " + strings.Replace(link, "%", list, 1) + "\n")
		}
		_, _, fault := parseYAML([]byte(b.String()))
		if fault == nil || !strings.Contains(fault.msg, "aliases may expand") {
			t.Errorf("%s: %v, want a refusal that names the aliases", name, fault)
		}
	}
}

func TestALongLineTakesNoLongerThanManyShortOnes(t *testing.T) {
	for _, unit := range []string{"! x, ", "!a x, ", "x!, "} {
		start := time.Now()
		_, _, _ = parseYAML([]byte("a: [" + strings.Repeat(unit, 10_000) + "]"))
		long := time.Since(start)
		start = time.Now()
		_, _, _ = parseYAML([]byte("a: [" + strings.Repeat(unit+"\n", 10_000) + "]"))
		// Squared, the difference would be thousands.
		if short := time.Since(start); long > 50*short+time.Second {
			t.Errorf("%q: %v in one line, %v in many", unit, long, short)
		}
	}
}

// FuzzYAML compares with kubectl's reading whatever both accept.
func FuzzYAML(f *testing.F) {
	for _, s := range scalars {
		f.Add([]byte("v: " + s + "\n"))
		f.Add([]byte(s + ": {k: [" + s + "]}\n"))
	}
	f.Add([]byte("a: &x {b: 1, c: 2}\nd:\n  <<: [*x, {b: 3}]\n  c: 3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 || len(bytes.Split(data, []byte("---"))) > 1 {
			return
		}
		node, got, fault := parseYAML(data)
		if fault != nil || node == nil {
			return
		}
		if !jsonForm(got) {
			t.Fatalf("%q: %#v is not in JSON form", data, got)
		}
		want, err := kubectlValue(data)
		if err != nil {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n%#v, kubectl reads\n%#v", data, got, want)
		}
		yamlLine(node, []string{"a", "0", "b"})
	})
}

// FuzzJSON compares with the API server's reading.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x\n",null,true],"b":{"c":1e3}}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Add([]byte("{\"a\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, fault := parseJSON(data)
		var want any
		err := utiljson.Unmarshal(data, &want)
		switch {
		case fault == nil && err != nil:
			t.Fatalf("%q: accepted, the server says %v", data, err)
		case fault == nil:
			if want = resent(want); !reflect.DeepEqual(got, want) {
				t.Errorf("%q:\n%#v, the server reads\n%#v", data, got, want)
			}
			jsonLine(data, []string{"a", "0", "b"})
		case fault.syntax && err == nil:
			t.Errorf("%q: no JSON (%v), the server reads %#v", data, fault, want)
		}
	})
}

func jsonForm(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, int64:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case []any:
		for _, e := range v {
			if !jsonForm(e) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, e := range v {
			if !jsonForm(e) {
				return false
			}
		}
		return true
	}
	return false
}
