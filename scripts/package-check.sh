#!/bin/bash
# package-check.sh DEB: installs the package in a scratch copy of this machine (an overlay that is
# thrown away), starts both services as their units do, runs a request, and removes the package.
# It needs root on Linux with dpkg; nothing on the machine itself is touched.
set -euo pipefail

# In namespaces of its own: no mount outlives it, and its ports are not those of the machine.
if [ -z "${PACKAGE_CHECK_INSIDE:-}" ]; then
  PACKAGE_CHECK_INSIDE=1 exec unshare --mount --net "$0" "$@"
fi
ip link set lo up

deb=$(realpath "$1")
work=$(mktemp -d)
root=$work/root
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null && wait "$pid" 2> /dev/null || true; done
  umount "$root/proc" "$root/dev" 2> /dev/null || true
  umount "$root" "$work/scratch" 2> /dev/null || true
  rm -rf "$work"
}
trap finish EXIT

fail() {
  echo "treadle: $*" >&2
  tail -n 20 "$work"/*.log >&2 2> /dev/null || true
  exit 1
}

mkdir "$work/scratch" "$root"
mount -t tmpfs tmpfs "$work/scratch"
mkdir "$work/scratch/upper" "$work/scratch/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/scratch/upper,workdir=$work/scratch/work" "$root"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
cp "$deb" "$root/treadle.deb"

inside() { chroot "$root" "$@"; }
inside dpkg -i /treadle.deb > "$work/dpkg.log" 2>&1 || fail "dpkg -i failed"
inside systemd-analyze verify /usr/lib/systemd/system/treadle-request-manager.service \
  /usr/lib/systemd/system/treadle-job-runner.service || fail "systemd does not accept the units"
[ "$(stat -c %a:%U "$root/etc/treadle/environment")" = 600:root ] || fail "/etc/treadle/environment is not root's alone"
inside treadle version

# A setting of a unit, as systemd reads it.
setting() { sed -n "s/^$2=//p" "$root/usr/lib/systemd/system/treadle-$1.service"; }
# start SERVICE: what systemd does with the unit, as far as it matters here.
start() {
  local user state
  user=$(setting "$1" User) state=/var/lib/$(setting "$1" StateDirectory)
  inside install -d -o "$user" -g "$user" -m 0750 "$state"
  # shellcheck disable=SC2046 # the command of the unit is words
  env -i PATH="$PATH" $(cat "$root$(setting "$1" EnvironmentFile | tr -d -)") \
    chroot --userspec="$user:$user" --groups= "$root" $(setting "$1" ExecStart) > "$work/$1.log" 2>&1 &
  pids+=($!)
}
# await SECONDS COMMAND...
await() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || fail "not within the time: $*"
    sleep 0.2
  done
}
start request-manager
await 30 curl -fsS http://127.0.0.1:32308/readyz
start job-runner
await 30 curl -fsS http://127.0.0.1:32307/readyz
inside treadle start hello name=Package --wait || fail "the request did not complete"

for pid in "${pids[@]}"; do kill "$pid"; done
for pid in "${pids[@]}"; do wait "$pid" || fail "a service did not exit with 0"; done
pids=()
inside dpkg -r treadle >> "$work/dpkg.log" 2>&1 || fail "dpkg -r failed"
[ ! -e "$root/usr/bin/treadle" ] || fail "the program is still there after removal"
[ -e "$root/etc/treadle/environment" ] || fail "removal deleted the secret"
echo "installed, ran a request, removed: $(basename "$deb")"
