package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// Bundle is what people give as policies: the policies, and what a cluster would hold around them.
type Bundle struct {
	Policies   []*admissionv1.ValidatingAdmissionPolicy
	Bindings   []*admissionv1.ValidatingAdmissionPolicyBinding
	CRDs       []*apiextensionsv1.CustomResourceDefinition
	Namespaces []*corev1.Namespace
	// Objects is everything else: a binding may refer to any of it as a param.
	Objects []*unstructured.Unstructured
	// Skipped counts the objects of kinds that no policy of the bundle takes as params, by kind,
	// and as NoObject what is none.
	Skipped map[string]int
	// Notes are remarks for the user, as file, line and text.
	Notes []string

	sources map[any]Document
	names   map[string]Document
}

// NoObject stands in Bundle.Skipped for documents of a folder that have neither apiVersion nor
// kind: the values of a chart, a patch, a test. In a file that is given by its name they are
// errors.
const NoObject = "(no Kubernetes object)"

// Collect sorts documents into a bundle. It reads all of them and returns every error, joined;
// the bundle then holds the rest.
func Collect(documents iter.Seq2[Document, error]) (*Bundle, error) {
	b := &Bundle{}
	var errs []error
	for doc, err := range documents {
		if err == nil {
			err = b.Add(doc)
		}
		if err != nil {
			errs = append(errs, err)
		}
		if len(errs) == maxErrors {
			errs = append(errs, errors.New("too many errors, the rest was not read"))
			break
		}
	}
	b.countSkipped()
	return b, errors.Join(errs...)
}

// maxErrors that Collect gathers: nobody reads more, and a hostile file could hold millions.
const maxErrors = 50

// Source is the document that a member of the bundle was read from.
func (b *Bundle) Source(member any) Document { return b.sources[member] }

// Add sorts one document in. Two policies, bindings, custom resource definitions or namespaces
// of one name are an error: a cluster could hold only one of them.
func (b *Bundle) Add(doc Document) error {
	if b.Skipped == nil {
		b.Skipped = map[string]int{}
	}
	if doc.inFolder && doc.Object["apiVersion"] == nil && doc.Object["kind"] == nil {
		b.Skipped[NoObject]++
		return nil
	}
	if err := doc.missingType(); err != nil {
		return err
	}
	if err := doc.CheckMetadata(); err != nil {
		return err
	}
	if b.sources == nil {
		b.sources, b.names = map[any]Document{}, map[string]Document{}
	}
	gvk := doc.GroupVersionKind()
	switch gk := gvk.GroupKind().String(); gk {
	case "ValidatingAdmissionPolicy.admissionregistration.k8s.io":
		doc, err := b.asV1(doc, gvk)
		if err != nil {
			return err
		}
		return add(b, &b.Policies, doc, Strict[admissionv1.ValidatingAdmissionPolicy])
	case "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io":
		doc, err := b.asV1(doc, gvk)
		if err != nil {
			return err
		}
		return add(b, &b.Bindings, doc, Strict[admissionv1.ValidatingAdmissionPolicyBinding])
	case "CustomResourceDefinition.apiextensions.k8s.io":
		if gvk.Version != "v1" {
			return doc.Errorf([]string{"apiVersion"}, "expected apiextensions.k8s.io/v1, found %s", doc.APIVersion()).
				WithHint("Kubernetes serves no other version since 1.22")
		}
		return add(b, &b.CRDs, doc, Lenient[apiextensionsv1.CustomResourceDefinition])
	case "Namespace":
		return add(b, &b.Namespaces, doc, Lenient[corev1.Namespace])
	}
	object := &unstructured.Unstructured{Object: doc.Object}
	b.Objects = append(b.Objects, object)
	b.sources[object] = doc
	return nil
}

// asV1 is a policy or binding in version v1. In v1beta1 all fields have the same names and
// meanings (k8s.io/api admissionregistration/v1beta1/types.go), so that one is read as v1.
func (b *Bundle) asV1(doc Document, gvk schema.GroupVersionKind) (Document, error) {
	switch gvk.Version {
	case "v1":
	case "v1beta1":
		b.Notes = append(b.Notes, fmt.Sprintf("%s: %s %s is of version v1beta1, read as v1", doc, gvk.Kind, doc.Name()))
		object := make(map[string]any, len(doc.Object))
		for k, v := range doc.Object {
			object[k] = v
		}
		object["apiVersion"] = admissionv1.SchemeGroupVersion.String()
		doc.Object = object
	default:
		return doc, doc.Errorf([]string{"apiVersion"}, "expected admissionregistration.k8s.io/v1, found %s", doc.APIVersion()).
			WithHint("write the policy for v1, served since Kubernetes 1.30")
	}
	return doc, nil
}

// add decodes doc into list.
func add[T any](b *Bundle, list *[]*T, doc Document, decode func(Document) (*T, error)) error {
	member, err := decode(doc)
	if err != nil {
		return err
	}
	name := doc.Name()
	if name == "" {
		return doc.Errorf([]string{"metadata", "name"}, "expected a name for the %s", doc.Kind())
	}
	key := doc.Kind() + "/" + name
	if first, dup := b.names[key]; dup {
		return doc.Errorf([]string{"metadata", "name"}, "%s %s is given twice, first in %s", doc.Kind(), clip(name), first).
			WithHint("a cluster can hold one of them")
	}
	b.names[key] = doc
	b.sources[member] = doc
	*list = append(*list, member)
	return nil
}

// countSkipped fills Skipped.
func (b *Bundle) countSkipped() {
	params := map[schema.GroupVersionKind]bool{}
	for _, p := range b.Policies {
		if k := p.Spec.ParamKind; k != nil {
			params[schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)] = true
		}
	}
	for _, o := range b.Objects {
		if !params[o.GroupVersionKind()] {
			b.Skipped[o.GetKind()]++
		}
	}
}

// Strict decodes a document into a type of the Kubernetes API. A field that the type does not
// have is an error, and so is a value of another type; names are case-sensitive.
func Strict[T any](doc Document) (*T, error) {
	into, unknown, err := decode[T](doc)
	return into, errors.Join(append(unknown, err)...)
}

// Lenient is Strict without an error for unknown fields.
func Lenient[T any](doc Document) (*T, error) {
	into, _, err := decode[T](doc)
	return into, err
}

func decode[T any](doc Document) (*T, []error, error) {
	data, err := json.Marshal(doc.Object)
	if err != nil {
		return nil, nil, doc.Errorf(nil, "not in JSON form: %w", err)
	}
	into := new(T)
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			found, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5"
			path, value := findWrong(doc.Object, splitFieldPath(wrong.Field), found)
			if jsonType(value) == found {
				found = describe(value)
			} else {
				path = splitFieldPath(wrong.Field)
			}
			err := doc.Errorf(path, "expected %s, found %s", typeName(wrong), found)
			if wrong.Value == "bool" {
				err = err.WithHint(hintBoolean)
			}
			return nil, nil, err
		}
		return nil, nil, doc.Errorf(nil, "not a valid %s: %w", doc.Kind(), err)
	}
	var unknown []error
	for _, e := range strict {
		var at kjson.FieldError
		if !errors.As(e, &at) {
			unknown = append(unknown, doc.Errorf(nil, "%w", e))
			continue
		}
		path := splitFieldPath(at.FieldPath())
		unknown = append(unknown, doc.Errorf(path, "%s has no field of this name", cmp.Or(doc.Kind(), "this file")).
			WithHint("check the spelling and the indentation; names are case-sensitive"))
	}
	return into, unknown, nil
}

// findWrong completes the path of a value of the wrong type: the decoder leaves indexes out. Of
// several elements it takes the first that has such a value there.
func findWrong(v any, path []string, wrong string) (full []string, value any) {
	if len(path) == 0 {
		return nil, v
	}
	switch v := v.(type) {
	case map[string]any:
		if child, ok := v[path[0]]; ok {
			rest, value := findWrong(child, path[1:], wrong)
			return append([]string{path[0]}, rest...), value
		}
	case []any:
		for i, child := range v {
			rest, value := findWrong(child, path, wrong)
			if jsonType(value) == wrong && len(rest) >= len(path) {
				return append([]string{strconv.Itoa(i)}, rest...), value
			}
		}
	}
	return nil, nil
}

// jsonType is how encoding/json names the type of a value in its errors.
func jsonType(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case int64, float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// typeName names what a field wants, for people.
func typeName(e *json.UnmarshalTypeError) string {
	switch t := e.Type.String(); {
	case strings.HasPrefix(t, "[]"):
		return "a list"
	case strings.HasPrefix(t, "map["), strings.Contains(t, ".") && e.Type.Kind().String() == "struct":
		return "an object"
	case e.Type.Kind().String() == "string":
		return "text"
	case e.Type.Kind().String() == "bool":
		return "true or false"
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "uint"):
		return "an integer"
	default:
		return t
	}
}
