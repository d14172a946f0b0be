#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `tackle search shell` on a terminal: history, completion and wide characters, by libedit.
. "$(dirname "$0")/lib.bash"
start_server

tackle search create q --field votes:numeric --field lang:text >/dev/null
tackle search add q a 'spin lock' --set votes=1 --set lang=en >/dev/null
tackle search add q b 'the server' --set votes=3 --set lang=en >/dev/null
tackle search add q c '服务器上的锁' --set votes=2 --set lang=zh >/dev/null
types() {
    /usr/bin/python3 "$TACKLE_SOURCE/tests/cli/search_shell.py" "$1" || fail "$1"
}

types no_editor
if ! /usr/bin/python3 -c 'import ctypes; ctypes.CDLL("libedit.so.2")' 2>/dev/null; then
    echo "skipped: the editor (package libedit2 is not installed)"
    exit 77
fi
types history
types completion
types wide_characters
LC_ALL=C types wide_characters
types signals

echo "search_shell: all good"
