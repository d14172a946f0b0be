#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Help at every depth, the same by every way to it.
. "$(dirname "$0")/lib.bash"

ends 0 tackle --help
everything=$out
has "$everything" "Usage: tackle"
is "help is not an error" "$err" ""
ends 0 tackle help
is "help and --help" "$out" "$everything"
ends 0 tackle -h
is "-h and --help" "$out" "$everything"
ends 64 tackle
is "nothing to do: help is an error" "$err" "$everything"
is "and nothing is on stdout" "$out" ""

count=0
mkdir "$home/help"
while read -r component verb; do
    ends 0 tackle $component $verb --help
    text=$out
    is "nothing on stderr" "$err" ""
    has "$text" "Usage: tackle $component${verb:+ $verb}"
    has "$text" $'\nExample\n  '
    ends 0 tackle help $component $verb
    is "help $component $verb" "$out" "$text"
    has "$everything" $'\n'"  $component "
    printf '%s\n' "$text" >"$home/help/$component${verb:+ $verb}"
    ((++count))
done < <(every_verb)
((count >= 8)) || fail "only $count verbs were found"

# Help comes before complaints: it is what the user needs then.
ends 0 tackle call --help
ends 0 tackle server start --help --durability none
ends 0 tackle server --help
has "$out" "status"

# No line is wider than a terminal, no secret or colour is in it. Each option's line stands alone: it
# says what is meant, and writes a default as "(default 5s)".
lacks "$everything" $'\033'
awk '
    FNR == 1 { inside = 0 }
    length > 90 { print "too long in the help of " FILENAME ": " $0; bad = 1 }
    /^Options/ { inside = 1; next }
    /^$/ { inside = 0 }
    !inside || !/^  --/ { next }
    { text = $0; sub(/^  --[^ ]+( [^ ]+)?  +/, "", text) }
    text ~ /^(of|default|with their|those|in a|as) / || text ~ /, default|see above|so long/ ||
    text ~ /\(([0-9]+[a-z]*|now|UTC|\$[A-Z_]+)\)$/ {
        print "not clear by itself in the help of " FILENAME ": " $0; bad = 1 }
    END { exit bad }' "$home"/help/* || exit 1

ends 0 tackle version
is "version" "$out" "tackle $(cat "$TACKLE_SOURCE/VERSION")"
ends 0 tackle --version
is "--version" "$out" "tackle $(cat "$TACKLE_SOURCE/VERSION")"
ends 0 tackle server --version
has "$out" "tackle "
