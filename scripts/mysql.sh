#!/bin/bash
# mysql.sh COMMAND...: runs COMMAND with a MySQL server of its own, whose DSN is in
# TREADLE_TEST_MYSQL_DSN, and ends the server. Where that variable is set already,
# that server is used.
#
# Debian has MySQL in its unstable release alone: it is unpacked, once, to
# TREADLE_MYSQL_ROOT (default: treadle/mysql-root in the user's cache), and runs in
# there. That needs root; nothing else on the machine is touched.
set -euo pipefail

if [ -n "${TREADLE_TEST_MYSQL_DSN:-}" ]; then
  exec "$@"
fi
if [ "$(id -u)" != 0 ]; then
  echo "treadle: $0 needs root. Or start a MySQL yourself, and set TREADLE_TEST_MYSQL_DSN to 'user:password@tcp(host:port)/'." >&2
  exit 1
fi

root=${TREADLE_MYSQL_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/treadle/mysql-root}
if [ ! -x "$root/usr/sbin/mysqld" ]; then
  "$(dirname "$0")/need.sh" debootstrap debootstrap
  echo "unpacking MySQL to $root, which takes some minutes, once"
  rm -rf "$root.new"
  mkdir -p "$root.new"
  log=$(mktemp)
  if ! debootstrap --variant=minbase --include=mysql-server-core,mysql-client-core sid "$root.new" > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "treadle: debootstrap failed, see above and $log" >&2
    exit 1
  fi
  rm -f "$log"
  mv "$root.new" "$root"
fi

dir=$(mktemp -d "$root/tmp/treadle.XXXXXX")
in=${dir#"$root"} # as the server sees it
server=
finish() {
  if [ -n "$server" ]; then
    kill -9 "$server" 2> /dev/null || true # the data is thrown away
    wait "$server" 2> /dev/null || true
  fi
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

port=
while [ -z "$port" ]; do
  port=$((20000 + RANDOM % 12000))
  if (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then port=; fi
done
echo "CREATE USER treadle@'%' IDENTIFIED BY ''; GRANT ALL ON *.* TO treadle@'%' WITH GRANT OPTION;" > "$dir/init.sql"
common=(--no-defaults --user=root --datadir="$in/data" --secure-file-priv=NULL --log-error="$in/log" --pid-file="$in/pid")
if ! chroot "$root" mysqld "${common[@]}" --initialize-insecure; then
  tail -n 20 "$dir/log" >&2
  exit 1
fi
chroot "$root" mysqld "${common[@]}" --mysqlx=OFF --port="$port" --bind-address=127.0.0.1 --socket="$in/s" \
  --init-file="$in/init.sql" --max-connections=500 &
server=$!

client=(chroot "$root" mysql --no-defaults --host=127.0.0.1 --port="$port" --user=treadle --connect-timeout=2 --batch --skip-column-names)
tries=0
until version=$("${client[@]}" --execute='SELECT VERSION()' 2> /dev/null); do
  if ! kill -0 "$server" 2> /dev/null || [ $((tries += 1)) -gt 600 ]; then
    tail -n 20 "$dir/log" >&2
    echo "treadle: MySQL did not start, see above" >&2
    exit 1
  fi
  sleep 0.2
done
echo "MySQL $version at 127.0.0.1:$port"
TREADLE_TEST_MYSQL_DSN="treadle@tcp(127.0.0.1:$port)/" "$@"
