#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle board`: leaderboards from the shell.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/hold.bash"
start_server

order() { jq -r 'map(.member) | join(" ")' <<<"$out"; }

ends 0 tackle board add chess alice 12 bob 15 carol 12
is "changed" "$out" 3
ends 0 tackle board top chess --json
is "by score, then by time" "$(order)" "bob alice carol"
yields '.[0] | [.rank, .member, .score]' '[1,"bob",15]'
[[ $(jq -r '.[0].reached_at' <<<"$out") =~ ^20..-..-..T ]] || fail "reached: $out"
ends 0 tackle board add chess carol 2 dave -5 --json
yields . '{"name":"chess","changed":2}'
ends 0 tackle board around chess carol --before 1 --after 1 --json
is "around" "$(order)" "bob carol alice"
ends 0 tackle board rank chess dave alice nobody alice --json
is "friends" "$(order)" "alice dave"
yields 'map(.rank)' '[3,4]'
ends 0 tackle board top chess --first 3 --max 1 --json
is "a page" "$(order)" alice
ends 0 tackle board count chess
is "count" "$out" 4
ends 0 tackle board remove chess dave nobody
is "removed" "$out" 1
ends 1 tackle board around chess dave
ends 1 tackle board rank chess dave --json
ends 0 tackle board best race a 61.5 b 60 --order lower
ends 0 tackle board best race a 60 b 70
is "one is better" "$out" 1
ends 0 tackle board top race --json
is "lower is better" "$(order)" "b a"
ends 0 tackle board set digits a 9007199254740991 b 61.537 c -3 d 1e300
ends 0 tackle board top digits --json
yields 'map(.score)[1:]' '[9007199254740991,61.537,-3]'
is "all digits of a whole number" "$(grep -o 9007199254740991 <<<"$out")" 9007199254740991
ends 0 tackle board top digits
[[ $out == *" 1e+300 "* ]] || fail "a large score in a table: $out"
ends 0 tackle board drop digits --yes

# ---- Seasons ------------------------------------------------------------------------------------------

ends 0 tackle board set quiz amy 1 --per week --zone Europe/Berlin --keep 3
ends 0 tackle board set quiz bob 2
ends 0 tackle board seasons quiz --json
yields 'length' 1
season=$(jq -r '.[0]' <<<"$out")
ends 0 tackle board top quiz --season "$season" --json
is "by its day" "$(order)" "bob amy"
ends 0 tackle board top quiz --season previous --json
yields 'length' 0
ends 0 tackle board list --json
yields 'map(.name)' '["chess","quiz","race"]'

# ---- Wrong ---------------------------------------------------------------------------------------------

ends 64 tackle board add chess alice
ends 64 tackle board add chess alice much
ends 64 tackle board add chess alice nan
ends 64 tackle board add chess alice 1 --per day
has "$err" "other settings"
ends 64 tackle board add new alice 1 --zone Europe/Berlin
ends 64 tackle board add new alice 1 --per day --keep 0
ends 64 tackle board top chess --max 501
ends 64 tackle board top chess --season someday
ends 64 tackle board top chess --season previous
ends 64 tackle board drop chess
ends 0 tackle board drop chess --yes --json
ends 1 tackle board drop chess --yes
