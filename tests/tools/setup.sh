#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/setup says exactly what is missing where it cannot install anything.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bin=$dir/bin setup=$dir/tools/setup # a copy, for it keeps notes beside itself
mkdir "$bin" "$dir/tools"
cp "$TACKLE_SOURCE/tools/setup" "$setup"
for tool in sh cat dirname find grep id tr; do
    ln -s "$(command -v $tool)" "$bin/$tool"
done

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Runs setup with nothing on PATH but $bin; the exit code must be the first argument.
says() {
    local code=0
    output=$(PATH=$bin "$bin/sh" "$setup" "${@:2}" 2>&1) || code=$?
    [ $code -eq "$1" ] || fail "exit code $code instead of $1: $output"
}
shows() {
    grep -qF -- "$1" <<<"$output" || fail "'$1' is not in: $output"
}

says 69 build
shows "this system has no apt"
shows "  libhiredis-dev"
! grep -q valkey-server <<<"$output" || fail "build asks for what only the tests need: $output"

says 69 test
shows "  valkey-server"

says 64 everything
shows "usage: tools/setup [build] [run] [test]"

# setup does not ask for a tool that is there.
for tool in gcc make cmake; do
    printf '#!/bin/sh\n' >"$bin/$tool"
    chmod +x "$bin/$tool"
done
says 69 build
! grep -qE '^  (gcc|libc6-dev|make|cmake)$' <<<"$output" || fail "asks for what is there: $output"
shows "  libssl-dev"

echo "setup: all good"
