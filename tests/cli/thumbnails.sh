#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# examples/thumbnails.sh, with the image tool that is here, or its stand-in.
. "$(dirname "$0")/lib.bash"
start_server
thumbnails=$TACKLE_SOURCE/examples/thumbnails.sh

ends 0 "$thumbnails"
has "$out" "4 pushed"
for colour in 100 150 200; do
    has "$out" "$colour.ppm: 196623 bytes, thumbnail "
    has "$out" $'\n'"$colour.ppm.png"
done
has "$err" "missing.ppm is gone"
lacks "$err" "failed after"
lacks "$out" "missing.ppm.png"
is "nothing stays" "$(tackle queue list --json)" "[]"

# Twice the same picture is one job.
printf 'P6 1 1 255\nabc' >"$home/small.ppm"
ends 0 "$thumbnails" push "$home/small.ppm"
ends 0 "$thumbnails" push "$home/small.ppm"
has "$out" "0 pushed"
is "one job" "$(tackle queue stats thumbnails --json | jq .ready)" 1

# A picture that is still being written is left for later.
: >"$home/empty.ppm"
ends 0 "$thumbnails" push "$home/empty.ppm"
ends 1 "$thumbnails" work "$home/thumbnails" 2 --drain
has "$err" "still empty"
is "the other is done" "$(ls "$home/thumbnails")" "small.ppm.png"
is "no attempt was used" \
    "$(tackle queue peek thumbnails --state delayed --json | jq -c '[.[] | .attempt]')" "[0]"
ends 64 "$thumbnails" nonsense
echo "thumbnails: all good"
