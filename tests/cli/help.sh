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
while read -r component verb; do
    ends 0 tackle $component $verb --help
    text=$out
    is "nothing on stderr" "$err" ""
    has "$text" "Usage: tackle $component${verb:+ $verb}"
    has "$text" $'\nExample\n  '
    ends 0 tackle help $component $verb
    is "help $component $verb" "$out" "$text"
    has "$everything" $'\n'"  $component "
    ((++count))
done < <(every_verb)
((count >= 8)) || fail "only $count verbs were found"

# Help comes before complaints: it is what the user needs then.
ends 0 tackle call --help
ends 0 tackle server start --help --durability none
ends 0 tackle server --help
has "$out" "status"

# No line is wider than a terminal, no secret or colour is in it.
lacks "$everything" $'\033'
while read -r component verb; do
    tackle help $component $verb | awk -v what="$component $verb" \
        'length > 90 { print "too long in help " what ": " $0; bad = 1 } END { exit bad }' || exit 1
done < <(every_verb)

ends 0 tackle version
is "version" "$out" "tackle $(cat "$TACKLE_SOURCE/VERSION")"
ends 0 tackle --version
is "--version" "$out" "tackle $(cat "$TACKLE_SOURCE/VERSION")"
ends 0 tackle server --version
has "$out" "tackle "
