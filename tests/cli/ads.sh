#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle ads`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

# What 1000 views earn, by plain rates.
ends 0 tackle ads ecpm --type cpc --price 0.25 --views 1000 --events 2
is "a click" "$out" "eCPM  0.50"
ends 0 tackle ads ecpm --type cpa --price 3 --views 10000 --events 2 --json
is "an action" "$(jq '.ecpm == 0.6' <<<"$out")" true
ends 0 tackle ads ecpm --type cpm --price 1.5
is "views" "$out" "eCPM  1.50"
ends 64 tackle ads ecpm --type cpc --price 0.25
ends 64 tackle ads ecpm --type cpc --price 0.25 --views 10 --events -1

ends 0 tackle ads add site shoes --type cpc --price 0.25 --location Berlin,Germany 'light running shoes' --json
is "added" "$(jq -c . <<<"$out")" '{"name":"site","added":1}'
echo 'a phone for gamers' |
    tackle ads add site phone --type cpa --price 3 --location Germany --location Austria \
        --require age=18-24,25-34 --require os=iOS --budget 20/day - || fail "add from stdin"
ends 0 tackle ads add site tea --type cpm --price 0.2 --location Germany

# Targets, with their reasons.
ends 0 tackle ads target site --location Berlin,Germany 'Running along the river' --json
is "target" "$(jq -c '[keys, .ad, .score, (.why | [.type, .base, .bonus == 0, .location, .words[0].word, .trips])]' <<<"$out")" \
    '[["ad","score","target","why"],"shoes",0.25,["cpc",0.25,true,"berlin","running",1]]'
target=$(jq -r .target <<<"$out")
is "no words" "$(tackle ads target site --location Germany --json </dev/null | jq -r .ad)" shoes
is "viewer" "$(tackle ads target site --location Vienna,Austria --viewer AGE=18-24 --viewer os=ios --json | jq -r .ad)" phone
ends 1 tackle ads target site --location Austria --viewer age=18-24
has "$err" "no ad fits"
ends 1 tackle ads target site --location Atlantis --json
is "none" "$(jq -r .error <<<"$err")" TKL_EMPTY
ends 1 tackle ads target nothing --location Berlin
ends 0 tackle ads target site --location Berlin
has "$out" "score"

is "spaces" "$(tackle ads target site --location 'Vienna, Austria, Berlin' --json | jq -r .why.location)" berlin
ends 64 tackle ads target site --location Berlin --keep 0

# Clicks and actions, each once.
ends 0 tackle ads click site "$target" --json
is "counted" "$(jq -c . <<<"$out")" '{"name":"site","counted":true}'
ends 1 tackle ads click site "$target"
has "$err" "before"
ends 0 tackle ads click site "$target" --action
ends 1 tackle ads click site "$target" --action --json
is "again" "$(jq -r .error <<<"$err")" TKL_EXISTS
ends 1 tackle ads click site 00000000000000000000000000000000
ends 1 tackle ads click site nonsense
ends 1 tackle ads click other "$target"

# Explanations.
ends 0 tackle ads explain site phone --location Berlin --json
is "no location" "$(jq -c '[.shown, .why.location]' <<<"$out")" '[false,null]'
ends 0 tackle ads explain site phone --location Germany --viewer age=99 --viewer os=ios
has "$out" "requires: age"
is "fits" "$(tackle ads explain site phone --location Germany --viewer age=18-24 --viewer os=ios gamers --json |
    jq -c '[.shown, .reason, .until, .score == 3]')" '[true,null,null,true]'
ends 1 tackle ads explain site nothing --location Germany

# What was counted.
is "show" "$(tackle ads show site shoes --json | jq -c '[.type,.price,.budget,.locations,.requires,.views,.clicks,.actions,.spent]')" \
    '["cpc",0.25,null,["berlin","germany"],[],4,1,1,0.25]'
is "rates" "$(tackle ads show site shoes --json | jq -c '[.click_rate,.action_rate]')" '[0.25,0.25]'
is "rates of words" "$(tackle ads report site --words --json | jq -c '[.[] | .click_rate == 1,.action_rate == 1]')" '[true,true]'
is "no views" "$(tackle ads report site --json | jq -c '[.[] | select(.ad == "tea") | .click_rate,.action_rate]')" '[null,null]'
is "requires" "$(tackle ads show site phone --json | jq -c '[.requires,.budget == 20,.spent_today == 0,.until]')" \
    '[[{"kind":"age","values":["18-24","25-34"]},{"kind":"os","values":["ios"]}],true,true,null]'
ends 0 tackle ads show site phone
has "$out" "budget a day"
has "$out" "germany, austria"
has "$out" "age=18-24,25-34, os=ios"
ends 1 tackle ads show site nothing
is "report" "$(tackle ads report site --json | jq -c '[.[].ad]')" '["phone","shoes","tea"]'
is "best and worst" "$(tackle ads report site --best 1 --worst 1 --json | jq -c '[.[].ad]')" '["phone","tea"]'
is "words" "$(tackle ads report site shoes --json | jq -c '[.[].word]')" '["running","light","shoes"]'
is "worst word" "$(tackle ads report site shoes --worst 1 --json | jq -c '[.[].word]')" '["shoes"]'
is "all words" "$(tackle ads report site --words --json | jq -c '[.[] | [.word, .clicks, .spent]]')" '[["running",1,0.25]]'
is "no ads" "$(tackle ads report nothing --json)" '[]'
ends 0 tackle ads report site
has "$out" ECPM
has "$out" "ACTION RATE"
ends 0 tackle ads add dear car --type cpc --price 123456.789012 --location Germany
ends 0 tackle ads report dear
has "$out" "123456.789012"
is "money in full" "$(tackle ads show dear car | awk '$1 == "price" { print $2 }')" 123456.789012
ends 0 tackle ads drop dear --yes
is "stats" "$(tackle ads stats site --json | jq -c '[.ads,.closed,.smoothing,.actions_per_1k]')" '[3,0,1000,0.999000999000999]'
ends 1 tackle ads stats nothing

# Addresses.
printf 'geoname_id,city_name,subdivision_1_name,country_name,country_iso_code\n1,Berlin,Berlin,Germany,DE\n' >"$home/places"
printf 'network,geoname_id\n192.0.2.0/24,1\n' >"$home/blocks"
tackle ip import geo --places "$home/places" --blocks "$home/blocks" >/dev/null || fail "import"
is "address" "$(tackle ads target site --ip 192.0.2.7 --table geo --json | jq -c '[.ad,.why.location]')" '["shoes","berlin"]'
ends 1 tackle ads target site --ip 198.51.100.1 --table geo
has "$err" "no known place"
ends 1 tackle ads target site --ip 192.0.2.7 --table nothing
ends 64 tackle ads target site --ip nonsense --table geo
ends 64 tackle ads target site --ip 192.0.2.7

# Bad arguments.
for price in -1 nan inf 1e3 0.0000001 1,5 '' x 99999999999; do
    ends 64 tackle ads add site bad --type cpc --price="$price" --location Berlin
done
for budget in 0 -1 x 0/day 1/hour nan; do
    ends 64 tackle ads add site bad --type cpc --price 0.1 --location Berlin --budget="$budget"
done
ends 64 tackle ads add site bad --type cpc --price 1 --location Berlin --budget 20/hour
has "$err" "for a day: 20/day"
ends 64 tackle ads add site bad --type cpc --price 1000000.1 --location Berlin
has "$err" "at most 1000000"
ends 64 tackle ads add site bad --type cpc --price 2 --location Berlin --budget 1/day
has "$err" "one click"
ends 64 tackle ads add site bad --type cpm --price 0.0001 --location Berlin
ends 64 tackle ads add site bad --type cpx --price 1 --location Berlin
ends 64 tackle ads add site bad --type cpc --location Berlin
ends 64 tackle ads add site bad --type cpc --price 1
ends 64 tackle ads add site bad --type cpc --price 1 --location ,
ends 64 tackle ads add site bad --type cpc --price 1 --location Berlin --require age
ends 64 tackle ads add site bad --type cpc --price 1 --location Berlin --require age=,
ends 64 tackle ads add site bad --type cpc --price 1 --location Berlin --require age=1 --require AGE=2
ends 64 tackle ads add site bad --type cpc --price 1 --location Berlin --smoothing 7
has "$err" "another smoothing"
ends 64 tackle ads target site
ends 64 tackle ads target site --location Berlin --viewer age
ends 64 tackle ads report site shoes --words
ends 64 tackle ads report site --best -1
ends 1 tackle ads show site bad

# Plain rates are a setting of a new set.
ends 0 tackle ads add plain a --type cpc --price 0 --location Berlin --smoothing 0
is "plain" "$(tackle ads stats plain --json | jq -c .smoothing)" null
# Exploring is a setting that an add changes.
is "explore" "$(tackle ads stats plain --json | jq -c .explore)" 100
ends 0 tackle ads add plain a --type cpc --price 1 --location Berlin --explore 0
is "explore" "$(tackle ads stats plain --json | jq -c .explore)" 0
is "no bound" "$(tackle ads show plain a --json | jq -c '.bound == .ecpm')" true
ends 0 tackle ads add plain a --type cpc --price 1 --location Berlin --explore 200
is "explore" "$(tackle ads stats plain --json | jq -c .explore)" 200
is "bound" "$(tackle ads report plain --json | jq -c '.[0] | .bound > .ecpm')" true
is "rank" "$(tackle ads target plain --location Berlin --json | jq -c '.why.rank > .score')" true
ends 64 tackle ads add plain a --type cpc --price 1 --location Berlin --explore 1001
ends 64 tackle ads add plain a --type cpc --price 1 --location Berlin --explore -1
is "list" "$(tackle ads list --json)" '[{"name": "plain"}, {"name": "site"}]'
is "removed" "$(tackle ads remove site tea nothing --json | jq -c .)" '{"name":"site","removed":1}'
is "removed" "$(printf 'phone\n' | tackle ads remove site --lines)" 1
ends 64 tackle ads remove site
ends 64 tackle ads drop plain
ends 0 tackle ads drop plain --yes
ends 1 tackle ads drop plain --yes

# The permissions that docs/ads.md names are enough.
mapfile -t rules < <(sed -n '/^ACL SETUSER/,/^```/{/^```/d; s/^ *//; p}' "$TACKLE_SOURCE/docs/ads.md" | tr ' ' '\n')
tackle call "${rules[@]}" >/dev/null
socket=$(tackle server status --json | jq -r .socket)
export TACKLE_URL=unix://app@$socket TACKLE_PASSWORD=secret
for round in 1 2; do
    ends 0 tackle ads add acl a --type cpm --price 10 --location X --require k=v --budget 0.02 --ttl 1h "tea time $round"
done
ends 0 tackle ads add acl b --type cpc --price 1 --location X 'tea and more'
ends 0 tackle ads target acl --location X --viewer k=v tea
ends 0 tackle ads target acl --location X tea --json
ends 0 tackle ads click acl "$(jq -r .target <<<"$out")"
ends 0 tackle ads target acl --location X --viewer k=v tea
for verb in "show acl a" "report acl" "report acl --words" "stats acl" "explain acl a --location X" "list" \
    "remove acl a" "drop acl --yes"; do
    ends 0 tackle ads $verb
done
ends 77 tackle call GET x
