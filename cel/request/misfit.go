package request

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"hangar.io/holdshort/cel/manifest"
)

// Misfit finds the first field of a document, or of the objects that it carries, whose value has
// not the type that the kind of the object gives to the field, such as text for spec.replicas. It
// returns nil if it finds none, or does not know the kind. It is for saying why harness.Complete
// or harness.Prepare refused the request of the document: their errors name no field.
func Misfit(doc manifest.Document) *manifest.Error {
	var err error
	switch gvk := doc.GroupVersionKind(); {
	case gvk.Group == "admission.k8s.io" && gvk.Kind == "AdmissionReview":
		_, err = manifest.Lenient[reviewed](doc)
	case gvk.Group == "audit.k8s.io" && gvk.Kind == "Event":
		_, err = manifest.Lenient[logged](doc)
	default:
		_, err = manifest.Lenient[known](doc)
	}
	var misfit *manifest.Error
	if errors.As(err, &misfit) && misfit.Field != "" {
		return misfit
	}
	return nil
}

// reviewed are the objects of an AdmissionReview.
type reviewed struct {
	Request struct {
		Object    known `json:"object"`
		OldObject known `json:"oldObject"`
		Options   known `json:"options"`
	} `json:"request"`
}

// logged are the objects of an audit event.
type logged struct {
	RequestObject  known `json:"requestObject"`
	ResponseObject known `json:"responseObject"`
}

// known is an object that decodes as the Go type of the kind that it says it has, if there is one.
type known struct{}

func (*known) UnmarshalJSON(data []byte) error {
	var t metav1.TypeMeta
	if err := json.Unmarshal(data, &t); err != nil {
		return nil //nolint:nilerr // of no kind, so nothing is known of its fields
	}
	object, err := scheme.Scheme.New(t.GroupVersionKind())
	if err != nil {
		return nil //nolint:nilerr // a custom resource
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, object)
}
