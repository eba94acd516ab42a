#!/bin/sh
# SPDX-License-Identifier: MIT
# Does the work of `make install` and `make uninstall`.
#
#   tools/install.sh DESTDIR PREFIX OUT install PYTHON PACKAGE-FILE..
#   tools/install.sh DESTDIR PREFIX OUT uninstall
#
# The file lib/clineprof/installed lists the installed files and the folders that were made, by their
# paths without DESTDIR. uninstall removes those files, and those folders if they are empty then.
set -eu
destdir=$1 prefix=${2%/} out=$3 action=$4
shift 4
case $prefix in
/* | '') ;;
*) prefix=$(pwd)/$prefix ;;
esac
to=$destdir$prefix
home=$to/lib/clineprof
list=$home/installed

note() { # lists each path that standard input names
    while read -r path; do echo "${path#"$destdir"}" >>"$noted"; done
}

folder() {
    LC_ALL=C mkdir -pv "$1" | sed "s/^mkdir: created directory '\(.*\)'\$/\1/" | note
}

put() { # MODE FROM TO
    folder "$(dirname "$3")"
    install -m "$1" "$2" "$3"
    echo "$3" | note
}

refuse_without_rights() {
    place=$to
    until [ -e "$place" ]; do place=$(dirname "$place"); done
    [ -w "$place" ] && { [ ! -e "$to/bin" ] || [ -w "$to/bin" ]; } && return
    echo "install: you may not write to ${to:-/}; use sudo, or install elsewhere: make install PREFIX=\$HOME/opt" >&2
    exit 1
}

install_all() {
    python=$1
    shift
    refuse_without_rights
    noted=$(mktemp "$out/installed.XXXXXX")
    trap 'rm -f "$noted"' EXIT
    trap 'exit 1' HUP INT TERM
    put 755 "$out/bin/ckernprof" "$to/bin/ckernprof"
    ln -sf ckernprof "$to/bin/clineprof"
    echo "$to/bin/clineprof" | note
    for file; do put 644 "$out/python/$file" "$home/python/$file"; done
    for file in "$out"/python/clineprof/*.so; do put 644 "$file" "$home/python/clineprof/${file##*/}"; done
    find share -type f | while read -r file; do put 644 "$file" "$to/$file"; done
    cat "$noted" >>"$list"
    echo "Installed for $python. Type: $prefix/bin/ckernprof -l -v script.py"
    echo "Programs that import clineprof find it with PYTHONPATH=$prefix/lib/clineprof/python"
}

uninstall_all() {
    if [ ! -e "$list" ]; then
        echo "uninstall: there is no clineprof in ${to:-/}; name its folder with PREFIX= and DESTDIR=" >&2
        exit 1
    fi
    installed=$(sort -ru "$list") # files come before the folder that holds them
    rm -rf "$home"
    echo "$installed" | while read -r path; do
        if [ ! -d "$destdir$path" ]; then
            rm -f "$destdir$path"
        else
            rmdir --ignore-fail-on-non-empty "$destdir$path"
        fi
    done
    echo "Removed clineprof from ${to:-/}"
}

"${action}_all" "$@"
