#!/bin/sh
# SPDX-License-Identifier: MIT
# Tries whether what a build needs is there, and installs what is missing with apt-get.
#
#   tools/setup.sh build PYTHON   a C compiler, pkg-config, msgpack-c, zlib, the interpreter's headers
#   tools/setup.sh check PYTHON   the same, and Criterion and the venv module
#   tools/setup.sh full           a browser for tests of pages, mpirun for tests of ranks, gdb and strace
#   tools/setup.sh engines        mpirun, and Java for Spark
#
# Without what the last two install, the tests that need it are skipped.
#
# Root installs without a question. Other users install through sudo: on a terminal the script asks
# first; elsewhere sudo must need no password. With SETUP=no in the environment nothing is installed.
# The script names what is still missing, and the command that root would type.
# Standard output gets the flags for msgpack-c, as make variables. All else goes to standard error.
set -u
level=$1
python=${2:-}
cc=${CC:-cc}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
terminal=
[ ! -t 0 ] || [ ! -t 2 ] || terminal=yes
exec 3>&1 4<&0 1>&2 </dev/null

# Does a program with this include line compile and link?
links() { # INCLUDE FLAG...
    printf '%s\nint main(void) { return 0; }\n' "$1" >"$scratch/try.c"
    shift
    "$cc" -o "$scratch/try" "$scratch/try.c" "$@" >/dev/null 2>&1
}

msgpack_name() {
    for name in msgpack msgpack-c; do
        pkg-config --exists "$name" 2>/dev/null && echo "$name" && return
    done
    return 1
}

msgpack_works() {
    name=$(msgpack_name) || return 1
    # shellcheck disable=SC2046
    links '#include <msgpack.h>' $(pkg-config --cflags --libs "$name")
}

python_says() { "$python" -c "import sys, sysconfig; print($1)"; }

headers_work() {
    links '#include <Python.h>' "-I$(python_says 'sysconfig.get_paths()["include"]')" \
        "-I$(python_says 'sysconfig.get_paths()["platinclude"]')"
}

# Is the interpreter Debian's own? Then its headers and venv are in packages of their own.
is_distributions() {
    case $(python_says 'sys.base_prefix') in /usr) command -v dpkg >/dev/null ;; *) false ;; esac
}
version() { python_says '"%d.%d" % sys.version_info[:2]'; }

has_lists() { apt-cache show gcc 2>/dev/null | grep -q .; }

# The package of msgpack-c, whose name differs between releases. Without package lists it is a pattern for both names,
# which apt-get takes.
msgpack_package() {
    if ! has_lists; then
        echo "'^libmsgpack(-c)?-dev\$'"
    elif apt-cache show libmsgpack-c-dev 2>/dev/null | grep -q .; then
        echo libmsgpack-c-dev
    else
        echo libmsgpack-dev
    fi
}

makes_environments() { "$python" -c 'import ensurepip, venv' 2>/dev/null; }

# Prints a line for each thing that is missing: its Debian packages, and what they are for.
missing() {
    links '' || echo "gcc libc6-dev: the C compiler"
    command -v pkg-config >/dev/null || echo "pkg-config: finds msgpack-c"
    msgpack_works || echo "$(msgpack_package): msgpack-c, for the format of profiles"
    links '#include <zlib.h>' -lz || echo "zlib1g-dev: zlib, which compresses the source in profiles"
    if is_distributions && ! headers_work; then
        echo "python$(version)-dev: Python.h"
    fi
    [ "$level" = check ] || return
    links '#include <criterion/criterion.h>' -lcriterion ||
        echo "libcriterion-dev: Criterion, for the C unit tests"
    if is_distributions && ! makes_environments; then
        echo "python$(version)-venv: environments for the Python tests"
    fi
}

has_browser() {
    command -v chromedriver >/dev/null && { command -v chromium || command -v google-chrome; } >/dev/null
}

# Like missing, for things that only some tests need.
missing_for_tests() {
    command -v mpirun >/dev/null || echo "openmpi-bin: mpirun, for tests of ranks"
    if [ "$level" = full ]; then
        has_browser || echo "chromium chromium-driver: a browser, for tests that open pages"
        command -v gdb >/dev/null || echo "gdb: for tests that attach to a program"
        command -v strace >/dev/null || echo "strace: for a test that lists system calls"
    else
        command -v java >/dev/null || echo "default-jre-headless: Java, for tests on Spark"
    fi
}

packages() { printf '%s\n' "$needed" | sed 's/:.*//' | paste -s -d ' ' -; }

is_root() { [ "$(id -u)" = 0 ]; }

# Prints how much apt-get would download, in parentheses; nothing if apt-get cannot tell.
size() {
    # shellcheck disable=SC2046
    apt-get -qq --print-uris install --no-install-recommends $(packages) 2>/dev/null |
        awk '{ bytes += $3 } END { if (bytes) printf " (%.1f MB to download)", bytes / 1e6 }'
}

as_root() {
    if is_root; then
        "$@"
    elif [ -n "$terminal" ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >"$scratch/log" 2>&1; }

agrees() {
    printf 'setup: install them with sudo apt-get%s? [Y/n] ' "$(size)"
    read -r answer <&4 || { echo && answer=no; }
    case $answer in '' | [Yy] | [Yy][Ee][Ss]) ;; *) return 1 ;; esac
}

may_install() {
    [ "${SETUP:-}" != no ] && command -v apt-get >/dev/null || return
    is_root && return
    command -v sudo >/dev/null || return
    if [ -n "$terminal" ]; then
        agrees
    else
        sudo -n true 2>"$scratch/log"
    fi
}

# Installs the packages in $needed. $1 is the function that finds out again what is missing: with package lists it may
# give other names.
installs() {
    may_install || return
    if ! has_lists; then
        echo "setup: fetching the package lists (apt-get update)"
        apt update || return
        needed=$($1)
    fi
    echo "setup: installing $(packages) with apt-get$(size)"
    # shellcheck disable=SC2046
    apt install -y --no-install-recommends $(packages) ||
        { apt update && apt install -y --no-install-recommends $(packages); } || return
    needed=$($1)
    [ -z "$needed" ]
}

say_how() {
    [ ! -s "$scratch/log" ] || tail -n 5 "$scratch/log"
    if command -v apt-get >/dev/null; then
        lists=
        has_lists || lists='apt-get update && '
        echo "setup: as root, type: ${lists}apt-get install -y --no-install-recommends $(packages)"
    else
        echo "setup: please install them (these are Debian's names; others are alike)"
    fi
}

say_missing() {
    echo "setup: missing on this machine:"
    printf '%s\n' "$needed" | sed 's/^/setup:   /'
}

if [ "$level" != build ] && [ "$level" != check ]; then
    needed=$(missing_for_tests)
    [ -n "$needed" ] || exit 0
    say_missing
    installs missing_for_tests && exit 0
    say_how
    echo "setup: until then these tests are skipped"
    exit 0
fi
needed=$(missing)
if [ -n "$needed" ]; then
    say_missing
    installs missing || {
        say_how
        echo "setup: then run make again"
        exit 1
    }
fi
if ! headers_work; then
    echo "setup: $python has no headers (Python.h); install its development files"
    exit 1
fi
if [ "$level" = check ] && ! makes_environments; then
    echo "setup: $python cannot make virtual environments (no ensurepip)"
    exit 1
fi
name=$(msgpack_name)
echo "MSGPACK_CFLAGS := $(pkg-config --cflags "$name")" >&3
echo "MSGPACK_LIBS := $(pkg-config --libs "$name")" >&3
