#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The manual that the build wrote has every verb, and man(1) finds nothing wrong with it.
. "$(dirname "$0")/lib.bash"
pages=$TACKLE_BUILD/man

while read -r component verb; do
    grep -qF "tackle $component${verb:+ ${verb//-/\\-}}" "$pages/tackle-$component.1" ||
        fail "$component $verb is missing"
    grep -qF "tackle\\-$component" "$pages/tackle.1" || fail "tackle.1 does not name $component"
done < <(every_verb)

for page in "$pages"/tackle-*.1; do
    for section in NAME SYNOPSIS COMMANDS EXAMPLES; do
        grep -qx "\.SH $section" "$page" || fail "$page has no $section"
    done
done

if command -v man >/dev/null; then
    for page in "$pages"/*.1; do
        is "warnings of $page" \
            "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 >/dev/null)" ""
    done
    text=$(LC_ALL=C.UTF-8 MANWIDTH=80 man -l "$pages/tackle.1" | sed 's/.\x08//g')
    has "$text" "TACKLE_URL"
fi
