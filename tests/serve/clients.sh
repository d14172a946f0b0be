#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The examples of clients/http run as they are, each on an empty server, with a token.
. "$(dirname "$0")/lib.bash"
start_server
printf 'examples examples-0123456789 write\n' >"$home/tokens"
chmod 600 "$home/tokens"
serve --token-file "$home/tokens"
export TACKLE_HTTP=$base TACKLE_HTTP_TOKEN=examples-0123456789

export GOCACHE=$home/go GOTOOLCHAIN=local

tried=0
for client in "$TACKLE_SOURCE"/clients/http/*; do
    run=("$(sed -n '1s,^#!.*[/ ],,p' "$client")")
    [[ $client != *.go ]] || run=(go run)
    command -v "${run[0]}" >/dev/null ||
        { echo "skipped: $(basename "$client"): no ${run[0]}"; continue; }
    [ "${run[0]}" != node ] || node -e 'process.exit(typeof fetch == "function" ? 0 : 1)' ||
        { echo "skipped: $(basename "$client"): node has no fetch() before version 18"; continue; }
    tackle call FLUSHALL >/dev/null
    ends 0 "${run[@]}" "$client"
    has "$out" "holding the lock"
    has "$out" "a mail to ann@example.org"
    has "$out" "a mail to bob@example.org"
    has "$out" "call 2: allowed"
    has "$out" "call 3: limited"
    is "nothing is held" "$(tackle --json lock list | jq -r length)" 0
    tried=$((tried + 1))
done
[ "$tried" -ge 2 ] || fail "only $tried clients could be tried"
unserve
