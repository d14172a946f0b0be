#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/ARCHITECTURE.md names every C file of src/, in a section that names its folder: `push` or
# `push.c` for src/queue/push.c. The main file of a folder (src/queue/queue.c) needs no name. It
# names no file of a table that is gone.
set -u
cd "$TACKLE_SOURCE" || exit 1
failures=0

# is_named FOLDER STEM: some section has `src/FOLDER`, or is that of the core, and `STEM`.
is_named() {
    awk -v folder="$1" -v stem="$2" '
        function settle() { if (folder_here && stem_here) found = 1; folder_here = stem_here = 0 }
        /^## / { settle() }
        folder == "core" && /^## The layers of the core/ { folder_here = 1 }
        $0 ~ "`src/" folder "`" { folder_here = 1 }
        $0 ~ "`" stem "(\\.[ch])?`" { stem_here = 1 }
        END { settle(); exit !found }' docs/ARCHITECTURE.md
}

while read -r path; do
    folder=${path#src/} stem=$(basename "$path")
    folder=${folder%%/*} stem=${stem%.*}
    [ "$stem" = "$folder" ] || is_named "$folder" "$stem" || {
        echo "docs/ARCHITECTURE.md does not name $path: add \`$stem\` to the table of \`src/$folder\`"
        failures=$((failures + 1))
    }
done < <(find src -name '*.c' -o -name '*.h' | sort)

# The first column of a table names files that exist.
while read -r stem; do
    find src cli serve -name "$stem" -o -name "$stem.[ch]" | grep -q . || {
        echo "docs/ARCHITECTURE.md names \`$stem\` in a table of files, which is gone: take it out"
        failures=$((failures + 1))
    }
done < <(awk '/^\| (file|files|folder) / { table = 1 } !/^\|/ { table = 0 }
              table { split($0, cells, "|"); print cells[2] }' docs/ARCHITECTURE.md |
         grep -oE '`[^`]+`' | tr -d '`' | grep -v '^src/')

[ "$failures" = 0 ] || exit 1
