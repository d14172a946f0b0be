#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The Debian packages: unpacked together into an empty folder they give a command that runs, a
# library that programs link with, and the manual; and they name what they need.
#
# ctest: cost 30
set -euo pipefail

if ! command -v dpkg-shlibdeps >/dev/null || ! command -v file >/dev/null; then
    echo "skipped: no dpkg-dev or file here (tools/setup deb)"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

cpack -G DEB --config "$TACKLE_BUILD/CPackConfig.cmake" -B "$dir/packages" >"$dir/log" 2>&1 ||
    fail "$(cat "$dir/log")"
for package in "$dir"/packages/*.deb; do
    dpkg-deb -x "$package" "$dir/root"
done
names=$(for package in "$dir"/packages/*.deb; do dpkg-deb -f "$package" Package; done | tr '\n' ' ')
[ "$names" = "libtackle-dev libtackle0.1 tackle " ] || fail "the packages are $names"
[[ $(dpkg-deb -f "$dir"/packages/libtackle0.1_*.deb Depends) == *libhiredis* ]] ||
    fail "the library does not say what it needs"
[[ $(dpkg-deb -f "$dir"/packages/tackle_*.deb Depends) == *"libtackle0.1 (= "* ]] ||
    fail "the command does not need the library, which has the text"

libdir=$(dirname "$(find "$dir/root" -name 'libtackle.so.0.1')")
[ "$("$dir/root/usr/bin/tackle" version)" = "tackle $(cat "$TACKLE_SOURCE/VERSION")" ] ||
    fail "the command does not run"
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
eval "flags=($(pkg-config --cflags --libs tackle))" # it escapes blanks for a shell
cc "$TACKLE_SOURCE/tests/install/use.c" -o "$dir/use" "${flags[@]}"
LD_LIBRARY_PATH=$libdir "$dir/use" | grep -q hello || fail "a program does not run"
[ -e "$dir/root/usr/share/man/man1/tackle-queue.1" ] || fail "no manual"
echo "ok: packages"
