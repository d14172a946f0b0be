#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `fetch --ack` that is killed acknowledges no message that it has not printed. Printed messages may
# come again.
. "$(dirname "$0")/lib.bash"
start_server

tackle chat create lunch ann bob >/dev/null
mkfifo "$home/pipe"

fetch() {
    case $1 in
    mail) exec tackle mail fetch ann --count 7 --ack --json ;;
    chat) exec tackle chat fetch ann --count 7 --ack --json ;;
    esac
}

send() {
    case $1 in
    mail) seq 100 | tackle mail send ann --lines ;;
    chat) seq 100 | tackle chat send lunch bob --lines ;;
    esac >/dev/null
}

unread() {
    case $1 in
    mail) tackle mail unread ann ;;
    chat) tackle chat list ann --json | jq '.[0].unread' ;;
    esac
}

for kind in mail chat; do
    send $kind

    # It cannot print all that it fetched: the pipe is full.
    exec 8<>"$home/pipe"
    timeout 0.2 cat /dev/zero >&8
    fetch $kind >&8 &
    sleep 0.3
    kill -9 $!
    wait $! 2>/dev/null
    exec 8>&-
    is "$kind: not printed" "$(unread $kind)" 100

    # The reader of the pipe has gone.
    sleep 100 <"$home/pipe" &
    exec 8>"$home/pipe"
    kill $!
    wait $! 2>/dev/null
    (fetch $kind >&8) 2>/dev/null && fail "$kind: printed to nobody"
    exec 8>&-
    is "$kind: printed to nobody" "$(unread $kind)" 100

    # Killed at any moment, with little time to wait for: all come, in order.
    for ((i = 0; i < 25; i++)); do
        fetch $kind >"$home/printed.$i" 2>/dev/null &
        sleep "0.0$((RANDOM % 30 + 10))"
        kill -9 $! 2>/dev/null
        wait $! 2>/dev/null
    done
    for (( ; $(unread $kind) > 0; i++)); do
        (fetch $kind) >"$home/printed.$i" || fail "$kind: $?"
    done
    for ((n = 0; n < i; n++)); do
        grep -os '"id": *[0-9]*' "$home/printed.$n" # it may have been killed before there was one
    done | tr -dc '0-9\n' | awk '
        $1 > last + 1 { print "after " last " came " $1; exit 1 }
        $1 > last { last = $1 }
        END { if (last != 100) print "the last one is " last }' >"$home/wrong"
    is "$kind" "$(cat "$home/wrong")" ""
    rm "$home"/printed.*
done
