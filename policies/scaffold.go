package policies

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ErrExists says that there is a policy of that name already.
var ErrExists = errors.New("the rule set has this policy already")

//go:embed scaffold.go.tmpl
var scaffoldSource string

//go:embed scaffold.yaml.tmpl
var scaffoldFixture string

var scaffolds = []struct {
	path string
	text *template.Template
}{
	{"policies/%s.go", template.Must(template.New("source").Delims("«", "»").Parse(scaffoldSource))},
	{"policies/testdata/%s.yaml", template.Must(template.New("fixture").Delims("«", "»").Parse(scaffoldFixture))},
}

// New returns the two files that a new policy costs, with paths from the root of the project. They
// compile, and the cases pass: a start that demands something and shows how to say it. Writing them is
// all there is to do.
func New(name string) ([]File, error) {
	// A file name that ends in _test, or in _ and a platform, means something else to go build;
	// labels have no underscores.
	if why := validation.IsDNS1123Label(name); len(why) > 0 {
		return nil, fmt.Errorf("policy name %q: %s", name, why[0])
	}
	if _, err := Get(name); err == nil {
		return nil, fmt.Errorf("policy name %q: %w", name, ErrExists)
	}
	data := struct{ Name, Identifier string }{name, goIdentifier(name)}
	var files []File
	for _, s := range scaffolds {
		var b bytes.Buffer
		if err := s.text.Execute(&b, data); err != nil {
			return nil, fmt.Errorf("scaffold policy %s: %w", name, err)
		}
		files = append(files, File{Path: fmt.Sprintf(s.path, name), Data: b.Bytes()})
	}
	return files, nil
}

// goIdentifier is NoExec for no-exec. A name that begins with a digit gets a letter before it.
func goIdentifier(name string) string {
	var b strings.Builder
	for _, word := range strings.Split(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	if c := b.String()[0]; c >= '0' && c <= '9' {
		return "P" + b.String()
	}
	return b.String()
}
