# SPDX-License-Identifier: MIT
#
# What the tests of `lock run`, `sem run` and the like share: waiting for things to happen.

# eventually WHAT COMMAND...: waits until the command succeeds.
eventually() {
    local what=$1 i
    shift
    for ((i = 0; i < 1500; i++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.02
    done
    fail "never: $what"
}

# yields FILTER EXPECTED: the JSON in $out, by jq.
yields() {
    is "$1 of $out" "$(jq -c "$1" <<<"$out")" "$2"
}

# ended PID CODE: a program in the background ends so.
ended() {
    wait "$1" 2>/dev/null
    is "exit code" "$?" "$2"
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# background COMMAND... &: one that Ctrl-C reaches; a shell makes them ignore it.
background() { exec env --default-signal=INT,QUIT "$@"; }
