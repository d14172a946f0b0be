#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle session: logging in and out, and viewed items.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle session create alice
alice=$out
[[ $alice =~ ^[0-9a-f]{32}$ ]] || fail "the token is '$alice'"
ends 0 tackle session create bob --ttl 1h --json
bob=$(jq -r .token <<<"$out")
is "user" "$(jq -r .user <<<"$out")" bob

ends 0 tackle session check "$alice" --json
is "who it is" "$(jq -r .user <<<"$out")" alice
[[ $(jq -r .ends_at <<<"$out") =~ ^20.*T.*Z$ ]] || fail "times are RFC 3339: $out"
ends 1 tackle session check 00000000000000000000000000000000 --json
is "a no is JSON, too" "$(jq -r .error <<<"$err")" TKL_NOTFOUND

for item in teapot kettle teapot; do
    ends 0 tackle session touch "$alice" "$item"
done
ends 0 tackle session touch "$bob" teapot
ends 0 tackle session touch "$bob"
ends 0 tackle session recent "$alice" --json
is "the latest first" "$(jq -c 'map(.item)' <<<"$out")" '["teapot","kettle"]'
ends 0 tackle session recent "$alice" --skip 1 --json
is "pages" "$(jq -c 'map(.item)' <<<"$out")" '["kettle"]'
ends 64 tackle session touch "$bob" --items 0
for item in cup pan; do
    ends 0 tackle session touch "$bob" "$item" --items 2
done
ends 0 tackle session recent "$bob" --json
is "so many items" "$(jq -c 'map(.item)' <<<"$out")" '["pan","cup"]'
ends 0 tackle session top --count 1 --json
is "the most viewed" "$(jq -c 'map([.item, (.views + 0.5 | floor)])' <<<"$out")" '[["teapot",3]]'

ends 0 tackle session rename kettle pot
ends 1 tackle session unrank kettle
ends 0 tackle session unrank pot

# Views without a session, and the half-life that the first view fixes.
ends 0 tackle session view cup cup pan --store views --half-life 1h --json
is "views" "$out" '{"viewed": 3}'
ends 0 tackle session view cup --store views
ends 64 tackle session view cup --store views --half-life 2h
has "$err" "the ranking has a half-life of 3600000 ms, not 7200000"
ends 64 tackle session view cup --store views --half-life 0
ends 0 tackle session top --store views --json
is "top" "$(jq -c 'map([.item, (.views + 0.5 | floor), .excess == 0])' <<<"$out")" '[["cup",3,true],["pan",1,true]]'
ends 64 tackle session unrank --store views
ends 64 tackle session unrank --all --store views
ends 64 tackle session unrank cup --all --yes --store views
ends 0 tackle session unrank --all --yes --store views --json
ends 1 tackle session unrank --all --yes --store views
ends 0 tackle session view cup --store views --half-life 0
ends 0 tackle session top --store views
has "$out" "cup"
ends 0 tackle session drop --store views --yes

ends 0 tackle session list bob --json
is "list" "$(jq length <<<"$out")" 1
lacks "$out" "$bob"
ends 0 tackle session end "$bob"
ends 1 tackle session end "$bob"
ends 0 tackle session create alice
ends 0 tackle session end --user alice --json
is "all of a user" "$out" '{"ended": 2}'
ends 64 tackle session end
ends 64 tackle session end "$alice" --user alice
ends 64 tackle session create ""
ends 64 tackle session top --count 0
ends 64 tackle session create alice --ttl -5s
tackle session create ann --store $'\xff' >/dev/null
ends 0 tackle session drop --store $'\xff' --yes --json
is "bytes" "$out" '{"name": {"base64": "/w=="}, "dropped": true}'
ends 64 tackle session create alice --ttl 0
has "$err" "must be more than 0"
ends 64 tackle session create alice --most 0
has "$err" "--most: must be more than 0"
ends 64 tackle session top --skip -1
has "$err" "--skip: must not be negative"
ends 64 tackle session list alice --count -1

ends 0 tackle session create carol --store other
ends 0 tackle session create carol
ends 0 tackle session stores --json
is "stores" "$(jq -c 'map(.name)' <<<"$out")" '["default","other"]'
ends 0 tackle session drop --store other --yes

ends 64 tackle session drop
has "$err" "--yes"
ends 0 tackle session drop --yes
ends 1 tackle session drop --yes
is "nothing is left but the register" "$(tackle call KEYS "*")" "tackle:session:names"

# Data of a session.
token=$(tackle session create dora --store data)
ends 0 tackle session set "$token" language=de 'cart={"a": 1}' --store data --json
is "set" "$(jq -c . <<<"$out")" '{"fields_set":2}'
ends 0 tackle session touch "$token" teapot --store data --json
is "user and data" "$(jq -c '[.touched, .item, .user, (.data | map([.name, .value]) | sort)]' <<<"$out")" \
    '[true,"teapot","dora",[["cart","{\"a\": 1}"],["language","de"]]]'
ends 0 tackle session set "$token" cart= --store data
ends 0 tackle session check "$token" --store data
has "$out" "language = de"
is "removed" "$(tackle session check "$token" --store data --json | jq -c '.data | length')" 1
for field in x =x ""; do
    ends 64 tackle session set "$token" "$field" --store data
done
ends 64 tackle session set "$token" --store data
ends 1 tackle session set "$token" "a=$(head -c 20000 /dev/zero | tr '\0' x)" --store data
has "$err" "16384"
ends 0 tackle session end "$token" --store data
ends 1 tackle session set "$token" a=b --store data
