# SPDX-License-Identifier: MIT
#
# What the tests of tackle serve share: a server of the test, tackle serve on it, and calls.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.bash"

server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null; clean_up' EXIT

# serve OPTION...: starts tackle serve on a free port. Leaves $server (pid), $base (URL), $log (file).
serve() {
    log=$home/serve.log
    : >"$log" # the line of an earlier server must be gone before the wait
    command tackle serve --listen 127.0.0.1:0 "$@" 2>"$log" &
    server=$!
    eventually grep -q 'serving on' "$log"
    base=$(sed -n 's/.*serving on \(https*:[^,]*\).*/\1/p' "$log")
    port=${base##*:}
}

# Ends it as an operator does, and checks that it ends well.
unserve() {
    kill -TERM "$server"
    wait "$server" || fail "tackle serve ended with $?: $(cat "$log")"
}

# eventually COMMAND...: waits until it succeeds.
eventually() {
    local deadline=$((SECONDS + 60))
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || fail "never: $*"
        sleep 0.05
    done
}

# call PATH [CURL-ARGUMENT...]: leaves $status and $body; with an object as its second argument, a POST.
call() {
    local path=$1
    shift
    [ $# = 0 ] || [[ $1 == -* ]] || set -- --data-binary "$@"
    status=$(curl -s -o "$home/body" -D "$home/head" -w '%{http_code}' "$@" "$base$path")
    body=$(tr -d '\0' <"$home/body")
}

# answers STATUS PATH [...]: the same, and checks the status.
answers() {
    local expected=$1
    shift
    call "$@"
    [ "$status" = "$expected" ] || fail "$* is answered with $status, expected $expected: $body"
}

field() { jq -r "$1" <<<"$body"; }
