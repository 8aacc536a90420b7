package manifest

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The rules of this file are those of go.yaml.in/yaml/v2 resolve.go, which kubectl reads YAML
// with; yaml/v3, which parses here for its line numbers, resolves `yes`, `on` and 0o10 otherwise.

// yamlWords are the plain scalars that mean something else than themselves.
var yamlWords = func() map[string]any {
	words := map[string]any{}
	for value, list := range map[any]string{
		true:  "y Y yes Yes YES true True TRUE on On ON",
		false: "n N no No NO false False FALSE off Off OFF",
		nil:   "~ null Null NULL",
	} {
		for word := range strings.FieldsSeq(list) {
			words[word] = value
		}
	}
	words[""] = nil
	for _, word := range []string{"inf", "Inf", "INF"} {
		words["."+word], words["+."+word], words["-."+word] = math.Inf(1), math.Inf(1), math.Inf(-1)
	}
	for _, word := range []string{"nan", "NaN", "NAN"} {
		words["."+word] = math.NaN()
	}
	return words
}()

var yamlFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// timestamp marks a scalar that YAML 1.1 takes for a time: its value is its text.
type timestamp string

// bigInt is an integer that does not fit in 64 bits: refused as a value.
type bigInt string

// scalar is the value of a scalar node: nil, bool, int64, float64, string or bigInt.
func scalar(n *yaml.Node) (any, error) {
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if n.Style&yaml.TaggedStyle == 0 {
		if quoted {
			return n.Value, nil
		}
		v := resolvePlain(n.Value, true)
		if t, ok := v.(timestamp); ok {
			return string(t), nil
		}
		return v, nil
	}
	switch n.Tag {
	case "!!bool", "!!int", "!!float", "!!null", "!!timestamp":
		return tagged(n.Tag, n.Value)
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil || !utf8.Valid(data) {
			return nil, fmt.Errorf("the tag !!binary needs base64 of UTF-8 text")
		}
		return string(data), nil
	}
	return n.Value, nil // !!str, and any other tag is ignored
}

// tagged is a scalar with an explicit tag, which its text must fit.
func tagged(tag, text string) (any, error) {
	v := resolvePlain(text, tag == "!!timestamp")
	got := "!!str"
	switch t := v.(type) {
	case nil:
		got = "!!null"
	case bool:
		got = "!!bool"
	case int64:
		got = "!!int"
		if tag == "!!float" {
			return float64(t), nil
		}
	case bigInt:
		if tag == "!!int" || tag == "!!float" {
			return v, nil
		}
	case float64:
		got = "!!float"
	case timestamp:
		got = "!!timestamp"
		v = string(t)
	}
	if got != tag {
		return nil, fmt.Errorf("the tag %s does not fit the value %q", tag, clip(text))
	}
	return v, nil
}

// resolvePlain is the value of an unquoted scalar.
func resolvePlain(text string, times bool) any {
	if text == "" {
		return nil
	}
	switch c := text[0]; {
	case c == '.' || c == '+' || c == '-' || '0' <= c && c <= '9':
	case strings.IndexByte("yYnNtTfFoO~", c) >= 0:
		if v, ok := yamlWords[text]; ok {
			return v
		}
		return text
	default:
		return text
	}
	if v, ok := yamlWords[text]; ok {
		return v
	}
	if text[0] == '.' {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
		return text
	}
	if times && isTimestamp(text) {
		return timestamp(text)
	}
	return resolveNumber(text)
}

// resolveNumber is an int64, float64 or bigInt if text is a number in one of YAML 1.1's
// notations (decimal, octal with a leading 0, 0x, 0b, with underscores), else text.
func resolveNumber(text string) any {
	plain := strings.ReplaceAll(text, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i
	}
	if _, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return bigInt(text)
	}
	if yamlFloat.MatchString(plain) {
		f, err := strconv.ParseFloat(plain, 64)
		switch {
		case err != nil:
			return text
		case !strings.ContainsAny(plain, ".eE") && math.Abs(f) >= math.MaxInt64:
			return bigInt(text)
		}
		return f
	}
	return text
}

// timestampLayouts are the forms that YAML 1.1 reads as a time.
var timestampLayouts = []string{
	"2006-1-2T15:4:5.999999999Z07:00",
	"2006-1-2t15:4:5.999999999Z07:00",
	"2006-1-2 15:4:5.999999999",
	"2006-1-2",
}

func isTimestamp(s string) bool {
	if len(s) < 5 || s[4] != '-' || !isIndex(s[:4]) {
		return false
	}
	for _, layout := range timestampLayouts {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// keyText is a scalar as the key of a JSON object, ok false where there is no such form.
func keyText(v any) (s string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		switch s := strconv.FormatFloat(v, 'g', -1, 32); s {
		case "+Inf":
			return ".inf", true
		case "-Inf":
			return "-.inf", true
		case "NaN":
			return ".nan", true
		default:
			return s, true
		}
	}
	return "", false
}
