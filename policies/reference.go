package policies

import (
	"fmt"
	"strings"
)

const referenceHead = `# Policies

<!-- Made by make generate from policies/*.go: change the policies, not this file. -->

The whole rule set, as the built-in profiles render it: *ground* is a development cluster, *flight* a production cluster and the portal's home. A request that a policy looks at has to keep all of its rules; the text in quotes is what the person reads whose request breaks one. A rule that names no profile holds on all that have the policy. ` + "`policygen explain NAME`" + ` prints the expressions too, with ` + "`--profile`" + ` for a cluster of yours.

| policy | on | demands | rules |
|---|---|---|---|
`

// Reference is the documentation of the rule set in Markdown, with the values of the built-in profiles.
func Reference() (string, error) {
	var table, sections strings.Builder
	for _, name := range Names() {
		e, err := Explain(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&table, "| [%s](#%s) | %s | %s | %d |\n", e.Name, e.Name, orNone(e.Profiles), markdown(e.Summary), len(e.Validations))
		e.section(&sections)
	}
	return referenceHead + table.String() + sections.String(), nil
}

func (e Explanation) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n%s\n\n", e.Name, markdown(upper(e.Summary)), markdown(e.Doc))
	fmt.Fprintf(b, "- On: %s.\n- Looks at: %s", orNone(e.Profiles), markdown(strings.Join(e.Matches, "; ")))
	for i, c := range e.Conditions {
		word := "; of these only"
		if i > 0 {
			word = " and"
		}
		fmt.Fprintf(b, "%s `%s`%s", word, c.Name, e.only(c.Profiles))
	}
	fmt.Fprintf(b, ".\n- Source: [%s](../%s), cases: [%s](../%s).\n", e.Source, e.Source, e.Fixture, e.Fixture)
	for _, l := range e.Links {
		fmt.Fprintf(b, "- See <%s>.\n", l)
	}
	b.WriteString("\nRules:\n\n")
	for _, v := range e.Validations {
		fmt.Fprintf(b, "- **%s**%s: “%s” %s\n", v.Name, e.only(v.Profiles), markdown(v.Message), markdown(v.Why))
	}
	if e.Example != "" {
		fmt.Fprintf(b, "\nWhat passes:\n\n```sh\n%s\n```\n", e.Example)
	}
}

// markdown keeps plain text plain: nothing in it becomes markup.
func markdown(text string) string { return markup.Replace(text) }

var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `<`, `\<`, `[`, `\[`, `]`, `\]`, `|`, `\|`, `#`, `\#`)

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
