package request

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	holdschema "hangar.io/holdshort/cel/schema"
)

// connects tells the endpoints of operation CONNECT: those whose object is the options of a
// connection (kubernetes pkg/registry/core/{pod,service,node}/rest).
func connects(r holdschema.Resource) bool {
	switch r.Kind.Kind {
	case "PodExecOptions", "PodAttachOptions", "PodPortForwardOptions", "PodProxyOptions", "ServiceProxyOptions", "NodeProxyOptions":
		return r.Kind.Group == "" && r.Subresource != ""
	}
	return false
}

// connect takes a connection's options from the event's URI, as the API server does
// (apiserver pkg/endpoints/handlers/get.go, getRequestOptions). Their defaults are filled by
// harness.Complete.
func (e *event) connect() error {
	r := &e.Request
	r.Operation = admission.Connect
	r.DryRun = false
	query := e.query
	if strings.HasSuffix(r.Kind.Kind, "ProxyOptions") {
		path, err := proxiedPath(e.RequestURI)
		if err != nil {
			return e.errorf([]string{"requestURI"}, "expected the path of a proxy request: %w", err)
		}
		query = url.Values{}
		for k, v := range e.query {
			query[k] = v
		}
		query["path"] = []string{path}
	}
	object, err := connectOptions(e.endpoint.Kind.Kind, query)
	if err != nil {
		return e.errorf([]string{"requestURI"}, "expected the options of %s: %w", endpointName(r.Resource, r.Subresource), err)
	}
	content, err := jsonForm(object)
	if err != nil {
		return e.errorf([]string{"requestURI"}, "%w", err)
	}
	r.Object = withKind(content, r.Kind)
	return nil
}

// connectOptions decodes a query as the conversions that are generated for these types do
// (kubernetes pkg/apis/core/v1/zz_generated.conversion.go, Convert_url_Values_To_v1_PodExecOptions).
func connectOptions(kind string, query url.Values) (runtime.Object, error) {
	var err error
	flag := func(name string) (on bool) {
		values := query[name]
		err = errors.Join(err, runtime.Convert_Slice_string_To_bool(&values, &on, nil))
		return on
	}
	var object runtime.Object
	switch kind {
	case "PodExecOptions":
		object = &corev1.PodExecOptions{Stdin: flag("stdin"), Stdout: flag("stdout"), Stderr: flag("stderr"), TTY: flag("tty"),
			Container: query.Get("container"), Command: query["command"]}
	case "PodAttachOptions":
		object = &corev1.PodAttachOptions{Stdin: flag("stdin"), Stdout: flag("stdout"), Stderr: flag("stderr"), TTY: flag("tty"),
			Container: query.Get("container")}
	case "PodPortForwardOptions":
		o, ports := &corev1.PodPortForwardOptions{}, query["ports"]
		err = metav1.Convert_Slice_string_To_Slice_int32(&ports, &o.Ports, nil)
		object = o
	case "PodProxyOptions":
		object = &corev1.PodProxyOptions{Path: query.Get("path")}
	case "ServiceProxyOptions":
		object = &corev1.ServiceProxyOptions{Path: query.Get("path")}
	case "NodeProxyOptions":
		object = &corev1.NodeProxyOptions{Path: query.Get("path")}
	default:
		err = fmt.Errorf("%s are not known", kind)
	}
	return object, err
}

var requestInfo = apirequest.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// proxiedPath is what follows /proxy in a path, with a leading slash unless it is empty.
func proxiedPath(uri string) (string, error) {
	target, err := url.ParseRequestURI(uri)
	if err != nil {
		return "", err
	}
	// The method does not matter: PUT keeps the factory from looking for list options.
	info, err := requestInfo.NewRequestInfo(&http.Request{Method: http.MethodPut, URL: target})
	if err != nil {
		return "", err
	}
	if len(info.Parts) < 4 {
		if strings.HasSuffix(info.Path, "/") {
			return "/", nil
		}
		return "", nil
	}
	path := "/" + strings.Join(info.Parts[3:], "/")
	if strings.HasSuffix(info.Path, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path, nil
}

// jsonForm is a typed object as JSON-form values.
func jsonForm(object any) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}
