#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time (default 20s) and fails if one finds
# something. `go test` fuzzes a single target at a time, so the targets are found by their names.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-20s}
failed=0
count=0
while IFS=: read -r file line; do
	target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/' <<<"$line")
	package=./$(dirname "${file#./}")
	count=$((count + 1))
	echo "== $package $target for $time"
	go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" || failed=1
done < <(grep -rE --include='*_test.go' --exclude-dir=e2e --exclude-dir=hack '^func Fuzz[A-Za-z0-9_]*\(' . | sort)

if [ "$count" -eq 0 ]; then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
echo "fuzz: $count targets"
exit "$failed"
