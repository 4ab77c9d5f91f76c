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

clean_up() {
    if [ -d "$root/proc" ]; then
        chroot "$root" /bin/sh /t/inside.sh stop >/dev/null 2>&1 || :
        for place in proc dev/shm dev; do ! mountpoint -q "$root/$place" || umount -l "$root/$place"; done
    fi
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

say "a chroot of $distribution"
debootstrap --variant=minbase --include=ca-certificates "$distribution" "$root" "${IDADMIN_MIRROR:-http://deb.debian.org/debian}" \
    >"$base/debootstrap.log" 2>&1 || { tail "$base/debootstrap.log"; fail debootstrap; }
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
for file in /etc/apt/apt.conf.d/*proxy*; do [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"; done
mkdir -p "$root/t/one" "$root/t/next"
cp "$base"/one/*.deb "$root/t/one/"
cp "$base"/next/*.deb "$root/t/next/"
cp "$src/t/debian/inside.sh" "$root/t/"
chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 /bin/sh /t/inside.sh
say 'all held'
