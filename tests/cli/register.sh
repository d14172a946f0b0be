#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The register of names: list reads it, --scan looks through all keys.
. "$(dirname "$0")/lib.bash"
start_server

TACKLE_REGISTER=no tackle queue push older x >/dev/null || fail "a push without the register"
ends 0 tackle queue push newer x
ends 0 tackle queue list --json
has "$out" '"newer"'
lacks "$out" '"older"'
ends 0 tackle queue list --scan --json
has "$out" '"newer"'
has "$out" '"older"'
ends 0 tackle queue push older y # a program with the register uses it again
ends 0 tackle queue list --json
has "$out" '"older"'

# Every component that lists its names reads the register.
ends 0 tackle counter add hits
ends 0 tackle log write app info hello
ends 0 tackle bits set days 1
ends 0 tackle unique add visitors alice
ends 0 tackle lock acquire deploy --lease 1h
for pair in counter:hits log:app bits:days unique:visitors lock:deploy; do
    ends 0 tackle "${pair%:*}" list --json
    has "$out" "\"${pair#*:}\""
done
is "no walk but the one asked for" "$(tackle call INFO commandstats | grep -c cmdstat_scan)" 1
ends 64 tackle queue push newer x --scan
echo "register: all good"
