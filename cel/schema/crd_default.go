package schema

import (
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
)

// defaultCustom does what the server does on decoding a custom resource (apiextensions-apiserver
// pkg/apiserver/customresource_handler.go, unstructuredSchemaCoercer.apply and
// unstructuredDefaulter): metadata is typed, unknown fields and nulls are dropped, the schema's
// defaults are filled.
func defaultCustom(s *structural.Structural, obj map[string]any) error {
	c, err := copyJSON(obj)
	if err != nil {
		return err
	}
	meta, found, err := objectmeta.GetObjectMeta(c, false)
	if err != nil {
		return err
	}
	if s != nil {
		pruning.Prune(c, s, true)
		structuraldefaulting.PruneNonNullableNullsWithoutDefaults(c, s)
		if err := objectmeta.Coerce(nil, c, s, false, false); err != nil {
			return err
		}
	}
	if found {
		if err := objectmeta.SetObjectMeta(c, meta); err != nil {
			return err
		}
	}
	structuraldefaulting.Default(c, s)
	replace(obj, c)
	return nil
}
