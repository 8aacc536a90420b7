package profile_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"hangar.io/holdshort/policies/profile"
)

var update = flag.Bool("update", false, "write docs/profile.schema.json")

const schemaPath = "../../docs/profile.schema.json"

// schema is the JSON schema of the types, described by the comments of their fields.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.For[profile.Profile](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[profile.Tier](): {Type: "string", Enum: []any{"ground", "flight"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Schema = "http://json-schema.org/draft-07/schema#"
	s.Title = "Holdshort profile"
	describeFields(t, s, reflect.TypeFor[profile.Profile](), comments(t))
	return s
}

// describeFields puts the comments into the schema and takes null out of it: the parser refuses
// keys without a value.
func describeFields(t *testing.T, s *jsonschema.Schema, typ reflect.Type, docs map[string]string) {
	for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		if len(s.Types) > 0 {
			s.Type, s.Types = s.Types[len(s.Types)-1], nil
		}
		if s.Items != nil {
			s = s.Items
		} else {
			s = s.AdditionalProperties
		}
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		doc := docs[typ.Name()+"."+f.Name]
		if doc == "" {
			t.Errorf("%s.%s has no comment", typ.Name(), f.Name)
		}
		describeFields(t, s.Properties[name], f.Type, docs)
		s.Properties[name].Description = doc
	}
}

// comments are the comments of the fields in profile.go, by Type.Field.
func comments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "profile.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if st, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range st.Fields.List {
				for _, name := range f.Names {
					docs[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
				}
			}
		}
		return false
	})
	return docs
}

func TestThePublishedSchemaIsMadeFromTheTypes(t *testing.T) {
	want, err := json.MarshalIndent(schema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(schemaPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(want) {
		t.Errorf("%s is stale: run go test ./policies/profile -run Schema -update", schemaPath)
	}
}

func TestTheSchemaAndTheParserAgree(t *testing.T) {
	resolved, err := schema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text []byte) error {
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v)
	}
	for _, file := range []string{"ground.yaml", "flight.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(data); err != nil {
			t.Errorf("%s does not satisfy the schema: %v", file, err)
		}
	}
	for name, text := range map[string]string{
		"an unknown key":    minimal + "ttls: {}\n",
		"a bad tier":        replace(t, "flight", "prod"),
		"no writer":         replace(t, "  writer: {serviceAccount: tower/tower-writer}\n", ""),
		"a null":            minimal + "accepted:\n",
		"a string for list": replace(t, "[tower]", "tower"),
	} {
		if valid([]byte(text)) == nil {
			t.Errorf("the schema accepts %s", name)
		}
		if _, err := profile.Parse("p.yaml", []byte(text)); err == nil {
			t.Errorf("the parser accepts %s", name)
		}
	}
}
