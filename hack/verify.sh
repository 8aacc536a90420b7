#!/usr/bin/env bash
# Makes the generated files again in a copy of the work tree and compares it with another copy: what
# differs is stale, or was edited by hand. Then compares the tables with Kubernetes on random objects
# (the tests of hack/gen), and asks whether go.mod and go.sum are up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
mkdir "$copies/committed" "$copies/generated"
tar --exclude=./.git --exclude=./bin --exclude=./out --exclude=./e2e/bin -cf - . | tar -C "$copies/committed" -xf -
cp -a "$copies/committed/." "$copies/generated"
make -C "$copies/generated" generate

failed=0
if ! (cd hack/gen && go test ./...); then
	echo "verify: the tables do not say what Kubernetes does" >&2
	failed=1
fi
if ! (cd "$copies" && diff -r -u --exclude=bin committed generated); then
	echo "verify: generated files are not up to date: run make generate and commit the result" >&2
	failed=1
fi
for module in . hack/gen e2e; do
	if ! (cd "$module" && go mod tidy -diff); then
		echo "verify: $module: go.mod or go.sum is not up to date: run go mod tidy there" >&2
		failed=1
	fi
done
[ "$failed" -eq 0 ] && echo "verify: generated files and modules are up to date"
exit "$failed"
