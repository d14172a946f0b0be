#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle counter`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

sum() { jq "[.[][1]] | add"; }

ends 1 tackle counter series hits
ends 0 tackle counter add hits
is "quiet" "$out" ""
ends 0 tackle counter add hits 41 --json
is "json" "$(jq -c . <<<"$out")" '{"name":"hits","added":41}'
for every in 1s 5 1m 60 5m 1h 5h 1d; do
    ends 0 tackle counter series hits --every $every --json
    is "sum of $every" "$(sum <<<"$out")" 42
    is "samples" "$(jq length <<<"$out")" 120
done
ends 0 tackle counter add hits -- -2
ends 0 tackle counter series hits --every 1d --json
is "negative" "$(sum <<<"$out")" 40
is "whole seconds" "$(jq -c '[.[] | .[0] % 86400] | unique' <<<"$out")" '[0]'
ends 0 tackle counter series hits
is "lines for people" "$(wc -l <<<"$out")" 120
[[ $(tail -1 <<<"$out") =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}\ [0-9:]{8}\ \ [0-9-]+$ ]] || fail "a line: $out"
ends 64 tackle counter series hits --every 7s
has "$err" "precision"
ends 64 tackle counter series hits --every 0
ends 64 tackle counter series hits --every -5
ends 64 tackle counter add hits x
ends 64 tackle counter add hits 99999999999999999
ends 64 tackle counter add hits 1 --samples 0
ends 64 tackle counter add hits 1 --every 1s,x
for every in 1s,,5s , 1s, ""; do
    ends 64 tackle counter add none 1 --every "$every"
done

# Precisions of its own.
ends 0 tackle counter add own 3 --every 250ms,10s --samples 5
ends 0 tackle counter series own --every 10s --json
is "own" "$(jq -c '[length, ([.[][1]] | add)]' <<<"$out")" '[5,3]'
ends 0 tackle counter series own --every 250ms
has "$out" "."
ends 64 tackle counter add own 3 --every 1s

# Ranges.
ends 0 tackle counter series hits --every 1m --from "@$(($(date +%s) - 600))" --json
[ "$(jq length <<<"$out")" -le 12 ] || fail "too many: $out"
ends 64 tackle counter series hits --from @2000 --to @1000

# The plot fits the width, has axes, and shows something.
for width in 30 80 200; do
    COLUMNS=$width ends 0 tackle counter series hits --every 1d --plot
    is "lines" "$(wc -l <<<"$out")" 10
    while IFS= read -r line; do
        [ "$(printf %s "$line" | LC_ALL=C.UTF-8 wc -m)" -le $width ] ||
            fail "wider than $width: $line"
    done <<<"$out"
    has "$out" "█"
    has "$out" "┤"
    has "$out" "0 ┼──"
done
has "$(head -1 <<<"$out")" "40 ┤"
[[ $(tail -1 <<<"$out") =~ 20[0-9][0-9]-.*20[0-9][0-9]- ]] || fail "no times: $out"

ends 0 tackle counter list
is "list" "$out" $'NAME\nhits\nown'
ends 0 tackle counter list --json
is "list" "$(jq -c 'map(.name)' <<<"$out")" '["hits","own"]'
ends 0 tackle counter clean --json
is "clean" "$(jq -c 'keys' <<<"$out")" '["removed"]'
ends 0 tackle counter clean
has "$out" "removed"
ends 64 tackle counter drop hits
ends 0 tackle counter drop hits --yes --json
is "drop" "$(jq -c . <<<"$out")" '{"name":"hits","dropped":true}'
ends 1 tackle counter drop hits --yes
tackle call SET 'tackle:counter:{s}' x >/dev/null
ends 70 tackle counter add s
