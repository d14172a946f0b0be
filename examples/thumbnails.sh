#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A thumbnailer. Pictures go into a queue, workers on any number of machines make them small:
#
#     thumbnails.sh push pictures/*.jpg    # anywhere; a picture that waits already is not queued twice
#     thumbnails.sh work thumbnails 4      # on each machine: four at a time, until SIGTERM or Ctrl-C
#     thumbnails.sh                        # try it: a few pictures that it makes itself
#
# It needs ImageMagick, GraphicsMagick, libvips or ffmpeg. Where there is none, gzip stands in, which
# makes files smaller, too, but nobody would call them thumbnails.
set -euo pipefail
queue=${THUMBNAILS_QUEUE:-thumbnails}
self=$(realpath "$0")

# ---- One picture: the command that the worker runs ------------------------------------------------

# shrink FROM TO: with the tool of this machine.
shrink() {
    case $THUMBNAILS_TOOL in
    magick) magick "$1" -thumbnail 128x128 "$2" ;;
    convert) convert "$1" -thumbnail 128x128 "$2" ;;
    gm) gm convert "$1" -thumbnail 128x128 "$2" ;;
    vipsthumbnail) vipsthumbnail "$1" --size 128 -o "$(realpath "$2")" ;;
    ffmpeg) ffmpeg -nostdin -loglevel error -y -i "$1" -vf "scale=128:-1" -frames:v 1 "$2" ;;
    gzip) gzip -c "$1" >"$2" ;;
    esac
}

# The payload, on standard input, is the path of the picture. A job may run twice, if a worker died
# before it could say that it was done: so the thumbnail is made aside and renamed into place.
thumbnail() {
    local picture name
    picture=$(cat)
    name=$(basename "$picture")
    part=$THUMBNAILS_DIR/.$TACKLE_JOB_ID.$name.png
    [ -e "$picture" ] || {
        echo "$picture is gone" >&2
        exit 65 # to the dead letters: no retry will bring it back
    }
    [ -s "$picture" ] || {
        echo "$picture is still empty: being written?" >&2
        exit 75 # not now: again in a while, and that was no failed attempt
    }
    trap 'rm -f "$part"' EXIT
    shrink "$picture" "$part" # any other failure: again later, with what it says as the reason
    mv "$part" "$THUMBNAILS_DIR/$name.png"
    echo "$name: $(stat -c %s "$picture") bytes, thumbnail $(stat -c %s "$THUMBNAILS_DIR/$name.png")"
}

# ---- Pushing and working --------------------------------------------------------------------------

# Paths from the root, because workers have a directory of their own. One line for each job: thousands
# take a few trips.
push() {
    realpath -- "$@" | tackle queue push "$queue" --lines --unique-payload --time-limit 1m
}

# The first tool that can shrink a picture; a program of that name is not enough.
find_tool() {
    local sample
    sample=$(mktemp -d)
    make_picture "$sample/in.ppm"
    for THUMBNAILS_TOOL in magick convert gm vipsthumbnail ffmpeg gzip; do
        shrink "$sample/in.ppm" "$sample/out.png" >/dev/null 2>&1 && [ -s "$sample/out.png" ] && break
    done
    rm -r "$sample"
    [ "$THUMBNAILS_TOOL" != gzip ] ||
        echo "thumbnails: no image tool here, gzip stands in: these are no pictures" >&2
    export THUMBNAILS_TOOL
}

work() { # DIRECTORY THREADS [OPTION...]
    mkdir -p "$1"
    THUMBNAILS_DIR=$(realpath "$1")
    export THUMBNAILS_DIR
    find_tool
    exec tackle queue work "$queue" --threads "$2" "${@:3}" -- "$self" thumbnail
}

# ---- Trying it ------------------------------------------------------------------------------------

# A picture of 256 times 256 in one colour: the format is so simple that no tool is needed.
make_picture() {
    {
        printf 'P6 256 256 255\n'
        head -c $((256 * 256 * 3)) /dev/zero | tr '\0' "\\${2:-100}"
    } >"$1"
}

try() {
    local colour
    directory=$(mktemp -d)
    trap 'rm -r "$directory"' EXIT
    mkdir "$directory/pictures"
    for colour in 100 150 200; do
        make_picture "$directory/pictures/$colour.ppm" $colour
    done
    push "$directory"/pictures/* "$directory/pictures/missing.ppm"
    # As many as there are are shrunk, one is missing: exit code 1.
    "$self" work "$directory/thumbnails" 2 --drain || echo "not all of them:"
    tackle queue dead "$queue"
    ls "$directory/thumbnails"
    tackle queue drop "$queue" --yes
}

case ${1-try} in
push) push "${@:2}" ;;
work) work "${2?the directory of the thumbnails}" "${3:-1}" "${@:4}" ;;
thumbnail) thumbnail ;;
try) try ;;
*) sed -n '/^#     /s/^#     //p' "$self" >&2 && exit 64 ;;
esac
