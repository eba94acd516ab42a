#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a command for aarch64: in a Debian 12 for aarch64, which qemu-user emulates, in a copy of the working tree.
#
#   tools/arm64.sh COMMAND..      as root, on Debian or Ubuntu: tools/arm64.sh make unit
#
# If there is no such Debian yet, debootstrap makes it in the folder $ARM64 (/var/tmp/arm64-debian), from the mirror
# that this machine's apt uses. That takes about ten minutes and 700 MB. The copy's build/ is kept for the next time.
# Python tests use Debian's packages: tools/arm64.sh make test VENV=/usr T=tests/conformance/test_hits.py
#
# Emulation takes twenty times as long and does not keep the proportions of costs. So times and corrections mean nothing
# here. Hits, files, threads and the build do. Tests of what qemu-user does otherwise than a kernel are skipped.
set -eu
root=${ARM64:-/var/tmp/arm64-debian}
packages=ca-certificates,git,gcc,make,pkg-config,libmsgpack-dev,zlib1g-dev,libcriterion-dev
packages=$packages,python3-dev,python3-venv,python3-pytest,python3-msgpack,python-is-python3

fail() { echo "arm64: $1" >&2 && exit 1; }

# The mirror of the distribution itself, not that of its security updates.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        awk '/^(deb|URIs:) / { for (i = 2; i <= NF; i++) if ($i ~ /:.*\/debian\/?$/) { print $i; exit } }'
}

# Lets the kernel start qemu for programs of aarch64.
emulate() {
    mountpoint -q /proc/sys/fs/binfmt_misc || mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    [ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] ||
        cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register
}

[ $# -gt 0 ] || fail "name the command, as in: tools/arm64.sh make unit"
[ "$(id -u)" = 0 ] || fail "needs root, for debootstrap and chroot"
for package in debootstrap qemu-user-static; do
    dpkg -s "$package" >/dev/null 2>&1 || apt-get install -y -q "$package" >&2 || fail "cannot install $package"
done
emulate || fail "the kernel does not let programs of other machines start (binfmt_misc)"
if [ ! -x "$root/usr/bin/make" ]; then
    from=$(mirror) && [ -n "$from" ] || fail "found no mirror of Debian in this machine's apt sources"
    debootstrap --arch=arm64 --variant=minbase --include="$packages" bookworm "$root" "$from" >&2
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
fi

exec 9>"$root/lock" && flock -n 9 || fail "another command runs there; it must end first"

# Files that are not in the working tree any more go, but build/ stays.
cd "$(dirname "$0")/.."
mkdir -p "$root/clineprof"
find "$root/clineprof" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard --deduplicate |
    tar -c --null --files-from=- | tar -x --no-same-owner -C "$root/clineprof"

# The mounts are gone when the command ends, because they are in a namespace of their own.
exec nice -n 10 unshare --mount sh -c '
    mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" || exit
    exec chroot "$0" env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin CLINEPROF_TEST_EMULATED=1 \
        sh -c "cd /clineprof && exec \"\$@\"" sh "$@"' "$root" "$@"
