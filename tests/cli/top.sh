#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle top`: as text, as JSON, and on a screen with keys, which tmux drives.
. "$(dirname "$0")/lib.bash"
start_server

ends 0 tackle top --once --json
is "nothing yet" "$(jq -c '[.queues, .locks, .semaphores, .leaders, .counters, .limits]' <<<"$out")" \
    '[[],[],[],[],[],[]]'
ends 0 tackle queue push mails a b c
ends 0 tackle queue push slow x --delay 1h
ends 0 tackle lock acquire deploy --lease 1h --label nightly
ends 0 tackle sem acquire crawlers --limit 5 --lease 1h
ends 0 tackle counter add hits 7
ends 0 tackle queue push busy x
ends 0 tackle queue claim busy --lease 1h
ends 0 tackle limit check api ann --rate 1/d
ends 1 tackle limit check api ann --rate 1/d
ends 0 tackle top --once --json
is "queues" "$(jq -c '[.queues[] | [.name, .ready, .delayed, .done_per_second]]' <<<"$out")" \
    '[["busy",0,0,null],["mails",3,0,null],["slow",0,1,null]]'
is "workers" "$(jq -c '[.workers[] | [.running, .queue]]' <<<"$out")" '[[1,"busy"]]'
is "limits" "$(jq -c '[.limits[] | [.name, .refused, .key]]' <<<"$out")" '[["api",1,"ann"]]'
is "locks" "$(jq -c '[.locks[] | [.name, .held, .limit, .waiters]]' <<<"$out")" '[["deploy",1,null,0]]'
has "$(jq -r '.locks[0].holder' <<<"$out")" "nightly ("
is "permits" "$(jq -c '[.semaphores[] | [.name, .held, .limit]]' <<<"$out")" '[["crawlers",1,5]]'
is "counters" "$(jq -c '[.counters[].name]' <<<"$out")" '["hits"]'
is "a server" "$(jq -r .server.role <<<"$out")" master
ends 0 tackle top --once
has "$out" "QUEUE"
has "$out" "nightly"
has "$out" "REFUSED MOST"

# In batches there are rates.
timeout 3 "$TACKLE" top --batch --json >"$home/batch"
[ "$(wc -l <"$home/batch")" -ge 2 ] || fail "too few lines"
is "rates" "$(jq -c '.queues[0].done_per_second | type' <<<"$(sed -n 2p "$home/batch")")" '"number"'

ends 64 tackle top
has "$err" "--batch"
ends 64 tackle top --json
ends 64 tackle top --once --interval 100ms
ends 69 tackle --url redis://127.0.0.1:1 top --once

# ---- On a screen ----
if ! command -v tmux >/dev/null; then
    echo "skipped: the screen (package tmux is not installed)"
else
    session=1 # each has a tmux of its own: one that ends may still be there
    mux() { tmux -L "tackle-top-$$-$session" -f /dev/null "$@"; }
    trap 'mux kill-server 2>/dev/null; clean_up' EXIT
    screen() { mux capture-pane -p; }
    # sees TEXT: within some seconds it is on the screen.
    sees() {
        for _ in $(seq 200); do
            [[ $(screen) == *"$1"* ]] && return
            sleep 0.05
        done
        fail "no '$1' on the screen:"$'\n'"$(screen)"
    }
    mux new-session -d -x 110 -y 16 "env LC_ALL=C.UTF-8 '$TACKLE' top; echo ended \$?; cat"
    sees "> mails"
    sees "1 Queues 3"
    sees "h keys"
    mux send-keys 2
    sees "> deploy"
    sees "nightly"
    mux send-keys Enter
    sees "Waiters, in their order"
    mux send-keys Escape
    sees "FIRST HOLDER"
    mux send-keys 5
    sees "> hits"
    mux send-keys 6
    sees "> $(hostname):"
    mux send-keys 1
    sees "> mails"

    # A new queue appears by itself; wide characters keep the columns.
    ends 0 tackle queue push '世界' x
    sees "世界"
    row=$(screen | grep '世界') above=$(screen | grep mails)
    is "columns" "${#row}" "$((${#above} - 2))"

    # Sorting, filtering, freezing.
    mux send-keys S
    sees "QUEUEv"
    sees "> mails"
    mux send-keys r
    sees "QUEUE^"
    mux send-keys / s l o
    sees "filter: slo"
    mux send-keys Enter
    sees "> slow"
    [[ $(screen) != *mails* ]] || fail "not filtered: $(screen)"
    mux send-keys / Escape
    sees "mails"
    mux send-keys Space
    sees "[frozen]"
    mux send-keys Space

    # Looking into a queue shows its jobs.
    mux send-keys / m a i l Enter
    sees "> mails"
    mux send-keys Enter
    sees "Next"
    sees "attempt 0  a"
    mux send-keys Escape
    sees "READY"

    # Acting asks first.
    mux send-keys p
    sees "Pause the queue mails? [y/N]"
    mux send-keys n
    sees "nothing was done"
    is "not paused" "$(tackle queue stats mails --json | jq .paused)" false
    mux send-keys p
    sees "Pause the queue mails? [y/N]"
    mux send-keys y
    sees "mails: paused"
    is "paused" "$(tackle queue stats mails --json | jq .paused)" true
    mux send-keys p
    sees "Resume the queue mails? [y/N]"
    mux send-keys y
    sees "mails: resumed"
    mux send-keys / Escape 2
    sees "> deploy"
    mux send-keys b
    sees "Break deploy"
    mux send-keys y
    sees "deploy: broken"
    ends 1 tackle lock show deploy

    # Any size, and back.
    mux resize-window -x 20 -y 3
    sees "tackle top"
    mux resize-window -x 110 -y 16
    sees "FIRST HOLDER"
    mux send-keys h
    sees "reverse the order"
    mux send-keys x 1
    sees "> "

    # A server that hangs does not hang the keys, and is seen again.
    server=$(tackle server status --json | jq .pid)
    kill -STOP "$server"
    sees "not known: "
    mux send-keys 3
    sees "SINCE"
    kill -CONT "$server"
    sees "clients"
    mux send-keys q
    sees "ended 0"
    mux kill-server
    session=2

    # Without UTF-8, and without permissions.
    mux new-session -d -x 80 -y 12 "env LC_ALL=C '$TACKLE' top; cat"
    sees "> "
    sees "??"
    mux send-keys C-c
    mux kill-server
    session=3
    become operator operators.md
    mux new-session -d -x 110 -y 12 "env TACKLE_URL='$TACKLE_URL' TACKLE_PASSWORD=secret '$TACKLE' top; cat"
    sees "> "
    mux send-keys / m a i l Enter p
    sees "Pause the queue mails? [y/N]"
    mux send-keys y
    sees "mails: ERR " # Redis and Valkey say it in different words
    is "nothing changed" "$(tackle queue stats mails --json | jq .paused)" false
    mux kill-server
fi
echo "top: all good"
