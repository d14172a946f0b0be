#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The Debian packages: unpacked together into an empty folder they give a command that runs, a
# library that programs link with, and the manual; and they name their dependencies.
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

(umask 077 && cpack -G DEB --config "$TACKLE_BUILD/CPackConfig.cmake" -B "$dir/packages") \
    >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
for package in "$dir"/packages/*.deb; do
    closed=$(dpkg-deb -c "$package" | grep -v '^d......r.x\|^[-l]......r' || true)
    [ -z "$closed" ] || fail "not every user may read: $closed"
    dpkg-deb -x "$package" "$dir/root"
done
names=$(for package in "$dir"/packages/*.deb; do dpkg-deb -f "$package" Package; done | tr '\n' ' ')
[ "$names" = "libtackle-dev libtackle0.1 python3-tackle tackle " ] || fail "the packages are $names"
[[ $(dpkg-deb -f "$dir"/packages/libtackle0.1_*.deb Depends) == *libhiredis* ]] ||
    fail "the library does not say what it needs"
[[ $(dpkg-deb -f "$dir"/packages/tackle_*.deb Depends) == *"libtackle0.1 (= "* ]] ||
    fail "the command does not need the library, which has the text"
[[ $(dpkg-deb -f "$dir"/packages/tackle_*.deb Recommends) == *libedit2* ]] ||
    fail "the command does not recommend libedit2, which it loads"

libdir=$(dirname "$(find "$dir/root" -name 'libtackle.so.0.1')")
[ "$("$dir/root/usr/bin/tackle" version)" = "tackle $(cat "$TACKLE_SOURCE/VERSION")" ] ||
    fail "the command does not run"
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
eval "flags=($(pkg-config --cflags --libs tackle))" # it escapes blanks for a shell
cc "$TACKLE_SOURCE/tests/install/use.c" -o "$dir/use" "${flags[@]}"
LD_LIBRARY_PATH=$libdir "$dir/use" | grep -q hello || fail "a program does not run"
(cd / && LD_LIBRARY_PATH=$libdir PYTHONPATH=$dir/root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 -c 'import tackle; print(tackle.Client("embedded:").call("PING"))') |
    grep -q PONG || fail "the Python package does not run"
share=$dir/root/usr/share
for file in man/man1/tackle-queue.1.gz man/man3/libtackle.3.gz man/man3/tackle.3.gz \
    zsh/vendor-completions/_tackle bash-completion/completions/tackle doc/tackle/docs/{,zh/}lock.md \
    doc/{tackle,libtackle0.1,libtackle-dev,python3-tackle}/{copyright,changelog.Debian.gz}; do
    [ -e "$share/$file" ] || fail "no $file"
done
for section in SYNOPSIS EXAMPLES; do
    for page in "$share"/man/man[13]/*.gz; do
        text=$(gzip -dc "$page")
        [[ $text == ".so "* || $text == *".SH $section"* ]] || fail "$page has no $section"
    done
done
dpkg-deb --ctrl-tarfile "$dir"/packages/libtackle0.1_*.deb | tar xO ./shlibs |
    grep -q '^libtackle 0.1 libtackle0.1 ' || fail "no shlibs"

# Debian's checker, where it is installed, finds no error.
if command -v lintian >/dev/null; then
    allow=()
    [ "$(id -u)" -ne 0 ] || allow=(--allow-root)
    lintian --fail-on error "${allow[@]}" "$dir"/packages/*.deb >"$dir/lintian" 2>&1 ||
        fail "$(cat "$dir/lintian")"
    echo "ok: packages, without errors for lintian"
else
    echo "ok: packages; lintian is not here, so that part is skipped"
fi
