#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle metrics`: the text, its bounds, serving it, unreadable parts; the board and the alerts.
# `promtool` (package prometheus) checks text and alerts where it is installed.
. "$(dirname "$0")/lib.bash"
start_server

promtool_says() {
    if command -v promtool >/dev/null; then
        promtool "$@" >"$home/promtool" 2>&1 || fail "promtool $*: $(cat "$home/promtool")"
    else
        echo "skipped: promtool $1 $2 (package prometheus is not installed)"
    fi
}

# Prometheus insists that every series comes once, and each family in one piece behind its TYPE line.
check_text() {
    awk '/^# TYPE/ { if ($3 in seen) { print "twice:", $0; exit 1 } seen[$3] = 1; family = $3; next }
         /^#/ { next }
         { name = $0; sub(/[{ ].*/, "", name); sub(/_(bucket|sum|count)$/, "", name)
           if (name != family && $1 !~ "^" family) { print "not in its family:", $0; exit 1 }
           series = $0; sub(/ [^ ]*$/, "", series)
           if (series in all) { print "twice:", series; exit 1 } all[series] = 1 }' <<<"$1" ||
        fail "bad text"
    promtool_says check metrics <<<"$1"
}

ends 0 tackle queue push mails a b c
ends 0 tackle queue push mails later --delay 1h
ends 0 tackle queue pause mails
ends 0 tackle queue push $'odd "\\\n\xff name' x
ends 0 tackle lock acquire deploy --lease 1h
ends 0 tackle sem acquire crawlers --limit 5 --lease 1h
ends 0 tackle counter add hits 7
ends 0 tackle metrics
check_text "$out"
has "$out" 'tackle_queue_jobs{queue="mails",state="ready"} 3'
has "$out" 'tackle_queue_jobs{queue="mails",state="delayed"} 1'
has "$out" 'tackle_queue_pushed_total{queue="mails"} 4'
has "$out" 'tackle_queue_paused{queue="mails"} 1'
has "$out" 'tackle_queue_oldest_ready_seconds{queue="mails"} '
has "$out" 'queue="odd \"\\\\\\n\\xff name"'
has "$out" 'tackle_lock_held{lock="deploy"} 1'
has "$out" 'tackle_lock_waiters{lock="deploy"} 0'
has "$out" 'tackle_semaphore_limit{semaphore="crawlers"} 5'
has "$out" 'tackle_counted_last_minute{counter="hits"} '
has "$out" 'tackle_client_request_seconds_bucket{le="+Inf"}'
has "$out" 'tackle_server_memory_bytes '
has "$out" "tackle_build_info{version=\"$(cat "$TACKLE_SOURCE/VERSION")\"} 1"
has "$out" 'tackle_workers 0'
is "all parts" "$(grep -c 'tackle_readable{.*} 1' <<<"$out")" 9
lacks "$out" "$(hostname)"

# How long jobs waited and ran, and who works.
ends 0 tackle queue push work a b --kind resize
ends 0 tackle queue work work --drain -- true
ends 0 tackle queue push work c
ends 0 tackle queue claim work --lease 1h
ends 0 tackle metrics
check_text "$out"
has "$out" 'tackle_job_run_seconds_bucket{queue="work",kind="resize",le="+Inf"} 2'
has "$out" 'tackle_job_run_seconds_count{queue="work",kind="resize"} 2'
has "$out" 'tackle_job_wait_seconds_bucket{queue="work",kind="resize",le="0.001"} '
has "$out" 'tackle_queue_workers{queue="work"} 1'
ends 0 tackle queue drop work --yes

# Names beyond the bound are added up; sums stay.
for i in $(seq 30); do tackle queue push "q$i" x y >/dev/null || fail "push"; done
ends 0 tackle queue push other z
ends 0 tackle metrics --series 100
check_text "$out"
named=$(grep -cE '\{(queue|lock|semaphore|counter)=' <<<"$out")
[ "$named" -le 100 ] || fail "$named series"
has "$out" 'queue="other"'
is "no job is lost" "$(awk '/^tackle_queue_jobs.*ready/ { n += $NF } END { print n }' <<<"$out")" 65
ends 0 tackle metrics --series 1
check_text "$out"

# A part that cannot be read says so, and the others are there.
ends 69 tackle --url redis://127.0.0.1:1 metrics
has "$out" 'tackle_readable{part="queues"} 0'
has "$out" 'tackle_client_connect_failures_total 1'
has "$err" "tackle: metrics: queues: "
ends 64 tackle metrics --series 0
ends 64 tackle metrics --json
ends 64 tackle metrics --listen 9480
ends 64 tackle metrics --listen 127.0.0.1:99999
ends 64 tackle metrics --listen ::1:9480

# ---- Serving ----
tackle metrics --listen 127.0.0.1:0 2>"$home/served" &
pid=$!
trap 'kill $pid 2>/dev/null; clean_up' EXIT
for _ in $(seq 100); do grep -q http "$home/served" && break; sleep 0.1; done
url=$(grep -o 'http://[^ ]*' "$home/served")
port=${url##*:} port=${port%/*}
ends 70 tackle metrics --listen "127.0.0.1:$port"
has "$err" "cannot listen"

# ask TEXT...: sends it and prints the answer.
ask() {
    exec 3<>"/dev/tcp/127.0.0.1/$port" || fail "no connection"
    printf "$@" >&3
    timeout 20 cat <&3
    exec 3>&-
}
is "found" "$(ask 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' | head -n 1)" $'HTTP/1.1 200 OK\r'
is "with a query" "$(ask 'GET /metrics?x=1 HTTP/1.0\r\n\r\n' | head -n 1)" $'HTTP/1.1 200 OK\r'
body=$(ask 'GET /metrics HTTP/1.1\r\n\r\n' | sed '1,/^\r$/d')
check_text "$body"
has "$body" 'tackle_queue_jobs{queue="mails",state="ready"} 3'
is "another path" "$(ask 'GET /metricsx HTTP/1.1\r\n\r\n' | head -n 1)" $'HTTP/1.1 404 Not Found\r'
is "another method" "$(ask 'POST /metrics HTTP/1.1\r\n\r\n' | head -n 1)" $'HTTP/1.1 405 Method Not Allowed\r'
is "no HTTP" "$(ask 'hello\r\n\r\n' | head -n 1)" $'HTTP/1.1 400 Bad Request\r'
has "$(ask "GET /metrics HTTP/1.1\r\nX: $(printf 'x%.0s' {1..8200})" | head -n 1)" "431"

# Silent clients, more than there are places, keep nobody waiting.
for fd in $(seq 20 50); do eval "exec $fd<>/dev/tcp/127.0.0.1/$port"; done
printf 'GET ' >&50
is "served all the same" "$(ask 'GET /metrics HTTP/1.1\r\n\r\n' | head -n 1)" $'HTTP/1.1 200 OK\r'
for fd in $(seq 20 50); do eval "exec $fd>&-"; done

# The server goes and comes back; the responder stays.
ends 0 tackle server stop
has "$(ask 'GET /metrics HTTP/1.1\r\n\r\n')" 'tackle_readable{part="queues"} 0'
ends 0 tackle server start
has "$(ask 'GET /metrics HTTP/1.1\r\n\r\n')" 'tackle_readable{part="queues"} 1'
kill "$pid"
wait "$pid" 2>/dev/null

# ---- The user who only looks, the board and the alerts ----
ends 0 tackle queue push mails a
ends 0 tackle lock acquire deploy --lease 1h
ends 0 tackle counter add hits 7
ends 0 tackle limit check api alice --rate 1/h --counted
ends 1 tackle limit check api alice --rate 1/h
ends 1 tackle limit check api alice --rate 1/h
become operator operators.md
ends 0 tackle limit refused --json
is "what an operator sees" "$(jq -c '.[0] | [.name, .refused, .keys]' <<<"$out")" \
    '["api",2,[{"key":"alice","refused":2}]]'
ends 77 tackle limit reset api alice
ends 0 tackle metrics
is "all parts for an operator" "$(grep -c 'tackle_readable{.*} 1' <<<"$out")" 9
has "$out" 'tackle_limit_checks_total{limit="api",outcome="refused"} 2'
has "$out" 'tackle_limit_checks_total{limit="api",outcome="allowed"} 1'
lacks "$out" alice
known=$(grep '^# TYPE' <<<"$out" | awk '{ print $3 }')
jq . "$TACKLE_SOURCE/examples/metrics/grafana.json" >/dev/null || fail "the board is no JSON"
for file in grafana.json alerts.yml; do
    for metric in $(grep -oE '\btackle_[a-z_]+' "$TACKLE_SOURCE/examples/metrics/$file" | sort -u); do
        grep -qx "$(sed -E 's/_(bucket|sum|count)$//' <<<"$metric")" <<<"$known" ||
            fail "$file uses $metric, which is not there"
    done
done
promtool_says check rules "$TACKLE_SOURCE/examples/metrics/alerts.yml"
echo "metrics: all good"
