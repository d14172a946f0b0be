#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The command and a part of its tests work anywhere, for anyone: in a folder with blanks, as an
# ordinary user, with a umask of 077, a long TMPDIR with blanks, and a PATH with a folder that the
# user may not search. Root becomes `nobody` for it.
#
# ctest: cost 8
. "$(dirname "$0")/lib.bash"

copy="$home/my projects/tackle copy"
mkdir -p "$copy/tests" "$copy/build" "$home/closed"
cp -r "$TACKLE_SOURCE/tests/cli" "$copy/tests"
cp -r "$TACKLE_SOURCE/docs" "$TACKLE_SOURCE/README.md" "$copy"
cp -P "$TACKLE_BUILD"/tackle "$TACKLE_BUILD"/libtackle*.so* "$copy/build"
long="$home/a folder for temporary files $(printf 'x%.0s' {1..100})"
mkdir "$long"
chmod 000 "$home/closed"

anyone=(env)
if [ "$(id -u)" = 0 ] && setpriv --reuid=nobody --regid=nogroup --clear-groups true 2>/dev/null; then
    anyone=(setpriv --reuid=nobody --regid=nogroup --clear-groups env)
    chmod 755 "$home"
    chown -R nobody "$home/my projects" "$HOME" "$long"
fi
as_anyone() {
    "${anyone[@]}" HOME="$HOME" TMPDIR="$long" LD_LIBRARY_PATH="$copy/build" \
        TACKLE="$copy/build/tackle" TACKLE_BUILD="$copy/build" TACKLE_SOURCE="$copy" \
        PATH="$home/closed:$copy/build:$PATH" bash -c 'umask 077; cd "$TACKLE_SOURCE" && "$@"' - "$@"
}

ends 0 as_anyone tackle --url embedded: ping
ends 127 as_anyone tackle --url embedded: lock run door -- no-such-command-anywhere
has "$err" "No such file or directory"
ends 126 as_anyone tackle --url embedded: lock run door -- "$copy/README.md"
ends 0 as_anyone tackle --url "embedded:$copy/data" counter add hits
ends 0 as_anyone tackle --url "embedded:$copy/data" server stop
for part in service counter; do
    ends 0 as_anyone bash "tests/cli/$part.sh"
done
is "servers that are left" "$(find "$long" -type s)" ""
