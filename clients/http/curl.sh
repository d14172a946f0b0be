#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tackle over HTTP with curl alone. `tackle serve` must run; $TACKLE_HTTP is its address, and
# $TACKLE_HTTP_TOKEN a token, if it needs one.
set -eu
base=${TACKLE_HTTP:-http://127.0.0.1:8480}

# call COMPONENT/VERB JSON: prints the answer, or fails.
call() {
    curl -sS --fail-with-body -H 'Content-Type: application/json' \
        ${TACKLE_HTTP_TOKEN:+-H "Authorization: Bearer $TACKLE_HTTP_TOKEN"} -d "$2" "$base/v1/$1"
}
# field NAME: a field of the object on standard input.
field() { sed -n "s/.*\"$1\": \"\\{0,1\\}\\([^\",}]*\\).*/\\1/p"; }

# A critical section: one at a time on all machines. The lease ends by itself if we crash.
token=$(call lock/acquire '{"name": "backup", "wait": "30s", "lease": "1m"}' | field token)
echo "holding the lock"
call lock/release "{\"name\": \"backup\", \"token\": \"$token\"}" >/dev/null

# A producer, and a worker: a job that is not acknowledged comes back.
call queue/push '{"name": "mails", "payload": ["ann@example.org", "bob@example.org"]}' >/dev/null
while job=$(call queue/claim '{"name": "mails", "wait": "100ms"}'); do
    echo "a mail to $(echo "$job" | field payload)"
    id=$(echo "$job" | field id) token=$(echo "$job" | field token)
    call queue/ack "{\"name\": \"mails\", \"id\": \"$id\", \"token\": \"$token\"}" >/dev/null
done

# A limit: status 429 when it is reached, with Retry-After.
for attempt in 1 2 3; do
    if call limit/check '{"name": "api", "key": "ann", "rate": "2/h"}' >/dev/null 2>&1; then
        echo "call $attempt: allowed"
    else
        echo "call $attempt: limited"
    fi
done
