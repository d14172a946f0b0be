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

# ---- A server that goes or hangs, and comes back -------------------------------------------------

serve
pid=
trap '[ -z "$pid" ] || kill -CONT "$pid" 2>/dev/null
      [ -z "$server" ] || kill -9 "$server" 2>/dev/null
      clean_up' EXIT
mkfifo "$home/to" "$home/from"
python3 "$folder/dashboard.py" "$base" '' trouble <"$home/to" >"$home/from" 2>"$home/browser" &
browser=$!
exec 5>"$home/to" 6<"$home/from"
while read -r -u 6 word; do
    case $word in
    stop) ends 0 tackle server stop ;;
    start) ends 0 tackle server start ;;
    hang) pid=$(tackle server status --json | jq .pid) && kill -STOP "$pid" ;;
    wake) kill -CONT "$pid" ;;
    esac
    echo >&5
done
wait "$browser" || fail "$(cat "$home/browser")"
unserve
