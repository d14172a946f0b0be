# SPDX-License-Identifier: MIT
#
# What the tests of the command share: a home of their own, and checks that show both sides.
set -uo pipefail

home=$(mktemp -d /tmp/tackle-cli.XXXXXX)
export HOME=$home/home XDG_DATA_HOME=$home/data XDG_CONFIG_HOME=$home/config
export TACKLE_CONFIG=/dev/null TACKLE_SERVER=${TACKLE_TEST_SERVER-}
unset TACKLE_URL REDIS_URL TACKLE_NODES TACKLE_NAMESPACE TACKLE_PASSWORD NO_COLOR
# English, whatever the developer's language is.
unset LANGUAGE
export LC_MESSAGES=C
[[ ${LC_ALL-} != zh* ]] || export LC_ALL=C.UTF-8
PATH=$(dirname "$TACKLE"):$PATH
export TMPDIR=$home/tmp # servers that an example starts there are found by clean_up()
mkdir "$HOME" "$TMPDIR"

# Every private server that a test may have left, wherever it has put it.
clean_up() {
    find "$home" -type s -name socket -printf '%h\n' | while read -r directory; do
        tackle --url "embedded:$directory" server stop >/dev/null 2>&1
    done
    rm -rf "$home"
}
trap clean_up EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# ends CODE COMMAND...: runs it, leaving $out and $err, and checks the exit code.
ends() {
    local expected=$1 code
    shift
    "$@" >"$home/out" 2>"$home/err" </dev/null
    code=$?
    out=$(tr -d '\0' <"$home/out") err=$(tr -d '\0' <"$home/err")
    [ "$code" = "$expected" ] ||
        fail "$* ended with $code, expected $expected"$'\n'"out: $out"$'\n'"err: $err"
}

# is WHAT GOT EXPECTED
is() {
    [ "$2" = "$3" ] || fail "$1"$'\n'"got:      $2"$'\n'"expected: $3"
}

# has TEXT PART
has() {
    [[ $1 == *"$2"* ]] || fail "no '$2' in: $1"
}

lacks() {
    [[ $1 != *"$2"* ]] || fail "'$2' in: $1"
}

# Every verb as a line "component verb"; the component alone when it is the command.
every_verb() {
    tackle help --completion | awk '$1 != "-" { print $1, $2 == "-" ? "" : $2 }'
}

# An in-memory server for the test: sets TACKLE_URL.
start_server() {
    export TACKLE_URL=embedded:$home/server?durability=none
    tackle server start >/dev/null || fail "no server"
}

# become USER PAGE: makes the user of "ACL SETUSER USER ..." in docs/PAGE, with the indented lines that
# follow, on the test's server; from then on every command is that user's.
become() {
    local rules socket
    read -ra rules <<<"$(awk -v first="^ACL SETUSER $1 " '
        $0 ~ first { inside = 1; print; next }
        inside && !/^  / { exit }
        inside' "$TACKLE_SOURCE/docs/$2" | tr '\n' ' ')"
    [ ${#rules[@]} -gt 3 ] || fail "docs/$2 has no user $1"
    tackle call "${rules[@]}" >/dev/null || fail "docs/$2: the user $1 cannot be made"
    socket=$(tackle server status --json | jq -r .socket)
    export TACKLE_URL=unix://$1@$socket TACKLE_PASSWORD=secret
}
