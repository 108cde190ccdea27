#!/bin/bash
# need.sh PROGRAM PACKAGE...: makes sure that PROGRAM is there. Where it is not,
# installs PACKAGE with apt if this is root on a Debian; else says what to do and
# fails. A server that comes with a package is not left running: the tests start
# servers of their own.
set -euo pipefail

program=$1
shift

PATH=$PATH:/usr/sbin:/usr/local/sbin
if command -v "$program" > /dev/null; then
  exit 0
fi

if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
  echo "treadle: the tests need $program, and it is not here." >&2
  echo "Install the package that has it, on Debian and Ubuntu: sudo apt-get install $*" >&2
  exit 1
fi

# invoke-rc.d and systemd ask this file before they start a service of a package.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi

echo "installing $* for the tests"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } > "$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "treadle: could not install $*, see above; without it the tests cannot run." >&2
  exit 1
fi
rm -f "$log"

# Nor is it to start with the machine.
if [ "$program" = mariadbd ] && [ -d /run/systemd/system ]; then
  systemctl disable --quiet --now mariadb || true
fi

command -v "$program" > /dev/null || {
  echo "treadle: installed $*, but there is still no $program." >&2
  exit 1
}
