#!/bin/sh
# The packages in a fresh chroot of Debian, from their making to their purge. IDADMIN_SRC is the source, IDADMIN_BUILD a
# place to work in, IDADMIN_DISTRIBUTION bookworm or another one. KEEP=1 leaves the chroot.
set -eu
src=$IDADMIN_SRC
base=$IDADMIN_BUILD/deb-check
distribution=${IDADMIN_DISTRIBUTION:-bookworm}
root=$base/root

say() { echo "== $*"; }
fail() { echo "not ok: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail 'this needs root'
for tool in dpkg-buildpackage dh lintian debootstrap; do
    command -v $tool >/dev/null || fail "$tool is not here: apt-get install debhelper lintian debootstrap"
done

first() { cat "$base/first" 2>/dev/null || :; } # the process that is systemd there
clean_up() {
    # With the first process of a namespace all of its others end, and what is mounted there goes.
    [ -z "$(first)" ] || kill -9 "$(first)" 2>/dev/null || :
    [ -z "${booted:-}" ] || wait "$booted" 2>/dev/null || :
    [ -n "${KEEP:-}" ] || rm -rf "$base"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
rm -rf "$base"
mkdir -p "$base"

build() { # directory [version]: packages of what git knows, in the directory
    mkdir -p "$1/source"
    (cd "$src" && git ls-files -z | tar -cf - --null -T -) | tar -xf - -C "$1/source"
    if [ -n "${2:-}" ]; then
        sed -i "1s/(.*)/($2)/" "$1/source/debian/changelog"
    fi
    (cd "$1/source" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -b -j2 >"$1/build.log" 2>&1) ||
        { tail -n 30 "$1/build.log"; fail "dpkg-buildpackage in $1"; }
    rm -rf "$1/source"
}

say 'built twice, in two places'
build "$base/one"
build "$base/another/place"
for package in "$base"/one/*.deb; do
    cmp "$package" "$base/another/place/${package##*/}" || fail "${package##*/} is another one the second time"
    echo "ok: ${package##*/} is reproducible"
done

say 'lintian'
lintian --fail-on error --suppress-tags bad-distribution-in-changes-file "$base"/one/*.changes || fail lintian

say 'the next version'
build "$base/next" 0.1.1

say "$distribution, with the packages of the directory and the tools that the test asks with"
mirror=${IDADMIN_MIRROR:-http://deb.debian.org/debian}
with=systemd,systemd-sysv,dbus,apache2,ssl-cert,logrotate,man-db,slapd,ldap-utils,curl,openssl,procps
debootstrap --variant=minbase --include=ca-certificates,$with "$distribution" "$root" "$mirror" \
    >"$base/debootstrap.log" 2>&1 || { tail "$base/debootstrap.log"; fail debootstrap; }
cp /etc/resolv.conf "$root/etc/"
echo identity >"$root/etc/hostname"
printf '127.0.0.1 localhost ldap1.nordic.example\n127.0.1.1 identity.example.com identity\n' >"$root/etc/hosts"
echo 'APT::Get::Assume-Yes "true"; Dpkg::Options:: "--force-confold";' >"$root/etc/apt/apt.conf.d/90check"
for file in /etc/apt/apt.conf.d/*proxy*; do [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"; done
mkdir -p "$root/t/one" "$root/t/next"
cp "$base"/one/*.deb "$root/t/one/"
cp "$base"/next/*.deb "$root/t/next/"
cp "$src/t/debian/inside.sh" "$src/t/debian/mail.pl" "$root/t/"

say 'its systemd'
unshare --pid --mount --uts --ipc --cgroup --fork sh "$src/t/debian/boot.sh" "$root" >"$base/boot.log" 2>&1 &
booted=$!
within() { # a command, until it succeeds
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 240 ] || { cat "$base/boot.log"; fail "in vain: $*"; }
        sleep 0.5
    done
}
begun() { pgrep -P $booted -x systemd >"$base/first"; }
enter() { nsenter -t "$(first)" -a /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"; }
runs() { enter systemctl is-system-running 2>/dev/null | grep -qx 'running\|degraded'; }
within begun
within runs
enter sh /t/inside.sh
say 'all held'
