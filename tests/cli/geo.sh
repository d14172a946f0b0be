#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle geo`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "add" "$(tackle geo add cities 13.405 52.52 berlin 9.993 53.551 hamburg -0.1276 51.507 london)" 3
is "move" "$(tackle geo add cities 13.4 52.5 berlin --json)" 0
is "dist" "$(tackle geo dist cities berlin hamburg --unit km | cut -c1-3)" 256
ends 0 tackle geo dist cities berlin hamburg --json
is "dist in metres" "$(jq floor <<<"$out" | cut -c1-3)" 256
ends 1 tackle geo dist cities berlin atlantis
ends 0 tackle geo pos cities berlin london --json
is "pos" "$(jq -c 'map([.name, (.longitude * 10 | round), (.latitude | round)])' <<<"$out")" \
    '[["berlin",134,53],["london",-1,52]]'
ends 1 tackle geo pos cities atlantis --json
is "no pos" "$(jq -c '.[0].longitude' <<<"$out")" null
is "hash" "$(tackle geo hash cities hamburg --json | jq -r '.[0].hash[:5]')" u1x0e
ends 1 tackle geo hash cities atlantis

ends 0 tackle geo near cities berlin --radius 300
is "near" "$(awk 'NR > 1 { print $1 }' <<<"$out" | paste -sd ' ')" "berlin hamburg"
ends 0 tackle geo near cities 10 53 --radius 1000 --unit mi --limit 2 --json
is "near a point" "$(jq -c 'map(.name)' <<<"$out")" '["hamburg","berlin"]'
is "fields" "$(jq -c '.[0] | keys_unsorted' <<<"$out")" \
    '["name","distance","longitude","latitude","hash"]'
ends 0 tackle geo near cities -1 51 --box 300x300 --farthest --json
is "west of Greenwich" "$(jq -c 'map(.name)' <<<"$out")" '["london"]'
is "count" "$(tackle geo near cities berlin --radius 300 --count)" 2
ends 1 tackle geo near cities atlantis --radius 300
ends 1 tackle geo near nowhere atlantis --radius 300
ends 64 tackle geo near cities '' --radius 300 # not the point 0 0
is "remove" "$(tackle geo remove cities berlin atlantis)" 1
ends 0 tackle geo drop cities --json
ends 1 tackle geo drop cities

for wrong in "add cities 1 2" "add cities x 2 a" "add cities 0 90 pole" "near cities a" \
    "near cities a --radius 1 --box 1x1" "near cities a --box 1" "near cities a --radius far" \
    "near cities a --radius 0" "dist cities a b --unit parsec"; do
    ends 64 tackle geo $wrong
done
