#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle channel`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

ends 1 tackle channel show prices
ends 1 tackle channel follow prices --wait 0
ends 0 tackle channel publish prices 'apples 42' --json
is "publish" "$(jq -c '[.name, .published, (.id | test("^[0-9]+-1$"))]' <<<"$out")" \
    '["prices",1,true]'
is "lines" "$(printf 'b\nc\n' | tackle channel publish prices --lines --json | jq .published)" 2
is "from standard input" "$(printf 'd\ne' | tackle channel publish prices - --json |
    jq -r '.id | sub(".*-"; "")')" 4
is "no lines" "$(tackle channel publish prices --lines --json </dev/null |
    jq -c '[.id, .published]')" '[null,0]'
is "all" "$(tackle channel follow prices --all --wait 0)" $'apples 42\nb\nc\nd\ne'
is "recent" "$(tackle channel follow prices --recent 2 --max 1)" c
ends 0 tackle channel follow prices --recent 2 --wait 0 --json
is "JSON" "$(jq -c '[.number, .message, .lost, .reset]' <<<"$out")" \
    $'[3,"c",0,false]\n[4,"d\\ne",0,false]'
id=$(jq -r .id <<<"$out" | head -n 1)
is "after" "$(tackle channel follow prices --after "$id" --wait 0 --json | jq .number)" 4
is "follow" "$( (sleep 0.3; tackle channel publish prices late >/dev/null) &
    tackle channel follow prices --max 1)" late
ends 0 tackle channel show prices --json
is "show" "$(jq -c '[.published, .kept_messages, .followers >= 0, .expires_ms > 0]' <<<"$out")" \
    '[5,5,true,true]'
is "list" "$(tackle channel list --json | jq -c '[.[].name]')" '["prices"]'
ends 64 tackle channel follow prices --after nonsense
has "$err" "an id such as"
ends 64 tackle channel follow prices --after "$id" --all
ends 64 tackle channel follow prices --recent -1
ends 64 tackle channel follow prices --recent 10001
ends 64 tackle channel follow prices --max 0
ends 64 tackle channel publish prices x --lines
ends 64 tackle channel publish prices x --history 0
ends 64 tackle channel publish prices x --history 1000001
ends 64 tackle channel publish prices x --ttl 0
ends 64 tackle channel publish '' x
ends 64 tackle channel drop prices
ends 0 tackle channel drop prices --yes --json
is "drop" "$(jq .dropped <<<"$out")" true
ends 1 tackle channel drop prices --yes
