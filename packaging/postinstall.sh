#!/bin/sh
# After installation or upgrade of the package: makes the users, and the secret by which
# services prove to each other that they belong together. It starts and restarts nothing.
set -e

for user in treadle treadle-runner; do
  if ! getent passwd "$user" > /dev/null; then
    useradd --system --user-group --home-dir "/var/lib/$user" --no-create-home --shell /usr/sbin/nologin "$user"
  fi
done

# Every machine of an installation needs the same secret: copy the file to them.
environment=/etc/treadle/environment
if [ ! -e "$environment" ]; then
  (
    umask 077
    secret=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
    echo "TREADLE_CLUSTER_SECRET=$secret" > "$environment.new"
    mv "$environment.new" "$environment"
  )
fi

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
