# SPDX-License-Identifier: MIT
#
# A cluster of two masters, for tests of the command that have read lib.bash.
program=${TACKLE_TEST_SERVER:-$(command -v redis-server || command -v valkey-server)}
ports=()

end_cluster() {
    [ ${#ports[@]} -eq 0 ] || kill -9 $(cat "$home"/node*/pid) 2>/dev/null
}
trap 'end_cluster; clean_up' EXIT

# Starts a member on a free port that also has a free port for the bus, 10000 above.
start_node() {
    local port directory=$home/node${#ports[@]}
    mkdir "$directory"
    for _ in {1..50}; do
        port=$((20000 + RANDOM % 20000))
        "$program" --port $port --bind 127.0.0.1 --cluster-enabled yes --cluster-node-timeout 1000 \
            --dir "$directory" --save '' >"$directory/log" 2>&1 &
        echo $! >"$directory/pid"
        for _ in {1..100}; do
            kill -0 $! 2>/dev/null || break
            tackle ping --url redis://127.0.0.1:$port >/dev/null 2>&1 || { sleep 0.05; continue; }
            ports+=($port)
            return
        done
        kill -9 $! 2>/dev/null
    done
    fail "no member of a cluster: $(tail -n 3 "$directory/log")"
}

has_all_slots() {
    tackle doctor --url "redis+cluster://127.0.0.1:${ports[0]}" --json 2>/dev/null |
        jq -e 'any(.checks[]; .finding == "2 masters serve 16384 of 16384 slots")' >/dev/null
}

# Leaves the ports of the masters in ${ports[@]}, their pids in $home/node0/pid and $home/node1/pid.
start_cluster() {
    start_node
    start_node
    ends 0 tackle call CLUSTER ADDSLOTSRANGE 0 8000 --url "redis://127.0.0.1:${ports[0]}"
    ends 0 tackle call CLUSTER ADDSLOTSRANGE 8001 16383 --url "redis://127.0.0.1:${ports[1]}"
    ends 0 tackle call CLUSTER MEET 127.0.0.1 "${ports[1]}" --url "redis://127.0.0.1:${ports[0]}"
    for _ in {1..300}; do has_all_slots && return || sleep 0.1; done
    fail "no cluster"
}
