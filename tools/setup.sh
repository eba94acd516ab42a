#!/bin/sh
# SPDX-License-Identifier: MIT
# Sees to it that what a build needs is there, by trying it; installs what is missing with apt-get.
#
#   tools/setup.sh build PYTHON   a C compiler, pkg-config, msgpack-c, the interpreter's headers
#   tools/setup.sh check PYTHON   that, and Criterion and the venv module; Chromium where it can be had
#
# Standard output: the flags for msgpack-c, as make variables. All else goes to standard error.
set -u
level=$1
python=$2
cc=${CC:-cc}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
exec 3>&1 1>&2 </dev/null

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

# Debian splits its own interpreters into packages; any other one comes whole.
is_distributions() {
    case $(python_says 'sys.base_prefix') in /usr) command -v dpkg >/dev/null ;; *) false ;; esac
}
version() { python_says '"%d.%d" % sys.version_info[:2]'; }

msgpack_package() {
    if apt-cache show libmsgpack-c-dev 2>/dev/null | grep -q .; then
        echo libmsgpack-c-dev
    else
        echo libmsgpack-dev
    fi
}

# The Debian packages to install, one line; empty when nothing is missing.
missing() {
    list=
    if ! links ''; then list="$list gcc libc6-dev"; fi
    command -v pkg-config >/dev/null || list="$list pkg-config"
    msgpack_works || list="$list $(msgpack_package)"
    if is_distributions; then
        headers_work || list="$list python$(version)-dev"
    fi
    if [ "$level" = check ]; then
        links '#include <criterion/criterion.h>' -lcriterion || list="$list libcriterion-dev"
        if is_distributions; then
            "$python" -c 'import ensurepip, venv' 2>/dev/null || list="$list python$(version)-venv"
        fi
    fi
    echo "${list# }"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >"$scratch/log" 2>&1; }

give_up() {
    echo "setup: cannot install what is missing here: $1"
    echo "setup: please install it (Debian's names; others are alike), then run make again"
    [ ! -s "$scratch/log" ] || tail -n 5 "$scratch/log"
    exit 1
}

install_missing() {
    command -v apt-get >/dev/null || give_up "$1"
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || give_up "$1"
    # A machine without package lists cannot say what msgpack-c is called there either.
    if ! apt-cache show gcc 2>/dev/null | grep -q .; then
        echo "setup: fetching the package lists (apt-get update)"
        apt update || give_up "$1"
        set -- "$(missing)"
    fi
    echo "setup: installing $1 (apt-get)"
    # shellcheck disable=SC2086
    apt install -y --no-install-recommends $1 ||
        { apt update && apt install -y --no-install-recommends $1; } || give_up "$1"
}

# Tests that open pages are skipped without a browser, so it is wished for, not needed.
has_browser() {
    command -v chromedriver >/dev/null && { command -v chromium || command -v google-chrome; } >/dev/null
}

wish_for_browser() {
    if command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }; then
        echo "setup: installing chromium chromium-driver (apt-get), to test pages in"
        apt install -y --no-install-recommends chromium chromium-driver ||
            { apt update && apt install -y --no-install-recommends chromium chromium-driver; }
    fi
    has_browser || echo "setup: no chromium and chromium-driver here; tests that open pages are skipped"
}

needed=$(missing)
if [ -n "$needed" ]; then
    install_missing "$needed"
    needed=$(missing)
    [ -z "$needed" ] || give_up "$needed"
fi
if ! headers_work; then
    echo "setup: $python has no headers (Python.h); install its development files"
    exit 1
fi
if [ "$level" = check ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "setup: $python cannot make virtual environments (no ensurepip)"
    exit 1
fi
[ "$level" != check ] || has_browser || wish_for_browser
name=$(msgpack_name)
echo "MSGPACK_CFLAGS := $(pkg-config --cflags "$name")" >&3
echo "MSGPACK_LIBS := $(pkg-config --libs "$name")" >&3
