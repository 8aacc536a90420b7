# Holdshort's tasks. `make help` lists them; the CI runs the same ones (.ci/run).
#
# -trimpath is never passed: it would make a second copy of every compiled package in the build
# cache, and the end-to-end binary alone is a gigabyte of those.

GO ?= go
OUT ?= out
# SECTION picks one section of the end-to-end tests by its folder: make e2e SECTION=parity
SECTION ?=
# TESTFLAGS go to every `go test` of test, race and e2e: make test TESTFLAGS=-v
TESTFLAGS ?=
# FUZZTIME is the time for each fuzz target.
FUZZTIME ?= 20s

GOLANGCI_VERSION := v2.15.0
# The version of the end-to-end tests' control plane is the one their module requires.
KUBERNETES_VERSION = $(shell awk '$$1 == "k8s.io/kubernetes" {print $$2; exit}' e2e/go.mod)

# Packages whose values are shared between goroutines.
RACE_PACKAGES ?= ./cel/harness/... ./cel/fixture/... ./cmd/policygen/...

GOLANGCI := bin/golangci-lint-$(GOLANGCI_VERSION)
KONE := e2e/bin/kone
# A client cannot parse the version of an API server that was built without these.
KONE_LDFLAGS := -X k8s.io/component-base/version.gitVersion=$(KUBERNETES_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBERNETES_VERSION:v%=%))) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION)))

.DEFAULT_GOAL := help
.PHONY: help run test race lint fuzz sound generate verify e2e soak bench

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## /{printf "  %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: ## check the rule set and render its policies into out/
	$(GO) build -o bin/policygen ./cmd/policygen
	bin/policygen check
	bin/policygen render --target vap --out $(OUT)/

test: ## unit tests: no network, no cluster
	$(GO) test $(TESTFLAGS) ./...

race: ## unit tests of the concurrent packages under the race detector
	$(GO) test -race $(TESTFLAGS) $(RACE_PACKAGES)

# e2e and hack/gen are vetted by the `go test` that runs them: to vet them here would compile Kubernetes.
lint: $(GOLANGCI) ## go vet and golangci-lint
	$(GO) vet ./...
	$(GOLANGCI) run ./...

fuzz: ## every fuzz target for FUZZTIME
	hack/fuzz.sh $(FUZZTIME)

sound: ## a million evaluations of random policies, and 500 foreign policies: the proof is right and tells
	$(GO) test -count=1 -v ./cel/lint -run TestWhatIsProvedDoesNotFail -evaluations 1000000
	$(GO) test -count=1 -v ./internal/foreign -whole

generate: ## make the generated files again
	cd hack/gen && $(GO) run .
	$(GO) test -count=1 ./cel/fixture ./policies/profile -run Schema -update
	$(GO) test -count=1 ./internal/project -run Generated -update

verify: ## fail if a generated file, go.mod or go.sum is not up to date
	hack/verify.sh

e2e: $(KONE) ## end-to-end tests against real API servers, SECTION=<name> for one section
	cd e2e && $(GO) test -count=1 -p 1 -v -timeout 40m $(TESTFLAGS) $(if $(SECTION),./$(SECTION)/...,./...)

soak: ## the end-to-end, soundness and fuzz tests at length
	HOLDSHORT_SOAK=1 $(MAKE) e2e
	HOLDSHORT_SOAK=1 $(GO) test -count=1 -timeout 60m ./cel/lint ./policies
	$(MAKE) fuzz FUZZTIME=2m

bench: ## speed: ratios to the bare dispatcher, and parts of each budget
	$(GO) test -run '^$$' -bench . ./cel/harness ./cel/lint ./policies ./internal/foreign ./internal/project

$(GOLANGCI):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/golangci-lint $@

$(KONE): e2e/go.sum $(wildcard e2e/cmd/kone/*.go)
	cd e2e && $(GO) build -ldflags "$(KONE_LDFLAGS)" -o bin/kone ./cmd/kone
