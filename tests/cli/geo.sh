#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle geo`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "add" "$(tackle geo add cities 13.405 52.52 berlin 9.993 53.551 hamburg -0.1276 51.507 london)" 3
is "move" "$(tackle geo add cities 13.4 52.5 berlin --json)" '{"added": 0}'
is "dist" "$(tackle geo distance cities berlin hamburg --unit km | cut -c1-3)" 256
ends 0 tackle geo distance cities berlin hamburg --json
is "dist in metres" "$(jq '.distance | floor' <<<"$out" | cut -c1-3)" 256
ends 1 tackle geo distance cities berlin atlantis
ends 0 tackle geo positions cities berlin london --json
is "pos" "$(jq -c 'map([.name, (.longitude * 10 | round), (.latitude | round)])' <<<"$out")" \
    '[["berlin",134,53],["london",-1,52]]'
ends 0 tackle geo add spots 113.20990 35 a 113.21010 35 b
ends 0 tackle geo positions spots a b
is "positions have 7 decimals" "$(awk 'NR > 1 { printf "%.4f %d ", $2, length($2) }' <<<"$out")" \
    '113.2099 11 113.2101 11 '
ends 0 tackle geo drop spots --yes
ends 1 tackle geo positions cities atlantis --json
is "no pos" "$(jq -c '.[0].longitude' <<<"$out")" null
is "hash" "$(tackle geo hashes cities hamburg --json | jq -r '.[0].geohash[:5]')" u1x0e
ends 1 tackle geo hashes cities atlantis

ends 0 tackle geo near cities berlin --radius 300 --unit km
is "near" "$(awk 'NR > 1 { print $1 }' <<<"$out" | paste -sd ' ')" "berlin hamburg"
ends 0 tackle geo near cities 10 53 --radius 1000 --unit mi --max 2 --json
is "near a point" "$(jq -c 'map(.name)' <<<"$out")" '["hamburg","berlin"]'
is "fields" "$(jq -c '.[0] | keys_unsorted' <<<"$out")" \
    '["name","distance","longitude","latitude","hash"]'
ends 0 tackle geo near cities -1 51 --box 300x300 --unit km --farthest --json
is "west of Greenwich" "$(jq -c 'map(.name)' <<<"$out")" '["london"]'
is "count" "$(tackle geo near cities berlin --radius 300 --unit km --count)" 2
ends 1 tackle geo near cities atlantis --radius 300 --unit km
ends 1 tackle geo near nowhere atlantis --radius 300 --unit km
ends 64 tackle geo near cities '' --radius 300 --unit km # not the point 0 0
is "within" "$(tackle geo within cities u3 --json | jq -c '[.[].name]')" '["berlin"]'
is "within one" "$(tackle geo within cities u --max 1 --json | jq length)" 1
ends 0 tackle geo within cities s
for wrong in "within cities" "within cities a" "within cities u33dc0u33dc" "within cities u --max 0" \
    "encode 1" "encode x 1" "encode 181 1" "encode 1 1 --length 12" "encode 1 1 --length 0" \
    "decode a" "neighbours ''"; do
    ends 64 tackle geo $wrong
done
is "encode" "$(tackle geo encode -5.6 42.6 --length 5)" ezs42
is "encode as JSON" "$(tackle geo encode 13.405 52.52 --json | jq -r .geohash)" u33dc0cppjs
is "decode" "$(tackle geo decode ezs42 --json | jq -c '[.longitude, .latitude, .west] | map(. * 1000 | floor)')" '[-5604,42604,-5625]'
is "neighbours" "$(tackle geo neighbours dqcjq --json | jq -r '.[0, 1, 6].geohash' | xargs)" "dqcjw dqcjx dqcjm"
is "no neighbour" "$(tackle geo neighbours bpb --json | jq -c '.[0]')" '{"side":"north","geohash":null}'
is "remove" "$(tackle geo remove cities berlin atlantis)" 1
is "count as JSON" "$(tackle geo near cities hamburg --radius 1 --count --json)" '{"count": 1}'
is "list" "$(tackle geo list)" $'NAME\ncities'
ends 64 tackle geo drop cities
ends 0 tackle geo drop cities --yes --json
ends 1 tackle geo drop cities --yes
ends 0 tackle geo add brief 1 2 a --ttl 1h
is "expires" "$(tackle call TTL 'tackle:geo:{brief}')" 3600

for wrong in "add cities 1 2" "add cities x 2 a" "add cities 0 90 pole" "near cities a" \
    "near cities a --radius 1 --box 1x1" "near cities a --box 1" "near cities a --radius far" \
    "near cities a --radius 0" "distance cities a b --unit parsec" "near cities a --radius 1 --max 0"; do
    ends 64 tackle geo $wrong
done

# The permissions that the page names are enough.
become places geo.md
for verb in "add acl 1 2 a 3 4 b --ttl 1h" "distance acl a b" "positions acl a" "hashes acl a" \
    "within acl s" "near acl a --radius 5" "near acl a --radius 5 --count" "remove acl b" list "drop acl --yes"; do
    ends 0 tackle geo $verb
done
ends 77 tackle call GET x
