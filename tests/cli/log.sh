#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle log`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

messages() { jq -c '[.[] | .severity + ":" + .message]'; }

ends 0 tackle log recent shop --json
is "nothing" "$out" '[]'
ends 0 tackle log write shop warning disk nearly full
is "quiet" "$out" ""
ends 0 tackle log write shop ERR "no such  order" --json
is "json" "$(jq -c . <<<"$out")" '{"name":"shop","written":1}'
ends 0 tackle log recent shop --json
is "recent" "$(messages <<<"$out")" '["warning:disk nearly full","error:no such  order"]'
[[ $(jq -r '.[0].time' <<<"$out") =~ ^20[0-9-]+T[0-9:.]+Z$ ]] || fail "time: $out"
ends 0 tackle log recent shop
[[ $(tail -1 <<<"$out") =~ ^20[0-9]{2}-[0-9-]+T[0-9:]+\.[0-9]{3}Z\ \ error\ +"no such  order"$ ]] ||
    fail "a line: $out"
ends 0 tackle log recent shop error --count 1 --json
is "one severity" "$(messages <<<"$out")" '["error:no such  order"]'
ends 0 tackle log recent shop debug --json
is "none of it" "$out" '[]'

last=$(tackle log recent shop error --json | jq -r '.[0].time')
ends 0 tackle log recent shop --since "$last" --json
is "since" "$(jq -c 'map(.message)' <<<"$out")" '["no such  order"]'
ends 0 tackle log recent shop --since @1 --count 1 --json
is "since and count" "$(jq -c 'map(.message)' <<<"$out")" '["no such  order"]'
ends 0 tackle log recent shop --since 2099-01-01 --json
is "since later" "$out" '[]'
ends 64 tackle log recent shop --since someday

# A message cannot be taken for the next line of the log.
tackle log write forged info $'x\n2026-01-01T00:00:00.000Z  emergency  fire'
is "one message" "$(tackle log recent forged | sed 1d)" '  2026-01-01T00:00:00.000Z  emergency  fire'
tackle log drop forged --yes

# Lines.
printf 'a\nb\n\na' | tackle log write lines info - --json >"$home/json" || fail "lines"
is "lines" "$(jq -c .written "$home/json")" 3
ends 0 tackle log recent lines --json
is "in order" "$(messages <<<"$out")" '["info:a","info:b","info:a"]'
ends 0 tackle log common lines --json
is "common" "$(jq -c '.messages | map([.times, .severity, .message])' <<<"$out")" \
    '[[2,"info","a"],[1,"info","b"]]'
is "exact" "$(jq -c '[.bound, (.messages | map(.excess) | add)]' <<<"$out")" '[0,0]'
ends 0 tackle log common lines info
is "for people" "$(sed -n 2p <<<"$out" | tr -s ' ')" " 2 info a"
ends 0 tackle log common lines --last --json
is "last hour" "$(jq -c '.messages' <<<"$out")" '[]'
ends 0 tackle log common lines --both --json
is "both hours" "$(jq -c '.messages | map([.times, .message])' <<<"$out")" '[[2,"a"],[1,"b"]]'
ends 0 tackle log common lines --sliding --json
is "60 minutes" "$(jq -c '.messages | map([.times, .excess, .message])' <<<"$out")" \
    '[[2,0,"a"],[1,0,"b"]]'
ends 64 tackle log common lines --both --last
ends 64 tackle log common lines --both --sliding
seq 20 | sed 'p;p;s/.*/often/' | tackle log write full info - --distinct 5 || fail "a full table"
ends 0 tackle log common full --json
is "full" "$(jq -c '.messages[0].message, (.bound > 0), (.messages[0].times - .messages[0].excess <= 20),
    (.messages[0].times >= 20)' <<<"$out" | tr '\n' ' ')" '"often" true true true '
ends 0 tackle log common full
has "$out" "counts are at most"

# Syslog: the severity is in the priority, whatever the facility.
printf '%s\n' '<11>user.err' '<0>kern.emerg' '<191>local7.debug' '<13>user.notice' 'none' \
    '<192>too large' '<x>no number' '<14' '<>' $'<14>CRLF\r' |
    tackle log write sys - --syslog || fail "syslog"
ends 0 tackle log recent sys --json
is "syslog" "$(messages <<<"$out")" \
    '["error:user.err","emergency:kern.emerg","debug:local7.debug","notice:user.notice","notice:none","notice:<192>too large","notice:<x>no number","notice:<14","notice:<>","info:CRLF"]'
printf 'plain\n' | tackle log write sys2 info - --syslog || fail "syslog with a default"
ends 0 tackle log recent sys2 --json
is "default" "$(messages <<<"$out")" '["info:plain"]'

# Many, and long ones.
seq 3000 | tackle log write many debug - --keep 3000 || fail "many"
ends 0 tackle log recent many --count 5000 --json
is "many" "$(jq -c 'map(.message | tonumber) == [range(1; 3001)]' <<<"$out")" true
head -c 70000 /dev/zero | tr '\0' x | tackle log write long info - 2>"$home/err" || fail "long"
has "$(cat "$home/err")" "1 lines were cut to 65536 bytes"

# Following.
tackle log recent tail --count 0 --follow --json >"$home/tail" &
follower=$!
for i in $(seq 200); do
    tackle log write tail info "m$i" || fail "write"
    [ -s "$home/tail" ] && break
    sleep 0.02
done
is "followed" "$(head -1 "$home/tail" | jq -r .severity)" info
kill $follower
wait $follower 2>/dev/null

# A follower that is stopped for a while says what it missed.
tackle log write missed info first --keep 5 || fail "write"
tackle log recent missed --count 1 --follow >"$home/late" 2>"$home/err" &
follower=$!
for i in $(seq 500); do [ -s "$home/late" ] && break; sleep 0.02; done
kill -STOP $follower
seq 12 | tackle log write missed info - --keep 5 || fail "lines"
kill -CONT $follower
for i in $(seq 500); do [ "$(wc -l <"$home/late")" = 6 ] && break; sleep 0.02; done
is "the last five" "$(wc -l <"$home/late")" 6
has "$(cat "$home/err")" "7 messages were gone before they could be read"
kill $follower
wait $follower 2>/dev/null

ends 0 tackle log list --json
is "list" "$(jq -c 'map(.name)' <<<"$out")" '["full","lines","long","many","missed","shop","sys","sys2","tail"]'
ends 64 tackle log drop shop
ends 0 tackle log drop shop --yes --json
is "drop" "$(jq -c . <<<"$out")" '{"name":"shop","dropped":true}'
ends 1 tackle log drop shop --yes
ends 64 tackle log write shop loud x
has "$err" "severity"
ends 64 tackle log write shop any x
ends 64 tackle log write shop info
ends 64 tackle log write shop -
ends 64 tackle log write shop info x --syslog
ends 64 tackle log write shop info x --keep -1
for option in keep distinct ttl; do
    ends 64 tackle log write shop info x --$option 0
    has "$err" "must be more than 0"
done
ends 64 tackle log recent shop --count -1
ends 64 tackle log recent shop loud

# CSV.
tackle log write csv error $'no "such"\norder, 7'
ends 0 tackle log common csv --csv
is "CSV" "$out" $'times,excess,severity,message\r\n1,0,error,"no ""such""\norder, 7"\r'
ends 0 tackle log recent csv --csv
has "$out" $'time,severity,message\r\n20'
has "$out" $'Z,error,"no ""such""\norder, 7"\r'
ends 64 tackle log common csv --csv --json

# Messages of an earlier time count in its hour.
now=$(tackle call TIME --json | jq -r '.[0]')
last=$((now - now % 3600 - 1800))
ends 0 tackle log write early error no such order --time "@$last"
ends 0 tackle log recent early --json
is "its time" "$(jq -r '.[0].time' <<<"$out")" "$(date -u -d "@$last" +%FT%T.000Z)"
ends 0 tackle log common early --both --json
is "counted" "$(jq -c '.messages | map(.times)' <<<"$out")" '[1]'
ends 64 tackle log write early error x --time '3h ago'
has "$err" "--time: the time is too long ago"
ends 64 tackle log write early error - --time '1m ago'

# What could not be written is reported, with the reason.
tackle call CONFIG SET maxmemory 1 >/dev/null
printf 'a\nb\n' | tackle log write shop info - --json 2>"$home/err"
is "full" "$? $(jq -r .error "$home/err")" "70 TKL_EOOM"
tackle call CONFIG SET maxmemory 0 >/dev/null
TACKLE_URL=unix:///nowhere/socket
printf 'a\nb\n' | tackle log write shop info - 2>"$home/err"
is "unreachable" "$?" 69
has "$(cat "$home/err")" "2 lines were not written"
