#!/bin/bash
# tool.sh PACKAGE VERSION DIR: prints the path of a Go program of exactly that version, which is
# built into DIR unless it is there.
#
#   scripts/tool.sh github.com/goreleaser/nfpm/v2/cmd/nfpm 2.48.0 bin/tools
set -euo pipefail

package=$1 version=$2 dir=$3
mkdir -p "$dir"
tool=$(cd "$dir" && pwd)/${package##*/}
if ! go version -m "$tool" 2> /dev/null | awk -v want="v$version" '$1 == "mod" { exit $3 != want; } END { if (!NR) exit 1 }'; then
  echo "building ${package##*/} $version into $dir (once)" >&2
  GOBIN=$(dirname "$tool") CGO_ENABLED=0 go install "$package@v$version" >&2
fi
echo "$tool"
