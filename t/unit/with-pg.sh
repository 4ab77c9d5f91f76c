#!/bin/sh
# usage: with-pg.sh start PID | with-pg.sh stop DIR | with-pg.sh cluster DIR BIN
# A PostgreSQL server for a whole run of the suite, or for one unit test that is run by itself: a new cluster in a temporary directory, reached through a socket there and no network. Nothing that protects data from a crash is on, because no test of its users cuts the power. Autovacuum is off, because it would start a process every second for the databases of a whole run.
# `start` prints the directory, which is also the value for libpq's host (port 5432); the server ends with process PID at the latest; exit 77 and a reason on standard error when there is no PostgreSQL.
# `cluster` makes DIR a new cluster by the programs in BIN, not started: a copy of one that is made once in a build directory, as initdb costs ten times as much.
# At another date (IDADMIN_CLOCK) it keeps the machine's, which nobody asks it for: its timers would end in another order.
unset FAKETIME
set -eu
action=${1:-}

find_bin() {
    for dir in ${IDADMIN_PG_BIN:-} /usr/lib/postgresql/*/bin /usr/local/pgsql/bin /usr/pgsql-*/bin; do
        [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ] && bin=$dir
    done
    [ -n "${bin:-}" ] || { echo 'no PostgreSQL server is installed (initdb, pg_ctl)' >&2; exit 77; }
}

# PostgreSQL refuses to run as root.
as_owner() {
    if [ "$(id -u)" = 0 ]; then
        (cd / && exec setpriv --reuid=postgres --regid=postgres --clear-groups "$@")
    else
        "$@"
    fi
}

# make_cluster DIR: DIR's parent is postgres' own. The one that is kept may lie where postgres cannot go: it is copied by ourselves.
make_cluster() {
    kept=${IDADMIN_BUILD:+$IDADMIN_BUILD/obj/cluster-$(echo "$bin" | tr -cd 0-9)-$(stat -c %Y "$bin/initdb")}
    if [ -z "$kept" ] || ! cp -a "$kept" "$1" 2>/dev/null; then
        rm -rf "$1"
        as_owner "$bin/initdb" -D "$1" -U idadmin -A trust -E UTF8 --locale=C.UTF-8 --no-sync
        # Whoever is first: a directory is not renamed over one that has something in it.
        if [ -n "$kept" ] && [ -d "${kept%/*}" ]; then
            cp -a "$1" "$kept.$$" && mv -T "$kept.$$" "$kept" 2>/dev/null || rm -rf "$kept.$$"
        fi
    fi
}

[ "$action" = cluster ] && bin=$3 || find_bin
case $action in
cluster)
    make_cluster "$2"
    ;;
start)
    dir=$(mktemp -d /tmp/idadmin-pg-XXXXXX)
    chmod 755 "$dir"
    if [ "$(id -u)" = 0 ]; then
        id postgres >/dev/null 2>&1 || { rm -rf "$dir"; echo 'running as root without a user postgres' >&2; exit 77; }
        chown postgres "$dir"
    fi
    {
        make_cluster "$dir/data"
        cat >>"$dir/data/postgresql.conf" <<-CONF
			listen_addresses = ''
			unix_socket_directories = '$dir'
			port = 5432
			max_connections = 600
			shared_buffers = 128MB
			fsync = off
			synchronous_commit = off
			full_page_writes = off
			autovacuum = off
			log_min_messages = warning
		CONF
        as_owner "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w start
    } >"$dir.out" 2>&1 </dev/null || { cat "$dir.out" >&2; rm -rf "$dir" "$dir.out"; exit 1; }
    rm -f "$dir.out"
    # A test that is killed cannot clean up.
    (cd / && while kill -0 "$2" 2>/dev/null && [ -d "$dir" ]; do sleep 1; done; exec "$0" stop "$dir") </dev/null >/dev/null 2>&1 &
    echo "$dir"
    ;;
stop)
    as_owner "$bin/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1 || true
    rm -rf "$2"
    ;;
*)
    echo 'usage: with-pg.sh start PID | with-pg.sh stop DIR | with-pg.sh cluster DIR BIN' >&2
    exit 2
    ;;
esac
