package send

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// warnings are the texts of the Warning headers; a header that cannot be parsed is a text itself.
func warnings(h http.Header) []string {
	var texts []string
	for _, value := range h.Values("Warning") {
		parsed, errs := utilnet.ParseWarningHeaders([]string{value})
		if len(errs) > 0 {
			texts = append(texts, value)
		}
		for _, w := range parsed {
			texts = append(texts, w.Text)
		}
	}
	return texts
}
