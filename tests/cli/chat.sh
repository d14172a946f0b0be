#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle chat`: every verb, what it prints and how it ends.
. "$(dirname "$0")/lib.bash"
start_server

is "create" "$(tackle chat create lunch ann bob kim)" lunch
is "create as JSON" "$(tackle chat create work bob kim --max-messages 2 --json | jq -c .)" \
    '{"name":"work","created":true}'
ends 1 tackle chat create lunch eve
id=$(tackle chat create - ann)
[ ${#id} = 32 ] || fail "assigned: $id"

is "send" "$(tackle chat send lunch ann 'noon?')" 1
is "send as JSON" "$(printf 'one' | tackle chat send lunch bob --json | jq -c .)" \
    '{"name":"lunch","id":2,"count":1}'
ends 1 tackle chat send lunch eve hello
has "$err" "not a member"
ends 1 tackle chat send none ann hello
has "$err" "no such chat"
printf 'a\nb\nc\n' | tackle chat send work bob --lines --header k=v >/dev/null 2>&1 &&
    fail "three fit into two"
printf 'a\nb\n' | tackle chat send work bob --lines --header k=v >/dev/null
tackle chat send work bob c >/dev/null

fetched=$(tackle chat fetch kim --json | jq -c 'sort_by(.chat)')
is "chats" "$(jq -c 'map([.chat,.missed,.unread])' <<<"$fetched")" '[["lunch",0,2],["work",1,2]]'
is "messages" "$(jq -c 'map(.messages | map([.id,.sender,.body]))' <<<"$fetched")" \
    '[[[1,"ann","noon?"],[2,"bob","one"]],[[2,"bob","b"],[3,"bob","c"]]]'
is "headers" "$(jq -c '.[1].messages[0].headers' <<<"$fetched")" '[{"name":"k","value":"v"}]'
has "$(jq -r '.[0].messages[0].time' <<<"$fetched")" T
is "again" "$(tackle chat fetch kim --json | jq -c 'sort_by(.chat)')" "$fetched"
is "count" "$(tackle chat fetch kim --count 1 --json | jq -c 'map(.messages | length)')" '[1,1]'

is "ack" "$(tackle chat ack lunch kim 1)" 1
is "an earlier ack" "$(tackle chat ack lunch kim 1 --json | jq -c .)" \
    '{"name":"lunch","member":"kim","unread":1}'
ends 1 tackle chat ack lunch kim 3
ends 1 tackle chat ack lunch eve 1
ends 64 tackle chat ack lunch kim x
is "for people" "$(tackle chat fetch kim 2>/dev/null | sed 's/20[0-9T:.-]*Z/TIME/' | sort)" \
    "$(printf '%s\n' lunch work '  2  TIME  bob' '    one' '  2  TIME  bob' '    b' \
        '  3  TIME  bob' '    c' | sort)"
is "bodies alone" "$(tackle chat fetch kim --raw 2>/dev/null | sort | tr '\n' ' ')" "b c one "
ends 64 tackle chat fetch kim --raw --json
ends 0 tackle chat fetch kim --ack
has "$out" lunch
has "$err" "work: 1 messages were removed"
ends 1 tackle chat fetch kim --json
is "nothing" "$out" "[]"
is "nothing as JSON" "$(jq -r .error <<<"$err")" TKL_EMPTY
ends 1 tackle chat fetch nobody

is "list" "$(tackle chat list --json | jq -c 'map(.name) | length')" 3
is "list of a member" "$(tackle chat list ann --json | jq -c 'map([.name,.unread]) | sort')" \
    "$(jq -cn --arg id "$id" '[["lunch",1],[$id,0]] | sort')"

ends 0 tackle chat join lunch eve --json
is "joined" "$(jq -c . <<<"$out")" '{"name":"lunch","joined":true}'
ends 1 tackle chat join lunch eve
ends 1 tackle chat join none eve
ends 0 tackle chat join lunch zoe --oldest
is "from the oldest" "$(tackle chat fetch zoe --json | jq -c '.[0].messages | map(.id)')" '[1,2]'
is "shown" "$(tackle chat show lunch --json |
    jq -c '[.name,.last_id,.message_count,.when_full,(.members | map([.name,.acked_id,.unread]))]')" \
    '["lunch",2,2,"drop",[["bob",null,1],["zoe",null,2],["ann",1,1],["eve",2,0],["kim",2,0]]]'
ends 0 tackle chat show lunch
has "$out" "MEMBER"
ends 1 tackle chat show none

ends 0 tackle chat limit lunch --max-messages 1 --when-full refuse
ends 1 tackle chat send lunch ann full
ends 0 tackle chat limit lunch --max-messages 0 --when-full drop --json
is "limited" "$(jq -c '[.name,.max_messages,.when_full]' <<<"$out")" '["lunch",null,"drop"]'

# Waiting ends with the message, also in a chat that is new.
tackle chat fetch eve --wait 30s --json >"$home/waited" &
for ((i = 0; i < 1000; i++)); do
    [[ $(tackle call PUBSUB SHARDCHANNELS) == *'tackle:chat:{lunch}'* ]] && break
    sleep 0.02
done
tackle chat create new eve ann >/dev/null
tackle chat send new ann hi >/dev/null
wait $! || fail "the fetch that waited ended with $?"
is "waited for" "$(jq -c 'map([.chat,.messages[0].body])' "$home/waited")" '[["new","hi"]]'

# A conversation: both see what the other says.
tackle chat create talk ann bob >/dev/null
tackle chat send talk ann 'are you there?' >/dev/null
mkfifo "$home/ann"
tackle chat talk talk ann <"$home/ann" >"$home/ann.out" &
exec 7>"$home/ann"
is "bob" "$(echo 'I am' | tackle chat talk talk bob)" 'ann: are you there?'
for ((i = 0; i < 1000; i++)); do
    [[ $(cat "$home/ann.out") == *"bob: I am"* ]] && break
    sleep 0.02
done
printf 'good\nbye' >&7
exec 7>&-
wait $! || fail "talk ended with $?"
is "ann" "$(cat "$home/ann.out")" 'bob: I am'
is "what ann said" "$(tackle chat fetch bob --json | jq -c '[.[] | select(.chat=="talk") | .messages[].body]')" \
    '["good","bye"]'
ends 1 tackle chat talk talk eve
ends 1 tackle chat talk none ann

# It ends when the chat does.
tackle chat talk talk ann <"$home/ann" >/dev/null 2>"$home/err" &
exec 7>"$home/ann"
for ((i = 0; i < 1000; i++)); do
    [[ $(tackle call PUBSUB SHARDCHANNELS) == *'tackle:chat:{talk}'* ]] && break
    sleep 0.02
done
tackle chat drop talk --yes
wait $! && fail "talk went on"
exec 7>&-
has "$(cat "$home/err")" "no such chat"

ends 0 tackle chat leave lunch eve --json
is "left" "$(jq -c . <<<"$out")" '{"name":"lunch","left":true}'
ends 1 tackle chat leave lunch eve
ends 64 tackle chat drop lunch
ends 0 tackle chat drop lunch --yes
ends 1 tackle chat drop lunch --yes
ends 64 tackle chat create lunch
ends 64 tackle chat create '' ann
ends 64 tackle chat send lunch
ends 64 tackle chat fetch ann --count 0

# A first message, and messages that are kept although all have read them.
ends 1 tackle chat create tea ann bob --message 'who comes?' --from eve
has "$err" "not a member"
ends 64 tackle chat create tea ann bob --from ann
is "with a message" "$(tackle chat create tea ann bob --history 2 --message 'who comes?')" tea
is "the first message" "$(tackle chat fetch bob --raw --ack)" 'who comes?'
tackle chat send tea bob me >/dev/null
ends 1 tackle chat fetch bob
tackle chat fetch ann --ack >/dev/null
tackle chat send tea ann 'at four' >/dev/null
tackle chat fetch bob --ack >/dev/null
is "history" "$(tackle chat history tea ann --json | jq -c 'map([.id,.sender,.body])')" \
    '[[2,"bob","me"],[3,"ann","at four"]]'
is "history for people" "$(tackle chat history tea bob --raw)" $'me\nat four'
is "the page before" "$(tackle chat history tea bob --before 3 --count 1 --raw)" me
ends 1 tackle chat history tea bob --before 2 --json
is "nothing before" "$out" "[]"
ends 1 tackle chat history tea eve
ends 1 tackle chat history nosuch eve
ends 64 tackle chat history tea bob --before 0
is "shown with its history" "$(tackle chat show tea --json | jq -c '[.history_messages,.history_ms]')" \
    '[2,null]'
is "limited by time" "$(tackle chat limit tea --history 0 --history-for 1h --json |
    jq -c '[.history_messages,.history_ms]')" '[null,3600000]'
has "$(tackle chat limit tea)" "history, for"
lacks "$(tackle mail limit tea --max-messages 7)" "history"
ends 0 tackle chat drop tea --yes

# A chat that cannot be read is named, and hides no other.
tackle chat create broken una ann >/dev/null
tackle chat create whole una ann >/dev/null
tackle chat send broken ann x >/dev/null
tackle call DEL 'tackle:chat:{broken}:marks' >/dev/null
ends 70 tackle chat fetch una --json
is "named" "$(jq -c '[.error, (.message | startswith("chat broken: "))]' <<<"$err")" \
    '["TKL_EDAMAGED",true]'
ends 70 tackle chat list una --json
is "the other is listed" "$(jq -c 'map(.name)' <<<"$out")" '["whole"]'
is "named in the list" "$(jq -r .error <<<"$err")" TKL_EDAMAGED
tackle chat send whole ann y >/dev/null
ends 70 tackle chat fetch una --ack --wait 5s --json
is "the other is fetched" "$(jq -c 'map([.chat,.messages[0].body])' <<<"$out")" '[["whole","y"]]'
is "and acknowledged" "$(tackle chat list una --json 2>/dev/null | jq -c 'map(.unread)')" '[0]'

tackle call SET 'tackle:chat:{set}' x >/dev/null
ends 70 tackle chat show set
