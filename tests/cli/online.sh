#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle online: marking, counting, asking, reports.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle online mark visitors ann bob ann
is "mark" "$out" "3 marked, 2 fresh"
ends 0 tackle online count visitors
is "count" "$out" 2
ends 0 tackle online count visitors --days 7 --all --json
is "JSON" "$out" '{"count": 0}'
ends 0 tackle online check visitors ann
is "check" "$out" present
ends 1 tackle online check visitors eve --json
is "absent" "$(jq .present <<<"$out")" false
ends 0 tackle online users visitors
is "who" "$(sort <<<"$out")" $'ann\nbob'
ends 0 tackle online users visitors --json --max 1
is "who as JSON" "$(jq -c 'keys' <<<"$out")" '["user"]'
ends 0 tackle online users visitors --days-ago 1
is "nobody yesterday" "$out" ""
ends 0 tackle online users nothing
ends 64 tackle online users visitors --max 0
ends 64 tackle online users visitors --days-ago 31
ends 0 tackle online returning visitors --json
is "returning" "$out" '{"returning": 0, "fresh": 2}'

today=$(tackle online report visitors --json | jq -r '.days[0].day')
ends 0 tackle online cohort visitors --first "$today" --json
is "cohort" "$(jq -c '[.first, .users, .days]' <<<"$out")" "[\"$today\",2,[]]"
ends 0 tackle online cohort visitors --first "$(date -u -d "$today - 2 days" +%F)" --json
is "nobody" "$(jq -c '[.users, (.days | map([.users, .share]))]' <<<"$out")" '[0,[[0,null],[0,null]]]'
ends 0 tackle online cohort visitors --first "$today"
is "for people" "$(head -1 <<<"$out")" "2 users on $today"
ends 64 tackle online cohort visitors
ends 64 tackle online cohort visitors --first someday
has "$err" "is not a day"

seq 0 2999 | tackle online mark players --using bitmap --lines --json >"$home/out" || fail "mark --lines"
is "lines" "$(jq .fresh <"$home/out")" 3000
printf 'ann\r\n\nbob\r\n' | tackle online mark others --lines || fail "CRLF"
ends 0 tackle online check others ann
ends 0 tackle online users players
is "numbers in order" "$out" "$(seq 0 2999)"
ends 0 tackle online report players --json
is "kind" "$(jq -r .kind <<<"$out")" bitmap
is "users" "$(jq '.days[0].users' <<<"$out")" 3000
is "in theory" "$(jq '.days[0].theory_bytes' <<<"$out")" 375
ends 64 tackle online mark players ann
has "$err" "in digits"
ends 64 tackle online mark players 1099511627776
has "$err" "137439 MB"
ends 64 tackle online mark players 5 --using set
has "$err" "bitmap"

ends 0 tackle online mark estimate ann bob --using hll
is "nothing about who is new" "$out" "2 marked"
ends 0 tackle online mark estimate ann bob --json
is "neither in JSON" "$(jq -c '[.marked, .fresh]' <<<"$out")" '[2,null]'
ends 64 tackle online check estimate ann
has "$err" "cannot tell"
ends 64 tackle online users estimate
has "$err" "cannot tell"
ends 64 tackle online count estimate --days 2 --all
ends 64 tackle online mark here ann --window 1m # not a heartbeat
has "$err" "--window is for heartbeats"
ends 0 tackle online mark here ann --using heartbeat --window 1m
is "who is here now" "$(tackle online users here)" ann
ends 0 tackle online count here
is "heartbeat" "$out" 1
ends 0 tackle online report here --json
is "a window, and no days" "$(jq -c '[.kind, .window_ms, .zone, .keep_days, .days[0].day]' <<<"$out")" \
    '["heartbeat",60000,null,null,"now"]'
ends 0 tackle online report here
has "$out" "a mark lasts 60.0 s"
for option in keep window max-id; do
    ends 64 tackle online mark new ann --$option 0
    has "$err" "must be more than 0"
done
ends 0 tackle online list --json
is "list" "$(jq -c 'map(.name)' <<<"$out")" '["estimate","here","others","players","visitors"]'

ends 1 tackle online report nobody
ends 64 tackle online count visitors --days 0
ends 64 tackle online count visitors --all --any
ends 64 tackle online drop visitors
ends 0 tackle online drop visitors --yes
ends 1 tackle online drop visitors --yes

# Earlier days, and marks that are taken back.
ends 0 tackle online mark days ann bob --day yesterday
ends 0 tackle online mark days ann
ends 0 tackle online mark days eve --day "$(date -u -d '-3 days' +%F)"
ends 0 tackle online count days --days 5
is "users of all days" "$out" 3
ends 0 tackle online check days bob --days-ago 1
ends 64 tackle online mark days ann --day "$(date -u -d '-40 days' +%F)"
has "$err" "too long ago"
ends 64 tackle online mark days ann --day "$(date -u -d '+2 days' +%F)"
ends 64 tackle online mark days ann --day someday
ends 0 tackle online unmark days bob nobody --day yesterday --json
is "unmarked" "$(jq -c . <<<"$out")" '{"name":"days","unmarked":1}'
ends 1 tackle online check days bob --days-ago 1
ends 0 tackle online unmark days ann
is "unmarked today" "$out" 1
ends 64 tackle online unmark days
ends 64 tackle online unmark days ann --day someday
ends 0 tackle online mark estimates ann --using hll
ends 64 tackle online unmark estimates ann
has "$err" "cannot forget"

# The kinds side by side. Nothing stays.
before=$(tackle online list)
ends 0 tackle online compare --users 200 --days 3 --json
is "kinds" "$(jq -c '[.[].kind]' <<<"$out")" '["set","set of names","bitmap","assigned, of names","hll"]'
is "exact" "$(jq -c '[.[0:4][] | .users == 240 and .counted == 240 and .deviation == 0] | unique' <<<"$out")" '[true]'
is "measured" "$(jq -c '[.[] | .day_bytes > 0 and .bytes > .day_bytes and .mark_ms >= 0] | unique' <<<"$out")" '[true]'
is "names take more" "$(jq '.[1].bytes > .[0].bytes and .[0].bytes > .[2].bytes' <<<"$out")" true
ends 0 tackle online compare --users 7 --days 1
has "$out" "BYTES A DAY"
is "nothing stays" "$(tackle online list)" "$before"
tackle call CONFIG SET maxmemory 1 >/dev/null
ends 70 tackle online compare --users 7 --days 1
has "$err" "out of memory"
tackle call CONFIG SET maxmemory 0 >/dev/null
ends 64 tackle online compare --users 0
ends 64 tackle online compare --days 32
