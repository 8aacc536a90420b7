package main

import (
	"fmt"
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
	Help          sarifText          `json:"help"`
	Configuration sarifConfiguration `json:"defaultConfiguration"`
}

type sarifConfiguration struct {
	Level lint.Severity `json:"level"`
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
			Help:          sarifText{fmt.Sprintf("policygen explain %s shows an example.", r.Name)},
			Configuration: sarifConfiguration{r.Severity},
		})
	}
	results := []sarifResult{}
	for _, f := range l.findings {
		results = append(results, f.sarif(driver.Rules))
	}
	return sarifLog{
		Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results}},
	}
}

func (f lintFinding) sarif(rules []sarifRule) sarifResult {
	text := fmt.Sprintf("%s: %s: %s", f.subject(), f.where(), f.Message)
	r := sarifResult{
		RuleID: f.Rule, RuleIndex: slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == f.Rule }),
		Level: f.Severity, Properties: sarifProperties{Case: f.Case, Hint: f.Hint},
	}
	at := sarifLocation{Logical: []sarifLogical{{f.Policy + "." + f.Path}}}
	if f.File != "" {
		at.Physical = &sarifPhysical{sarifArtifact{filepath.ToSlash(f.File)}, sarifRegion{max(f.Line, 1), f.Column}}
	}
	r.Locations = []sarifLocation{at}
	if f.Witness != nil {
		r.Properties.Error, r.Properties.Command = f.Witness.Error, f.Witness.Command
		text += "\n" + f.Witness.Error + "\n" + f.Witness.Command
	}
	r.Message = sarifText{text}
	return r
}
