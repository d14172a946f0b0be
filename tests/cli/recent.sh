#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle recent`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle recent add ann Bob Jürgen 张三 --json
is "added" "$(jq -c . <<<"$out")" '{"name":"ann","added":3}'
is "all" "$(tackle recent complete ann --json)" '["张三", "Jürgen", "Bob"]'
is "lines" "$(printf 'Eve\nBob\n' | tackle recent add ann --lines && tackle recent complete ann)" \
    $'Bob\nEve\n张三\nJürgen'
is "prefix" "$(tackle recent complete ann JÜ)" Jürgen
is "accents" "$(tackle recent complete ann ju --accents --json)" '["Jürgen"]'
is "pinyin" "$(tackle recent complete ann zs --pinyin)" 张三
is "count" "$(tackle recent complete ann --count 1)" Bob
is "nothing" "$(tackle recent complete ann x --json)" '[]'
is "nobody" "$(tackle recent complete nobody --json)" '[]'
is "list" "$(tackle recent list --json)" '[{"name": "ann"}]'
is "removed" "$(tackle recent remove ann Bob nobody --json | jq -c .)" '{"name":"ann","removed":1}'
is "removed" "$(tackle recent remove ann Bob)" 0
ends 0 tackle recent add ann a b c --keep 2
is "keep" "$(tackle recent complete ann)" $'c\nb'
ends 64 tackle recent add ann x --keep 0
ends 64 tackle recent add ann x --keep 10001
ends 0 tackle recent add eva Joanna ANNA Hannah Annabel Susanna Bob
is "found in order" "$(tackle recent find eva anna --json | jq -c '[.[] | [.contact, .match]]')" \
    '[["ANNA","exact"],["Annabel","prefix"],["Susanna","suffix"],["Joanna","suffix"],["Hannah","contains"]]'
is "the first two" "$(tackle recent find eva anna --count 2 --json | jq length)" 2
is "all, with times" "$(tackle recent find eva --json | jq -c '[length, ([.[].added_at | test("^20")] | all)]')" '[6,true]'
is "none" "$(tackle recent find eva xyz --json)" "[]"
ends 64 tackle recent find eva x --count 10001
ends 64 tackle recent find
ends 0 tackle recent drop eva --yes
ends 64 tackle recent add ann
ends 64 tackle recent add ann ''
ends 64 tackle recent drop ann
ends 0 tackle recent drop ann --yes
ends 1 tackle recent drop ann --yes
tackle call SADD 'tackle:recent:{set}' x >/dev/null
ends 70 tackle recent complete set

# The permissions that docs/recent.md names are enough.
mapfile -t rules < <(sed -n '/^ACL SETUSER/,/^```/{/^```/d; s/^ *//; p}' "$TACKLE_SOURCE/docs/recent.md" | tr ' ' '\n')
tackle call "${rules[@]}" >/dev/null
socket=$(tackle server status --json | jq -r .socket)
export TACKLE_URL=unix://app@$socket TACKLE_PASSWORD=secret
for verb in "add ann Bob --ttl 1h" "complete ann b" "remove ann Bob" "list" "add ann Eve" "drop ann --yes"; do
    ends 0 tackle recent $verb
done
ends 77 tackle call GET x
