#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The commands of docs/tutorial.md and docs/recipes.md work as they stand there. `#=> text` behind a
# command, or below it, says what is printed. A recipe begins on an empty server in an empty folder.
# The tutorial is one session; a C block is saved under the name in the line before it.
# ctest: cost 40
. "$(dirname "$0")/lib.bash"
page=$TACKLE_SOURCE/docs

# blocks PAGE: writes each sh block, and each C block with a name, to $home/blocks/NNN.EXT; the first
# line of a block says where it is from.
blocks() {
    rm -rf "$home/blocks"
    mkdir "$home/blocks"
    awk -v out="$home/blocks" '
        inside && /^```/ { inside = 0; close(file); next }
        inside { print > file; next }
        /^#+ / { heading = $0 }
        /^```sh$/ { inside = 1; file = sprintf("%s/%03d.sh", out, ++count); print "# " FNR ": " heading > file }
        /^```c$/ {
            inside = 1
            if (match(before, /`[a-z_]+\.c`/))
                file = sprintf("%s/%03d.%s", out, ++count, substr(before, RSTART + 1, RLENGTH - 2))
            else
                file = "/dev/null"
        }
        NF { before = $0 }' "$1"
}

# check BLOCK FOLDER: runs the block in the folder; all of its `#=>` texts must be printed.
check() {
    (cd "$2" && bash -euo pipefail "$1") >"$home/said" 2>&1 ||
        fail "$(head -1 "$1") ended with $?: $(cat "$home/said")"$'\n'"$(cat "$1")"
    while read -r text; do
        grep -qF -- "$text" "$home/said" ||
            fail "$(head -1 "$1") does not print '$text': $(cat "$home/said")"
    done < <(sed -nE 's/.*#=> *//p' "$1")
}

# ---- Recipes --------------------------------------------------------------------------------------

start_server
blocks "$page/recipes.md"
count=$(ls "$home"/blocks/*.sh | wc -l)
[ "$count" -ge 50 ] || fail "only $count recipes"
for block in "$home"/blocks/*.sh; do
    tackle call FLUSHALL >/dev/null
    mkdir "$home/kitchen"
    check "$block" "$home/kitchen"
    rm -rf "$home/kitchen"
done

# ---- The tutorial ---------------------------------------------------------------------------------

tackle call FLUSHALL >/dev/null
blocks "$page/tutorial.md"
mkdir "$home/site"
export PKG_CONFIG_PATH=$home/pkg
# The pages do not quote what pkg-config says: its paths must have no blanks.
mkdir "$home/pkg"
ln -s "$TACKLE_SOURCE/include" "$home/include"
ln -s "$TACKLE_BUILD" "$home/build"
cat >"$home/pkg/tackle.pc" <<END
Name: tackle
Description: the library of this build
Version: 0
Cflags: -I$home/include -I$home/build/include ${TACKLE_SANITIZE:+-fsanitize=$TACKLE_SANITIZE}
Libs: -L$home/build -Wl,-rpath,$home/build -ltackle
END
for block in "$home"/blocks/*; do
    case $block in
    *.sh) check "$block" "$home/site" ;;
    *) cp "$block" "$home/site/$(basename "$block" | cut -c5-)" ;;
    esac
done
echo "$count recipes, and the tutorial: all good"
