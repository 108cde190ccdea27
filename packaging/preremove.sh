#!/bin/sh
# Before the package is removed, not before an upgrade: stops the services. A Job Runner hands
# back its job chains.
set -e

case "$1" in
  remove | 0) # of dpkg and rpm
    if [ -d /run/systemd/system ]; then
      systemctl disable --now treadle-job-runner.service treadle-request-manager.service || true
    fi
    ;;
esac
