#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The library runs on fibers, too (src/core/fiber.h): it sleeps in tkl__poll(), tkl__cond_wait(),
# tkl__sleep_until() and so on, and has no thread-local variables. Exceptions are the files that make
# these, threads of the library, and the start of private servers.
set -u
cd "$TACKLE_SOURCE" || exit 1
failures=0

# forbid PATTERN ALLOWED INSTEAD: no file but the allowed ones has the pattern.
forbid() {
    local found
    found=$(grep -rnE "$1" src --include='*.[ch]' | grep -vE "^src/($2)\.[ch]:")
    [ -z "$found" ] && return
    echo "$found"
    echo "use $3 instead"
    failures=$((failures + 1))
}

forbid '\b_Thread_local\b' 'core/(own|fiber)' 'core/own.h'
forbid '\bpthread_cond_' 'core/(cond|clock)' 'core/cond.h'
forbid '(^|[^_a-z`>])p?poll\([^)]' 'core/(fiber|follow|tracking)|server/(program|embedded)' 'tkl__poll()'
forbid '\b(nanosleep|clock_nanosleep|usleep|sleep)\(' 'core/clock' 'tkl__sleep_until()'

[ "$failures" -eq 0 ] || exit 1
echo "fibers: all good"
