package witness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	reviewv1 "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"
)

// Review is the request as an AdmissionReview in JSON, whole: nothing is left to complete.
func (w *Witness) Review() ([]byte, error) {
	r := &w.Request
	in := &reviewv1.AdmissionRequest{
		UID:       "00000000-0000-4000-8000-000000000001",
		Kind:      metav1.GroupVersionKind(r.Kind),
		Resource:  metav1.GroupVersionResource(r.Resource),
		Name:      r.Name,
		Namespace: r.Namespace, SubResource: r.Subresource,
		Operation: reviewv1.Operation(r.Operation),
		UserInfo:  authenticationv1.UserInfo{Username: r.User.Name, UID: r.User.UID, Groups: r.User.Groups},
		DryRun:    &r.DryRun,
	}
	for k, v := range r.User.Extra {
		if in.UserInfo.Extra == nil {
			in.UserInfo.Extra = map[string]authenticationv1.ExtraValue{}
		}
		in.UserInfo.Extra[k] = v
	}
	for _, o := range []struct {
		from map[string]any
		to   *runtime.RawExtension
	}{{r.Object, &in.Object}, {r.OldObject, &in.OldObject}, {r.Options, &in.Options}} {
		if o.from == nil {
			continue
		}
		data, err := json.Marshal(o.from)
		if err != nil {
			return nil, fmt.Errorf("the request of %s: %w", w.Policy, err)
		}
		o.to.Raw = data
	}
	review := &reviewv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: in}
	data, err := json.MarshalIndent(review, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the request of %s: %w", w.Policy, err)
	}
	return append(data, '\n'), nil
}

// File is a file that a reproduction needs.
type File struct {
	Name string
	Data []byte
}

// Reproduction is the shortest way to see the witness: files, and the arguments of policygen. The
// first file is the request.
type Reproduction struct {
	Files []File
	Args  []string
}

// Command is the line for a shell.
func (r Reproduction) Command() string {
	words := []string{"policygen"}
	for _, a := range r.Args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`*?[](){}<>|&;~#!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// Reproduce makes the files, under names that begin with stem, and the command with the arguments that
// say where the policies are. What a manifest cannot say is said by a review.
func (w *Witness) Reproduce(stem string, policies ...string) (Reproduction, error) {
	r := Reproduction{Args: append([]string{"eval"}, policies...)}
	add := func(name string, content any) (string, error) {
		data, err := yaml.Marshal(content)
		if err != nil {
			return "", fmt.Errorf("the request of %s: %w", w.Policy, err)
		}
		r.Files = append(r.Files, File{name, data})
		return name, nil
	}
	var request string
	var err error
	if w.isPlain() {
		if request, err = add(stem+".yaml", w.manifest("object", "oldObject")); err != nil {
			return r, err
		}
		if err := w.flags(&r, stem, add); err != nil {
			return r, err
		}
	} else {
		request = stem + ".json"
		data, err := w.Review()
		if err != nil {
			return r, err
		}
		r.Files = append(r.Files, File{request, data})
	}
	if labels := w.sent.namespace("").Labels; len(labels) > 0 && w.Request.Namespace != "" {
		r.Args = append(r.Args, "--namespace-labels", pairs(labels))
	}
	if ns := w.sent.namespace(w.Request.Namespace); len(ns.Annotations) > 0 {
		name, err := add(stem+"-namespace.yaml", map[string]any{"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": ns.Name, "annotations": ns.Annotations}})
		if err != nil {
			return r, err
		}
		r.Args = append(r.Args, "-f", name)
	}
	if p := w.sent.object("params"); p != nil {
		name, err := add(stem+"-params.yaml", p)
		if err != nil {
			return r, err
		}
		r.Args = append(r.Args, "--params", name)
	}
	if w.sent["allow"] == true {
		r.Args = append(r.Args, "--allow", "* * */*")
	}
	if w.binding != nil {
		b := w.binding.DeepCopy()
		b.TypeMeta = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
		if err != nil {
			return r, fmt.Errorf("the binding of %s: %w", w.Policy, err)
		}
		name, err := add(stem+"-binding.yaml", content)
		if err != nil {
			return r, err
		}
		r.Args = append(r.Args, "-f", name)
	}
	r.Args = append(r.Args, request)
	return r, nil
}

// isPlain tells whether a manifest and flags say the whole request.
func (w *Witness) isPlain() bool {
	_, known := w.resources.Lookup(w.Request.Resource, w.Request.Subresource)
	takers := 0
	for _, r := range w.resources.Resources() {
		if r.Kind == w.Request.Kind && r.Subresource == w.Request.Subresource {
			takers++
		}
	}
	return known && takers == 1 && !w.raw && w.sent["noGroups"] != true
}

// manifest is what the client sends: the first of the objects that there is.
func (w *Witness) manifest(roots ...string) map[string]any {
	var o map[string]any
	for _, root := range roots {
		if o = w.sent.named(root, w.kase); o != nil {
			break
		}
	}
	if o == nil {
		o = map[string]any{}
	}
	o["apiVersion"], o["kind"] = w.Request.Kind.GroupVersion().String(), w.Request.Kind.Kind
	m := metadataOf(o)
	if w.kase.Operation == admission.Connect {
		m["name"], m["namespace"] = w.Request.Name, w.Request.Namespace
	}
	if w.Request.Collection || m["name"] == nil && m["generateName"] == nil && w.kase.Operation != admission.Create {
		m["name"] = firstName
	}
	if m["name"] == nil && m["generateName"] == nil {
		m["generateName"] = firstName + "-"
	}
	if m["namespace"] == firstNamespace || m["namespace"] == "" {
		delete(m, "namespace") // the default of the command
	}
	return o
}

// flags say how the manifest is sent.
func (w *Witness) flags(r *Reproduction, stem string, add func(string, any) (string, error)) error {
	switch w.kase.Operation {
	case admission.Delete:
		r.Args = append(r.Args, "--operation", "DELETE")
	case admission.Update:
		name, err := add(stem+"-old.yaml", w.manifest("oldObject"))
		if err != nil {
			return err
		}
		r.Args = append(r.Args, "--old", name)
	case admission.Create:
		if w.Request.Subresource != "" {
			r.Args = append(r.Args, "--operation", "CREATE")
		}
	}
	if w.Request.Subresource != "" {
		r.Args = append(r.Args, "--subresource", w.Request.Subresource)
	}
	if w.Request.Collection {
		r.Args = append(r.Args, "--collection")
	}
	if w.Request.DryRun {
		r.Args = append(r.Args, "--dry-run")
	}
	if o := w.sent.object("options"); len(o) > 0 {
		name, err := add(stem+"-options.yaml", o)
		if err != nil {
			return err
		}
		r.Args = append(r.Args, "--options", name)
	}
	u := w.sent.user()
	if equal(w.sent.object("user"), administrator) {
		return nil
	}
	r.Args = append(r.Args, "--as", u.Name)
	for _, g := range u.Groups {
		r.Args = append(r.Args, "--as-group", g)
	}
	if u.UID != "" {
		r.Args = append(r.Args, "--as-uid", u.UID)
	}
	for _, k := range slices.Sorted(maps.Keys(u.Extra)) {
		for _, v := range u.Extra[k] {
			r.Args = append(r.Args, "--as-extra", k+"="+v)
		}
	}
	return nil
}

func pairs(labels map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, k+"="+labels[k])
	}
	return strings.Join(all, ",")
}
