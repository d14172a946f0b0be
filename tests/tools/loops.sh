#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# No loop of a script depends on stored data alone: another program may have written it, and the
# server waits for the end of every script. A `for` ends by itself. A `while` or `repeat` must have
# its bound in its condition (a constant in capitals, or ARGV), or a comment of the lines before it
# must say how many rounds there are "at most".
set -u
cd "$TACKLE_SOURCE" || exit 1

check() {
    awk '
        function bounded(line) { return line ~ /[^a-z][A-Z][A-Z_]+/ }
        /^[ \t]*--/ && /[Aa]t most/ { said = NR }
        /^[ \t]*(while|repeat)[ \t]*/ && !/^[ \t]*--/ {
            loops++
            if (!bounded($0) && (!said || NR - said > 9)) {
                printf "%s:%d: no bound: %s\n", FILENAME, FNR, $0
                failed = 1
            }
        }
        FNR == 1 { said = 0 }
        END { print loops + 0 " loops"; exit failed }' "$@"
}

# The check finds what it is meant to find.
wrong=$(mktemp)
trap 'rm -f "$wrong"' EXIT
printf 'local at = 1\nwhile at do\n  at = next_of(at)\nend\n' >"$wrong"
check "$wrong" >/dev/null && { echo "the check finds nothing"; exit 1; }

check $(find src -name '*.lua' | sort)
