#!/bin/bash
# release-check.sh NFPM OUT: builds the release into OUT, and a second time in other circumstances
# (folder, home, build cache, time zone, umask, locale). Both must have the same checksums.
set -euo pipefail
cd "$(dirname "$0")/.."

nfpm=$1 out=$2
commit=$(git rev-parse HEAD)
again=$(mktemp -d)
trap 'chmod -R u+w "$again"; rm -rf "$again"' EXIT

scripts/release.sh "$nfpm" "$out" "$commit"
modules=$(go env GOMODCACHE)
mkdir "$again/tmp"
(
  umask 077
  HOME=$again TMPDIR=$again/tmp GOCACHE=$again/cache GOMODCACHE=$modules GOFLAGS=-v TZ=Asia/Tokyo LC_ALL=C.UTF-8 USER=somebody \
    scripts/release.sh "$nfpm" "$again/out" "$commit"
)
if ! diff "$out/SHA256SUMS" "$again/out/SHA256SUMS"; then
  echo "treadle: two builds of the same commit differ, see above" >&2
  exit 1
fi
(cd "$out" && sha256sum --check --quiet SHA256SUMS)
echo "two builds of the same commit are the same:"
cat "$out/SHA256SUMS"
