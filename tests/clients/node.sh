#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The client for Node in clients/node: it is built as its page says, and runs. Nothing is downloaded.
skip() {
    echo "skipped: $*"
    exit 77
}
[ -z "${TACKLE_SANITIZE-}" ] || skip "Node is built without sanitizers"
command -v node >/dev/null || skip "no node (package nodejs)"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' ||
    skip "$(node --version) is older than version 18"
for include in "$(node -p 'path.resolve(process.execPath, "../../include/node")')" /usr/include/node; do
    [ -f "$include/node_api.h" ] && [ -f "$include/uv.h" ] && break
done
[ -f "$include/node_api.h" ] && [ -f "$include/uv.h" ] ||
    skip "no headers of Node, node_api.h and uv.h (package libnode-dev)"

. "$TACKLE_SOURCE/tests/cli/lib.bash"
start_server
cp "$TACKLE_SOURCE"/clients/node/* "$home"
"${CC:-cc}" -Wall -Wextra -Werror -shared -fPIC -I"$include" -I"$TACKLE_SOURCE/include" \
    -I"$TACKLE_BUILD/include" -o "$home/tackle.node" "$home/tackle.c" -L"$TACKLE_BUILD" -ltackle \
    -Wl,-rpath,"$TACKLE_BUILD" || fail "it does not build"

ends 0 node "$home/example.mjs"
has "$out" "holding the lock, fence "
has "$out" "TKL_BUSY: held by another owner"
has "$out" "a mail to ann@example.org"
has "$out" "a mail to bob@example.org"
has "$out" "call 2: allowed"
has "$out" "call 3: limited"
is "nothing is held" "$(tackle --json lock list | jq -r length)" 0

export TACKLE_NODE_CLIENT=$home/tackle.mjs
timeout 300 node --expose-gc "$TACKLE_SOURCE/tests/clients/node_test.mjs" || fail "node_test.mjs ended with $?"
is "nothing is held" "$(tackle --json lock list | jq -r length)" 0
