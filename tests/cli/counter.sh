#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle counter`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

sum() { jq "[.[].counts[0]] | add"; }

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
is "days" "$(jq -c '[.[].time | test("^20[0-9-]+T00:00:00.000Z$")] | unique' <<<"$out")" '[true]'
is "one shape" "$(jq -c '[.[] | keys_unsorted] | unique' <<<"$out")" '[["time","counts"]]'
ends 0 tackle counter series hits
is "lines for people" "$(wc -l <<<"$out")" 120
[[ $(tail -1 <<<"$out") =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.000Z\ \ [0-9-]+$ ]] || fail "a line: $out"
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
is "own" "$(jq -c '[length, ([.[].counts[0]] | add)]' <<<"$out")" '[5,3]'
ends 0 tackle counter series own --every 250ms
has "$out" "."
ends 64 tackle counter add own 3 --every 1s

# Ranges. A past is asked for: a time of day is the last one, and there are words.
for from in "$(date -d '-10 min' +%H:%M)" "10m ago" "yesterday 14:00" "$(date -d yesterday +%F)" \
    "$(date -d '-10 min' '+%F %H:%M')" "$(date -u -d '-10 min' +%FT%TZ)" "$(date -d '-10 min' +%FT%T%:z)"; do
    ends 0 tackle counter series hits --every 1m --from "$from" --json
    [ "$(jq 'map(.counts[0]) | add' <<<"$out")" -gt 0 ] || fail "from $from: $out"
done
ends 0 tackle counter series hits --every 1m --from "10m ago"
[[ ${out##*$'\n'} =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.000Z\ \ -?[0-9]+$ ]] || fail "series: $out"
ends 0 tackle counter series hits --every 1m --from "${out%% *}" --json
ends 0 tackle counter series hits --every 1m --from "@$(($(date +%s) - 600))" --json
[ "$(jq length <<<"$out")" -le 12 ] || fail "too many: $out"
ends 64 tackle counter series hits --from @2000 --to @1000

# Several counters: one row for each time, a column for each of them.
odd='odd, "name"'
ends 0 tackle counter add "$odd" 7 --every 1d,1h --samples 3
ends 0 tackle counter series hits "$odd" --every 1d --json
is "rows" "$(jq -c '[(map(.counts | length) | unique), .[0].counts[1], .[-1].counts[1]]' <<<"$out")" '[[2],null,7]'
hits=$(jq '.[-1].counts[0]' <<<"$out")
ends 0 tackle counter series hits "$odd" --every 1d --csv
is "header" "$(head -1 <<<"$out" | tr -d '\r')" 'time,hits,"odd, ""name"""'
[[ $(tail -1 <<<"$out" | tr -d '\r') =~ ^20[0-9-]+T00:00:00.000Z,$hits,7$ ]] || fail "csv: $out"
[[ $(sed -n 2p <<<"$out" | tr -d '\r') =~ ,0,$ ]] || fail "not kept: $out"
ends 0 tackle counter series hits "$odd" --every 1d --plot
is "two plots" "$(grep -c '┼' <<<"$out")" 2
has "$out" "$odd"
ends 0 tackle counter series hits "$odd" --every 1h
has "$out" "$odd"
ends 1 tackle counter series hits none --every 1d
if command -v script >/dev/null; then
    unsafe=$'un\xc2\x9bsafe'
    tackle counter add "$unsafe"
    line=$(script -qec "tackle counter series $unsafe --csv" /dev/null </dev/null | head -n 1)
    is "a name on a terminal" "${line%%$'\r'*}" 'time,un\xc2\x9bsafe'
    tackle counter drop "$unsafe" --yes
fi
ends 64 tackle counter series hits --csv --plot

# Lines for Graphite.
ends 0 tackle counter add 'a.b /ü' 5
ends 0 tackle counter series 'a.b /ü' --every 1h --graphite
[[ $(tail -n 1 <<<"$out") =~ ^tackle\.counter\.a_b____\ 5\ [0-9]+$ ]] || fail "graphite: $out"
is "times are whole hours" "$(awk '$3 % 3600 != 0' <<<"$out")" ""
ends 64 tackle counter series hits --graphite --csv
ends 64 tackle counter series hits --graphite --plot
ends 64 tackle counter series hits --graphite --json
ends 64 tackle counter series hits --graphite --every 250ms
ends 1 tackle counter series nothing --graphite
ends 0 tackle counter drop 'a.b /ü' --yes
ends 0 tackle counter drop "$odd" --yes

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

# Events of earlier times.
ends 0 tackle counter add past 5 --at "yesterday 12:00"
ends 0 tackle counter add past --at "10m ago"
ends 0 tackle counter series past --every 1d --json
is "of two days" "$(sum <<<"$out")" 6
ends 0 tackle counter series past --every 1m --json
is "minutes of yesterday are gone" "$(sum <<<"$out")" 1
clf=$(LC_ALL=C date -u -d '-2 hours' '+%d/%b/%Y:%T +0000')
out=$(printf '[%s]\n%s\n%s 3\n@%s 2\n\n' "$clf" "$clf" "$clf" "$(date -d '-2 hours' +%s)" |
    tackle counter add lines --lines --json)
is "lines" "$(jq -c . <<<"$out")" '{"name":"lines","added":7}'
ends 0 tackle counter series lines --every 5m --json
is "sum of lines" "$(sum <<<"$out")" 7
for at in "2001-01-01" "tomorrow 12:00" x ""; do
    ends 64 tackle counter add past --at "$at"
done
ends 64 tackle counter add past --at "2001-01-01"
has "$err" "--at: the counter keeps no slices of a time so long ago"
ends 64 tackle counter add past 3 --lines
ends 64 tackle counter add past --lines --at now
ends 64 bash -c 'echo @1000000000 | "$TACKLE" counter add past --lines'
has "$err" "so long ago"
ends 64 bash -c 'printf "now\nnonsense\n" | "$TACKLE" counter add new --lines'
has "$err" "line 2"
ends 1 tackle counter series new
