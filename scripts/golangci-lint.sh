#!/bin/bash
# golangci-lint.sh VERSION DIR ARGS...: runs golangci-lint of exactly that
# version: the one on the PATH, or in Go's own bin directory, or else in DIR, into
# which it is built if need be (some minutes, once).
set -euo pipefail

version=$1 dir=$2
shift 2

is_right() {
  [ -x "$1" ] && "$1" version 2> /dev/null | grep -q "version v\?$version "
}

gobin=$(go env GOBIN)
for tool in "$dir/golangci-lint" "$(command -v golangci-lint || true)" "${gobin:-$(go env GOPATH)/bin}/golangci-lint"; do
  if [ -n "$tool" ] && is_right "$tool"; then
    exec "$tool" "$@"
  fi
done

echo "building golangci-lint $version into $dir (some minutes, once)"
GOBIN=$(mkdir -p "$dir" && cd "$dir" && pwd) CGO_ENABLED=0 \
  go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$version"
exec "$dir/golangci-lint" "$@"
