#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The guided tour runs to its end, shows commands and results, and leaves nothing behind.
. "$(dirname "$0")/lib.bash"

tours() { ls -d /tmp/tackle-demo.* 2>/dev/null | wc -l; }
before=$(tours)
ends 0 tackle demo --all
lacks "$err" "tackle: demo"
has "$out" $'$ tackle ping\nPONG '
has "$out" $'$ tackle call LRANGE planets 0 -1 --json\n["Mercury", "Venus", "Earth"]'
has "$out" $'$ tackle call GET greeting --url embedded:"$DIR"\nhello'
is "nothing is left" "$(tours)" "$before"
[ ! -e "$XDG_DATA_HOME" ] || fail "the tour has touched the user's own server"

ends 0 tackle demo
has "$out" "== lock:"
has "$out" "== cache:"
has "$out" "More: tackle demo COMMAND"
lacks "$out" "planets"
ends 64 tackle demo ping --all

ends 0 tackle demo ping
lacks "$out" "planets"
ends 0 env TACKLE_URL=redis://127.0.0.1:1 TACKLE_PASSWORD=wrong tackle demo ping

# With a dashboard it ends at a signal.
tackle demo ping --dashboard >"$home/demo" 2>&1 &
pid=$!
for ((i = 0; i < 1200; i++)); do
    grep -q "serving on" "$home/demo" && break
    sleep 0.05
done
address=$(sed -n 's/.*serving on \(http:[^,]*\).*/\1/p' "$home/demo")
has "$(curl -s "$address/")" '<title>tackle</title>'
has "$(curl -s "$address/v1/ping" -d '{}')" '"reply": "PONG"'
kill "$pid"
wait "$pid" || fail "the dashboard ended with $?: $(cat "$home/demo")"
is "nothing is left" "$(tours)" "$before"

# Interrupted on the way, it still cleans up.
tackle demo server >"$home/demo" 2>&1 &
pid=$!
for ((i = 0; i < 200; i++)); do
    grep -q "SET greeting" "$home/demo" && break
    sleep 0.02
done
kill "$pid"
wait "$pid"
is "nothing is left" "$(tours)" "$before"
