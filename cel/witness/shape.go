package witness

import (
	"math"

	"hangar.io/holdshort/cel/schema"
)

// kindsOf is the kind of a JSON value.
func kindsOf(v any) schema.Kinds {
	switch x := v.(type) {
	case nil:
		return schema.Null
	case bool:
		return schema.Bool
	case int64, int:
		return schema.Int
	case float64:
		if x == math.Trunc(x) {
			return schema.Int | schema.Double
		}
		return schema.Double
	case string:
		return schema.String
	case []any:
		return schema.List
	case map[string]any:
		return schema.Map
	}
	return 0
}

// shapeAt is what is known of the value at a path, nil if nothing.
func shapeAt(s *schema.Shape, p path) *schema.Shape {
	for _, at := range p {
		if s == nil || s.Dynamic {
			return nil
		}
		if f, known := s.Field(at.key); known && at.kind == toKey {
			s = f.Shape
			continue
		}
		s = s.Elem()
	}
	return s
}

// fits tells whether a value is one that a shape allows.
func fits(s *schema.Shape, v any) bool {
	if s == nil || s.Dynamic {
		return true
	}
	if kindsOf(v)&s.Kinds == 0 {
		return false
	}
	switch x := v.(type) {
	case string:
		return x != "" || !s.NonEmpty
	case int64:
		return s.Min == 0 && s.Max == 0 || s.Min <= x && x <= s.Max
	case []any:
		for _, item := range x {
			if !fits(s.Elem(), item) {
				return false
			}
		}
		return len(x) > 0 || !s.NonEmpty
	case map[string]any:
		for k, item := range x {
			f, known := s.Field(k)
			switch {
			case known && !fits(f.Shape, item), !known && !s.Closed() && !fits(s.Elem(), item):
				return false
			}
		}
		for _, k := range s.Fields() {
			f, _ := s.Field(k)
			if _, ok := x[k]; f.Always && !ok {
				return false
			}
		}
		return len(x) > 0 || !s.NonEmpty
	}
	return true
}

// least is the smallest value of a shape.
func least(s *schema.Shape, depth int) any {
	const deepest = 12
	switch {
	case s == nil || depth > deepest:
		return map[string]any{}
	case s.Kinds&schema.Map != 0:
		o := map[string]any{}
		for _, k := range s.Fields() {
			if f, _ := s.Field(k); f.Always {
				o[k] = least(f.Shape, depth+1)
			}
		}
		return o
	case s.Kinds&schema.List != 0:
		if s.NonEmpty {
			return []any{least(s.Elem(), depth+1)}
		}
		return []any{}
	case s.Kinds&schema.String != 0:
		return textOf(s)
	case s.Kinds&schema.Int != 0:
		return max(s.Min, min(s.Max, 1))
	case s.Kinds&schema.Double != 0:
		return 1.5
	case s.Kinds&schema.Bool != 0:
		return true
	}
	return nil
}

// textOf is a string of a shape.
func textOf(s *schema.Shape) string {
	switch s.Text {
	case schema.TimeText:
		return "2026-01-02T03:04:05Z"
	case schema.DurationText:
		return "1h"
	case schema.QuantityText:
		return "1"
	case schema.Base64Text:
		return "dmFsdWU="
	}
	return "x"
}

// sampleOf is a value of a shape that has an element if it can.
func sampleOf(s *schema.Shape, depth int) any {
	switch v := least(s, depth).(type) {
	case map[string]any:
		if s != nil && !s.Dynamic && !s.Closed() && len(v) == 0 && s.Elem() != nil {
			v["example"] = least(s.Elem(), depth)
		}
		return v
	case []any:
		if s != nil && len(v) == 0 {
			v = append(v, least(s.Elem(), depth))
		}
		return v
	default:
		return v
	}
}
