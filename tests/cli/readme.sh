#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The README's examples work as they stand there.
set -euo pipefail

dir=$(mktemp -d /tmp/tackle-test.XXXXXX) # short: the path of a socket is limited
export XDG_DATA_HOME=$dir/data PATH=$TACKLE_BUILD:$PATH
unset TACKLE_URL
cleanup() {
    tackle server stop >/dev/null 2>&1 || true
    rm -rf "$dir"
}
trap cleanup EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# The first code block behind a heading.
block() {
    awk -v heading="## $1" '
        /^## / { inside = $0 == heading }
        inside && /^```/ { if (code++) exit; next }
        inside && code { print }' "$TACKLE_SOURCE/README.md"
}

block "From C" >"$dir/visits.c"
cc -Wall -Wextra -Werror ${TACKLE_SANITIZE:+"-fsanitize=$TACKLE_SANITIZE"} \
    "$dir/visits.c" -o "$dir/visits" \
    -I"$TACKLE_SOURCE/include" -I"$TACKLE_BUILD/include" -L"$TACKLE_BUILD" -ltackle
visits=$(LD_LIBRARY_PATH=$TACKLE_BUILD "$dir/visits") || fail "the C example does not run"
[ "$visits" = "2 visits" ] || fail "the C example says '$visits'"

block "From the shell" >"$dir/shell.sh"
said=$(bash -euo pipefail "$dir/shell.sh") || fail "the shell example stops: $said"
grep -qx '.*hello.*' <<<"$said" || fail "the shell example says '$said'"
echo "readme: all good"
