#!/bin/bash
# release.sh NFPM OUT [COMMIT]: builds the release of a commit, by default the one that is checked
# out, into the folder OUT: an archive for each platform, deb and rpm packages, and SHA256SUMS.
#
# Everything comes from the commit, nothing from the working tree, and no time, path, user or
# setting of the machine gets in: the same commit and the same Go give the same bytes.
# `make release-check` builds twice and compares. It needs GNU tar.
set -euo pipefail
cd "$(dirname "$0")/.."

nfpm=$1 out=$2
platforms=${RELEASE_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}

export LC_ALL=C TZ=UTC
umask 022
unset GOFLAGS GOEXPERIMENT GOAMD64 GOARM64 GODEBUG
export CGO_ENABLED=0

commit=$(git rev-parse "${3:-HEAD}")
SOURCE_DATE_EPOCH=$(git show --no-patch --format=%ct "$commit")
export SOURCE_DATE_EPOCH
date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
# v1.2.3 for a tag; v1.2.3+4.g0123456789ab for the fourth commit after it.
if described=$(git describe --tags --long --abbrev=12 --match 'v[0-9]*' "$commit" 2> /dev/null); then
  tag=$(sed -E 's/-0-g[0-9a-f]+$//; s/-([0-9]+)-(g[0-9a-f]+)$/+\1.\2/' <<< "$described")
else
  tag=v0.0.0+$(git rev-list --count "$commit").g$(git rev-parse --short=12 "$commit")
fi
export VERSION=${tag#v}
if [ -n "$(git status --porcelain)" ]; then
  echo "note: changes that are not committed are not in the release" >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/source" "$out"
rm -f "$out"/*
out=$(cd "$out" && pwd)
git archive --format=tar "$commit" | tar -x -C "$work/source"

version=github.com/treadle-run/treadle/cmd/internal/version
ldflags="-s -w -buildid= -X $version.tag=$tag -X $version.commit=$commit -X $version.date=$date"

# archive NAME: the folder NAME in $work becomes an archive.
archive() {
  tar --create --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    -C "$work" "$1" | gzip -n -9 > "$out/$1.tar.gz"
}

# package ARCH FROM: the files in FROM become a deb and an rpm.
package() {
  local files=$work/package-$1
  cp -r "$2" "$files"
  cp "$work"/source/packaging/* "$files"
  find "$files" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  (cd "$files" && ARCH=$1 "$nfpm" package --config nfpm.yaml --packager deb --target "$out/" > /dev/null)
  (cd "$files" && ARCH=$1 "$nfpm" package --config nfpm.yaml --packager rpm --target "$out/" > /dev/null)
}

for platform in $platforms; do
  os=${platform%/*} arch=${platform#*/}
  name=treadle_${VERSION}_${os}_$arch
  echo "$name"
  mkdir "$work/$name"
  for program in "$work"/source/cmd/treadle*/; do
    program=$(basename "$program")
    (cd "$work/source" && GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -ldflags "$ldflags" \
      -o "$work/$name/$program" "./cmd/$program")
  done
  cp -r "$work"/source/{LICENSE,README.md,CHANGELOG.md,docs,specs} "$work/$name"
  if [ "$os" = linux ]; then
    mkdir "$work/$name/systemd"
    cp "$work"/source/packaging/*.service "$work/$name/systemd"
    package "$arch" "$work/$name"
  fi
  archive "$name"
done
(cd "$out" && sha256sum -- * > "$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
