package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"hangar.io/holdshort/cel/lint"
)

const asSARIF format = "sarif"

// SARIF is the format of static analysis that code hosts and editors read (OASIS, Static Analysis
// Results Interchange Format 2.1.0). These are the parts of it that findings need.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID            string             `json:"id"`
	Short         sarifText          `json:"shortDescription"`
	Full          sarifText          `json:"fullDescription"`
	Help          sarifHelp          `json:"help"`
	Configuration sarifConfiguration `json:"defaultConfiguration"`
}

type sarifConfiguration struct {
	Level lint.Severity `json:"level"`
}

// sarifHelp has a Markdown form, which readers of SARIF prefer where they can show it.
type sarifHelp struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID     string          `json:"ruleId"`
	RuleIndex  int             `json:"ruleIndex"`
	Level      lint.Severity   `json:"level"`
	Message    sarifText       `json:"message"`
	Locations  []sarifLocation `json:"locations"`
	Properties sarifProperties `json:"properties"`
	// Suppressions is never null: it is so for all results of a run or for none (3.27.23).
	Suppressions []sarifSuppression `json:"suppressions"`
}

// sarifSuppression says that a result is accepted, in the policy itself or in another file (3.35).
type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"` // that after the last
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

type sarifProperties struct {
	Case    string `json:"case,omitempty"`
	Error   string `json:"error,omitempty"`
	Command string `json:"command,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// sarif is the findings as a log. SARIF has a rule's text once, and each result refers to it by index.
func (l *linter) sarif() sarifLog {
	driver := sarifDriver{Name: "policygen lint", InformationURI: "https://hangar.io/holdshort", Rules: []sarifRule{}}
	for _, r := range lint.Rules() {
		driver.Rules = append(driver.Rules, sarifRule{
			ID: r.Name, Short: sarifText{r.Summary}, Full: sarifText{strings.TrimSpace(r.Why)},
			Help:          help(r),
			Configuration: sarifConfiguration{r.Severity},
		})
	}
	results := []sarifResult{}
	for _, f := range slices.Concat(l.findings, l.accepted) {
		results = append(results, f.sarif(driver.Rules))
	}
	return sarifLog{
		Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results}},
	}
}

// help is a rule's text with its examples.
func help(r *lint.Rule) sarifHelp {
	why := strings.TrimSpace(r.Why)
	return sarifHelp{
		Text:     fmt.Sprintf("%s\n\nWith the fault:\n\n%s\nMended:\n\n%s", why, r.Bad[0], r.Good),
		Markdown: fmt.Sprintf("%s\n\nWith the fault:\n\n%s\nMended:\n\n%s", why, codeBlock("yaml", r.Bad[0]), codeBlock("yaml", r.Good)),
	}
}

// region is the failing part, if it stands on one line of the file, and otherwise where it begins.
func (f lintFinding) region() sarifRegion {
	r := sarifRegion{StartLine: max(f.Line, 1), StartColumn: f.Column}
	text := []rune(f.of.Text)
	if f.Column == 0 || f.of.Start >= f.of.End || f.of.End > len(text) {
		return r
	}
	if !slices.Contains(text[f.of.Start:f.of.End], '\n') {
		r.EndColumn = f.Column + f.of.End - f.of.Start
	}
	return r
}

func (f lintFinding) sarif(rules []sarifRule) sarifResult {
	text := fmt.Sprintf("%s: %s: %s", f.subject(), f.where(), f.Message)
	r := sarifResult{
		RuleID: f.Rule, RuleIndex: slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == f.Rule }),
		Level: f.Severity, Properties: sarifProperties{Case: f.Case, Hint: f.Hint}, Suppressions: []sarifSuppression{},
	}
	switch {
	case f.Baseline:
		r.Suppressions = []sarifSuppression{{"external", f.Reason}}
	case f.Reason != "":
		r.Suppressions = []sarifSuppression{{"inSource", f.Reason}}
	}
	at := sarifLocation{Logical: []sarifLogical{{f.Policy + "." + f.Path}}}
	if f.File != "" {
		at.Physical = &sarifPhysical{sarifArtifact{(&url.URL{Path: filepath.ToSlash(f.File)}).String()}, f.region()}
	}
	r.Locations = []sarifLocation{at}
	if f.Witness != nil {
		r.Properties.Error, r.Properties.Command = f.Witness.Error, f.Witness.Command
		text += "\n" + f.Witness.Error + "\n" + f.Witness.Command
	}
	r.Message = sarifText{text}
	return r
}
