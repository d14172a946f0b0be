#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The dashboard in a real Chromium without a window; see dashboard.py. ctest: cost 90
. "$(dirname "$0")/lib.bash"
folder=$(dirname "$0")
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import browser; sys.exit(not browser.program())' \
    "$folder" || { echo "skipped: no chromium"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1

# browse TOKEN TEST...: runs tests of dashboard.py on the server.
browse() {
    python3 "$folder/dashboard.py" "$base" "$@" 2>"$home/browser" || fail "$(cat "$home/browser")"
}

start_server
serve

# All files together are small.
bytes=0
while read -r path; do
    bytes=$((bytes + $(curl -s -o /dev/null -H 'Accept-Encoding: gzip' -w '%{size_download}' "$base/$path")))
done < <(cd "$TACKLE_SOURCE/web" && find . -type f | cut -c3-)
[ "$bytes" -gt 10000 ] && [ "$bytes" -le $((120 << 10)) ] || fail "the dashboard has $bytes bytes"

browse '' empty_pages jobs_and_actions found_jobs flows large_payloads holders refusals other_pages hostile_data languages keyboard labels \
    narrow colours one_stream
unserve

# ---- Tokens ---------------------------------------------------------------------------------------

cat >"$home/tokens" <<'END'
admin    admin-0123456789abcdef   write
report   report-0123456789abcdef  read
narrow   narrow-0123456789abcdef  queue:read
END
chmod 600 "$home/tokens"
ends 0 tackle queue push mails x
serve --token-file "$home/tokens"
browse admin-0123456789abcdef login
unserve

# ---- Servers that go or hang, and come back ------------------------------------------------------

pid=
trap '[ -z "$pid" ] || kill -CONT "$pid" 2>/dev/null
      [ -z "$server" ] || kill -9 "$server" 2>/dev/null
      clean_up' EXIT
mkfifo "$home/to" "$home/from"

server_pid() { tackle server status --json | jq .pid; }

# play TEST: runs a test that says what is to happen to the server.
play() {
    local browser word
    python3 "$folder/dashboard.py" "$base" '' "$1" <"$home/to" >"$home/from" 2>"$home/browser" &
    browser=$!
    exec 5>"$home/to" 6<"$home/from"
    while read -r -u 6 word; do
        case $word in
        stop) ends 0 tackle server stop ;;
        start) ends 0 tackle server start ;;
        hang) pid=$(server_pid) && kill -STOP "$pid" ;;
        wake) kill -CONT "$pid" ;;
        esac
        echo >&5
    done
    exec 5>&- 6<&-
    wait "$browser" || fail "$(cat "$home/browser")"
}

serve
play trouble
unserve

# One of two masters. The other must not notice: it would refuse its own slots, too.
. "$folder/../cli/cluster.bash"
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null
      end_cluster
      clean_up' EXIT
start_cluster
for port in "${ports[@]}"; do
    ends 0 tackle call CONFIG SET cluster-node-timeout 600000 --url "redis://127.0.0.1:$port"
done
server_pid() { cat "$home/node1/pid"; }
export TACKLE_URL=redis+cluster://127.0.0.1:${ports[0]} HUNG=127.0.0.1:${ports[1]}
for i in {1..8}; do ends 0 tackle queue push "q$i" x; done
serve --history 0
play missing_master
unserve
serve --history 0 --allow queue # without the samples
play missing_master
unserve
