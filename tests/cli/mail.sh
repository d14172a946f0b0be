#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle mail`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "send" "$(tackle mail send ann --from bob hello)" 1
is "send as JSON" "$(tackle mail send ann --from eve --json 'a b' | jq -c .)" \
    '{"name":"ann","id":2,"count":1}'
is "standard input" "$(printf 'a\0\377' | tackle mail send ann --header 'type=x=y' --header t=2)" 3
is "a dash" "$(printf '' | tackle mail send ann -)" 4
is "lines" "$(printf 'one\ntwo\n' | tackle mail send ann --from bob --lines --json | jq -c .)" \
    '{"name":"ann","id":5,"count":2}'
is "unread" "$(tackle mail unread ann)" 6
is "unread as JSON" "$(tackle mail unread ann --json | jq -c .)" '{"name":"ann","unread":6}'

fetched=$(tackle mail fetch ann --json)
is "ids" "$(jq -c 'map(.id)' <<<"$fetched")" '[1,2,3,4,5,6]'
is "senders" "$(jq -c 'map(.sender)' <<<"$fetched")" '["bob","eve",null,null,"bob","bob"]'
is "bodies" "$(jq -c 'map(.body)' <<<"$fetched")" \
    '["hello","a b",{"base64":"YQD/"},"","one","two"]'
is "headers" "$(jq -c '.[2].headers' <<<"$fetched")" \
    '[{"name":"type","value":"x=y"},{"name":"t","value":"2"}]'
is "times" "$(jq -c 'map(.time | test("^20[0-9-]+T[0-9:.]+Z$")) | unique' <<<"$fetched")" '[true]'
is "a moment has one field" "$(jq -c 'map(has("time_ms")) | unique' <<<"$fetched")" '[false]'
is "none was missed" "$(jq -c 'map(.missed) | unique' <<<"$fetched")" '[0]'
is "again" "$(tackle mail fetch ann --json)" "$fetched"
is "count" "$(tackle mail fetch ann --count 1 --json | jq -c 'map(.id)')" '[1]'

is "ack" "$(tackle mail ack ann 2)" 4
is "an earlier ack" "$(tackle mail ack ann 1 --json | jq -c .)" '{"name":"ann","unread":4}'
ends 1 tackle mail ack ann 7
has "$err" "no message has the id 7 yet"
ends 64 tackle mail ack ann x
ends 64 tackle mail ack ann 0
is "acked by fetching" "$(tackle mail fetch ann --count 3 --ack --json | jq -c 'map(.id)')" '[3,4,5]'
ends 0 tackle mail fetch ann --ack
has "$out" "two"
has "$out" "bob"
ends 1 tackle mail fetch ann --json
is "nothing" "$out" "[]"
is "nothing as JSON" "$(jq -r .error <<<"$err")" TKL_EMPTY
ends 1 tackle mail fetch ann --wait 20ms

# Many lines are several calls, of a thousand lines or 4000 headers. A failure reports the messages
# that were sent.
headers=(--header a=1 --header b=1 --header c=1 --header d=1 --header e=1)
is "five headers" "$(seq 1000 | tackle mail send many --lines "${headers[@]}" --json | jq -c .)" \
    '{"name":"many","id":1,"count":1000}'
is "all have them" "$(tackle mail fetch many --count 1000 --json |
    jq -c 'map([.body, (.headers | length)]) | [.[0], .[500]]')" '[["1",5],["501",5]]'
is "no lines" "$(tackle mail send many --lines --json </dev/null | jq -c .)" \
    '{"name":"many","id":null,"count":0}'
tackle mail limit many --max-messages 2500
ends 1 bash -c 'seq 2000 | tackle mail send many --lines'
has "$err" "the first 1000 messages were sent"
is "nothing printed" "$out" ""
tackle mail limit many --max-messages 3500
ends 1 bash -c 'seq 2000 | tackle mail send many --lines --json'
is "what was sent" "$(jq -c . <<<"$out")" '{"name":"many","id":2001,"count":1000}'
is "unread" "$(tackle mail unread many)" 3000
ends 64 tackle mail ack many 9007199254740993
has "$err" "from 1 to 9007199254740992"
tackle mail drop many --yes

# A body cannot be taken for the head of a message, and --raw prints it unchanged.
tackle mail send heads --from bob $'x\n2  2026-01-01T00:00:00.000Z  eve\npay' >/dev/null
tackle mail send heads $'end\n' >/dev/null
tackle mail send heads '' >/dev/null
is "for people" "$(tackle mail fetch heads | sed 's/^\([0-9]*  \)20[0-9T:.-]*Z/\1TIME/')" \
    $'1  TIME  bob\n  x\n  2  2026-01-01T00:00:00.000Z  eve\n  pay\n2  TIME  \n  end\n  \n3  TIME  \n  '
is "bodies alone" "$(tackle mail fetch heads --raw --count 2)" \
    $'x\n2  2026-01-01T00:00:00.000Z  eve\npay\nend'
tackle mail drop heads --yes
tackle mail send heads $'a\r2  b\r\nc\r' >/dev/null # a carriage return ends a line for many readers
is "lines of others" "$(tackle mail fetch heads | sed 1d)" $'  a\r  2  b\r\n  c\r  '
ends 64 tackle mail fetch heads --raw --json
tackle mail drop heads --yes

# Messages that could not be printed are not acknowledged.
tackle mail send ann more >/dev/null
ends 70 bash -c 'tackle mail fetch ann --ack >/dev/full'
is "still there" "$(tackle mail unread ann)" 1

tackle mail fetch late --wait 30s --json >"$home/waited" &
for ((i = 0; i < 1000; i++)); do
    [[ $(tackle call PUBSUB SHARDCHANNELS) == *'tackle:mail:{late}'* ]] && break
    sleep 0.02
done
tackle mail send late here >/dev/null
wait $! || fail "the fetch that waited ended with $?"
is "waited for" "$(jq -r '.[0].body' "$home/waited")" here

ends 0 tackle mail show ann --json
is "shown" "$(jq -c '[.name,.unread,.missed,.last_id,.acked_id,.max_messages,.max_age_ms,.when_full]' \
    <<<"$out")" '["ann",1,0,7,6,10000,null,"refuse"]'
has "$(jq -r .fetched_at <<<"$out")" T
ends 1 tackle mail show none --json
is "never used" "$(jq -c '[.error,.message]' <<<"$err")" \
    '["TKL_NOTFOUND","there is no mailbox '\''none'\''"]'
ends 1 tackle mail limit none
is "nothing unread" "$(tackle mail unread none)" 0
is "limits before a message" "$(tackle mail limit none --max-messages 5 --json |
    jq -c '[.max_messages,.max_bytes]')" '[5,104857600]'
ends 0 tackle mail show none
ends 0 tackle mail drop none --yes
ends 0 tackle mail show ann
has "$out" "unread"

ends 0 tackle mail limit ann --max-messages 2 --max-bytes 1kb --max-age 1h --json
is "limited" "$(jq -c . <<<"$out")" \
    '{"name":"ann","max_messages":2,"max_bytes":1024,"max_age_ms":3600000,"ttl_ms":null,"when_full":"refuse"}'
tackle mail send ann x >/dev/null
ends 1 tackle mail send ann x
has "$err" "limit"
ends 0 tackle mail limit ann --max-messages 2 --when-full drop
tackle mail send ann x >/dev/null
ends 0 tackle mail fetch ann
has "$err" "1 messages were removed"
is "missed" "$(tackle mail fetch ann --json | jq -c 'map([.id,.missed])')" '[[8,1],[9,0]]'
is "left" "$(tackle mail ack ann 6)" 2
is "others stay, 0 removes one" "$(tackle mail limit ann --max-age 0 --json | jq -c '[.max_bytes,.max_age_ms,.when_full]')" \
    '[1024,null,"drop"]'
is "only looks" "$(tackle mail limit ann --json | jq -c '[.max_messages,.max_age_ms]')" '[2,null]'
ends 64 tackle mail limit ann --max-messages -1
ends 64 tackle mail limit ann --when-full never

ends 64 tackle mail purge ann
is "purged" "$(tackle mail purge ann --yes --json | jq -c .)" '{"name":"ann","removed":2}'
is "ids go on" "$(tackle mail send ann x)" 10
is "list" "$(tackle mail list --json | jq -c 'map(.name)')" '["ann","late"]'
ends 64 tackle mail drop ann
ends 0 tackle mail drop ann --yes --json
is "dropped" "$(jq -c . <<<"$out")" '{"name":"ann","dropped":true}'
ends 1 tackle mail drop ann --yes
ends 1 tackle mail fetch typo
is "fetching makes no mailbox" "$(tackle mail list --json | jq -c 'map(.name)')" '["late"]'
ends 64 tackle mail send
ends 64 tackle mail send ann --header x hello
ends 64 tackle mail fetch ann --count 0
tackle call SADD 'tackle:mail:{set}' x >/dev/null
ends 70 tackle mail unread set
