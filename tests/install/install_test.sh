#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# An installation works: a program is compiled, linked and run against a temporary prefix, from C
# and from C++, by pkg-config alone and by CMake's find_package, shared and static; and the library
# shows no symbols but its own. It can also be removed again.
set -euo pipefail

prefix=$(mktemp -d "/tmp/tackle install.XXXXXX")
trap 'rm -rf "$prefix"' EXIT
use=$TACKLE_SOURCE/tests/install/use.c
expected="hello from tackle $(cat "$TACKLE_SOURCE/VERSION")"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

says_hello() {
    local how=$1 output
    shift
    output=$("$@") || fail "$how: does not run"
    [ "$output" = "$expected" ] || fail "$how: '$output' instead of '$expected'"
    echo "ok: $how"
}

cmake --install "$TACKLE_BUILD" --prefix "$prefix" >/dev/null
libdir=$(dirname "$(find "$prefix" -name libtackle.so)")
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
warnings=(-Wall -Wextra -Werror)

# flags NAME ARGUMENTS...: makes an array of pkg-config's output, which escapes blanks for a shell.
flags() {
    eval "$1=($(pkg-config "${@:2}"))"
}
flags compile --cflags tackle
flags link --cflags --libs tackle
flags below --libs $(pkg-config --print-requires-private tackle)

# ---- pkg-config, in a folder with a blank -------------------------------------------------------

cc -std=c11 -pedantic "${warnings[@]}" "$use" -o "$prefix/c" "${link[@]}"
says_hello "C, pkg-config" "$prefix/c"

c++ -std=c++11 -pedantic "${warnings[@]}" -x c++ "$use" -o "$prefix/c++" "${link[@]}"
says_hello "C++, pkg-config" "$prefix/c++"

# libtackle is static, and the libraries that it needs are shared: --static would ask for every
# library below OpenSSL as well.
cc -pthread "$use" -o "$prefix/static" "${compile[@]}" "$libdir/libtackle.a" "${below[@]}"
says_hello "C, the static library" env -u LD_LIBRARY_PATH "$prefix/static"

# ---- CMake --------------------------------------------------------------------------------------

mkdir "$prefix/project"
cat >"$prefix/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(tackle 0.1 REQUIRED COMPONENTS static)
add_executable(shared ${USE})
target_link_libraries(shared PRIVATE tackle::tackle)
add_executable(static ${USE})
target_link_libraries(static PRIVATE tackle::static)
END
cmake -S "$prefix/project" -B "$prefix/project/build" -DUSE="$use" \
    -DCMAKE_PREFIX_PATH="$prefix" >"$prefix/log" 2>&1 || fail "$(cat "$prefix/log")"
cmake --build "$prefix/project/build" >"$prefix/log" 2>&1 || fail "$(cat "$prefix/log")"
says_hello "CMake, tackle::tackle" "$prefix/project/build/shared"
says_hello "CMake, tackle::static" env -u LD_LIBRARY_PATH "$prefix/project/build/static"

# ---- Text -----------------------------------------------------------------------------------------

# libtackle-text.so is found beside libtackle.so, by the installed command, and by a program with the
# static library where the linker looks; a program that does not find it gets an error that says so.
finds_text() {
    local how=$1 output
    shift
    output=$("$@" 2>&1) || fail "$how: $output"
    [ "$output" = Ängström ] || fail "$how: '$output'"
    echo "ok: text, $how"
}
text=$TACKLE_SOURCE/tests/install/text.c
cc "${warnings[@]}" "$text" -o "$prefix/text" "${link[@]}" -Wl,-rpath,"$libdir"
finds_text "the shared library" env -u LD_LIBRARY_PATH "$prefix/text"
cc -pthread "$text" -o "$prefix/text-static" "${compile[@]}" "$libdir/libtackle.a" \
    "${below[@]}" -lm -ldl
finds_text "the static library" "$prefix/text-static"
finds_text "the command" env -u LD_LIBRARY_PATH TACKLE_URL=embedded:"$prefix/server" sh -c \
    "'$prefix/bin/tackle' recent add ann Ängström && '$prefix/bin/tackle' recent complete ann än
    '$prefix/bin/tackle' server stop >/dev/null"
mkdir "$prefix/lone"
cp "$prefix/text-static" "$prefix/lone"
if output=$(env -u LD_LIBRARY_PATH "$prefix/lone/text-static" 2>&1); then
    echo "skipped: tackle is installed on this system, too"
else
    grep -q "text needs libtackle-text.so" <<<"$output" || fail "no word about what is missing: $output"
    echo "ok: text, the library is missing"
fi

# ---- Symbols ------------------------------------------------------------------------------------

foreign=$(nm -D --defined-only "$libdir/libtackle.so" | awk '$2 != "A" && $3 !~ /^tkl_[^_]/ { print $3 }')
[ -z "$foreign" ] || fail "the shared library shows" $foreign
readelf -d "$libdir/libtackle.so" | grep -q 'soname: \[libtackle\.so\.0\.1\]' || fail "soname"
! readelf -d "$libdir/libtackle.so" "$prefix/bin/tackle" | grep -qE 'NEEDED.*(icu|stemmer)' ||
    fail "programs without text load ICU"
echo "ok: symbols and soname"

# ---- Hardening ----------------------------------------------------------------------------------

for file in "$libdir/libtackle.so" "$libdir"/libtackle-text.so.* "$prefix/bin/tackle"; do
    facts=$(readelf -ldW "$file") symbols=$(nm -D "$file")
    [[ $facts == *GNU_RELRO* ]] || fail "$file: no RELRO"
    [[ $facts == *NOW* ]] || fail "$file: symbols are not bound at start"
    [[ $symbols == *__stack_chk_fail* ]] || fail "$file: no stack protector"
    [[ $symbols == *_chk@* ]] || fail "$file: not fortified"
done
# A program is marked for CET only where the objects of the C library are; tackle's always are.
[ "$(uname -m)" != x86_64 ] || [[ $(readelf -nW "$libdir/libtackle.a") == *"IBT, SHSTK"* ]] ||
    fail "no CET"
echo "ok: hardening"

# ---- As a part of another project ---------------------------------------------------------------

mkdir "$prefix/parent"
cat >"$prefix/parent/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(parent LANGUAGES C)
add_subdirectory(${TACKLE} tackle)
add_custom_target(objects)
add_executable(inside ${USE})
target_link_libraries(inside PRIVATE tackle::tackle)
END
cmake -S "$prefix/parent" -B "$prefix/parent/build" -DUSE="$use" -DTACKLE="$TACKLE_SOURCE" \
    >"$prefix/log" 2>&1 || fail "$(cat "$prefix/log")"
echo "ok: add_subdirectory"

# ---- Removal ------------------------------------------------------------------------------------

cp "$TACKLE_BUILD/install_manifest.txt" "$prefix/manifest"
mkdir "$prefix/fake" && cp "$prefix/manifest" "$prefix/fake/install_manifest.txt"
"$TACKLE_SOURCE/tools/uninstall" "$prefix/fake" >/dev/null 2>&1
for folder in bin include lib share; do
    left=$(find "$prefix/$folder" ! -type d -o -name tackle 2>/dev/null || true)
    [ -z "$left" ] || fail "uninstall leaves" $left
done
echo "ok: removal"
