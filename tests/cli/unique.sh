#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle unique`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "add" "$(tackle unique add mon ann bob ann)" 2
is "lines" "$(printf 'bob\neve\n\nzoe' | tackle unique add tue --lines --json)" 4
is "count" "$(tackle unique count mon)" 2
is "count of a union" "$(tackle unique count mon tue none --json)" 5
is "count of nothing" "$(tackle unique count none)" 0
ends 0 tackle unique merge week mon tue --json
is "merged" "$(jq -c . <<<"$out")" '{"name":"week","merged":true}'
is "count of what was merged" "$(tackle unique count week)" 5
ends 0 tackle unique drop week
ends 1 tackle unique drop week
ends 64 tackle unique add mon
ends 64 tackle unique merge mon
ends 64 tackle unique count
tackle call SADD 'tackle:unique:{set}' x >/dev/null
ends 70 tackle unique count set
