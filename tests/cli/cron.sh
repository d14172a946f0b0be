#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle cron`: times in a zone, without a server.
. "$(dirname "$0")/lib.bash"
export TACKLE_URL=unix:///nonexistent TZ=UTC

times() { tackle cron "$@" --json | jq -r '.[].time' | tr '\n' ' '; }

is "a gap" "$(times '30 2 * * *' --zone Europe/Berlin --after 2026-03-28 --count 3)" \
    "2026-03-28T02:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00 "
is "an hour that comes twice" \
    "$(times '30 * * * *' --zone Europe/Berlin --after 2026-10-24T23:59:00Z --count 3)" \
    "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00 2026-10-25T03:30:00+01:00 "
is "UTC" "$(times @daily --after @0 --count 2)" "1970-01-02T00:00:00+00:00 1970-01-03T00:00:00+00:00 "
has "$(tackle cron '0 0 29 2 *' --after 2096-03-01 --count 1)" "Fri 2104-02-29T00:00:00+00:00"
is "five, unless said" "$(tackle cron '* * * * *' --json | jq length)" 5

ends 64 tackle cron '0 0 30 2 *'
has "$err" "never comes"
ends 64 tackle cron '60 * * * *'
has "$err" "minute '60'"
ends 64 tackle cron @daily --zone Mars/Olympus
has "$err" "Mars/Olympus"
ends 64 tackle cron @daily --count 0
ends 64 tackle cron
