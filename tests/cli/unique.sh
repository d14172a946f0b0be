#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle unique`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "add" "$(tackle unique add mon ann bob ann)" 2
is "lines" "$(printf 'bob\neve\n\nzoe' | tackle unique add tue --lines --json)" '{"count": 4}'
is "count" "$(tackle unique count mon)" 2
is "count of a union" "$(tackle unique count mon tue none --json)" '{"count": 5}'
is "count of nothing" "$(tackle unique count none)" 0
ends 0 tackle unique merge week mon tue --json
is "merged" "$(jq -c . <<<"$out")" '{"name":"week","merged":true}'
is "count of what was merged" "$(tackle unique count week)" 5
is "list" "$(tackle unique list --json | jq -c 'map(.name)')" '["mon","tue","week"]'
ends 64 tackle unique drop week
ends 0 tackle unique drop week --yes
ends 1 tackle unique drop week --yes
ends 0 tackle unique add brief ann --ttl 1h
is "expires" "$(tackle call TTL 'tackle:unique:{brief}')" 3600
ends 64 tackle unique add mon
ends 64 tackle unique merge mon
ends 64 tackle unique count
tackle call SADD 'tackle:unique:{set}' x >/dev/null
ends 70 tackle unique count set

# The permissions that the page names are enough.
become uniques sketches.md
for verb in "add acl a b --ttl 1h" "count acl mon" "merge acl mon --ttl 1h" list "drop acl --yes"; do
    ends 0 tackle unique $verb
done
ends 77 tackle call DEL x
