#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tackle serve on a socket that systemd has opened, and the units for it.
. "$(dirname "$0")/lib.bash"
start_server

# hand_over KIND: starts tackle serve as systemd does, with descriptor 3. Leaves $server and, when it
# serves, $address in the file.
hand_over() {
    : >"$home/serve.log"
    python3 - "$1" "$home" <<'END' 2>"$home/serve.log" &
import os, socket, sys
kind, home = sys.argv[1:3]
if kind == "unix":
    s = socket.socket(socket.AF_UNIX)
    s.bind(home + "/handed")
else:
    s = socket.socket(type=socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    s.bind(("0.0.0.0" if kind == "any" else "127.0.0.1", 0))
if kind in ("tcp", "any", "unix", "foreign"):
    s.listen()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
if s.fileno() != 3:
    s.close()
os.environ["LISTEN_FDS"] = "1"
os.environ["LISTEN_PID"] = str(os.getppid() if kind == "foreign" else os.getpid())
os.execvp("tackle", ["tackle", "serve", "--listen", "unix:" + home + "/own"])
END
    server=$!
}

hand_over tcp
eventually grep -q 'serving on http://127.0.0.1:' "$home/serve.log"
base=$(sed -n 's/.*serving on \(http:[^,]*\).*/\1/p' "$home/serve.log")
answers 200 /v1/queue/push '{"name": "q", "payload": "x"}'
answers 403 /healthz -H 'Host: evil.example'
[ ! -e "$home/own" ] || fail "it listens at its own address, too"
unserve

hand_over unix
eventually grep -q 'serving on unix:' "$home/serve.log"
eventually curl -sf --unix-socket "$home/handed" http://any.name/v1/ping
unserve
[ -S "$home/handed" ] || fail "systemd's socket was removed"

# A socket that other machines can reach needs tokens, and one that does not listen is refused.
for kind in any:64 udp:70 mute:70; do
    hand_over "${kind%:*}"
    wait "$server"
    is "${kind%:*}" "$?" "${kind#*:}"
done

# It was meant for another program.
hand_over foreign
eventually curl -sf --unix-socket "$home/own" http://any.name/v1/ping
unserve

# ---- The units ------------------------------------------------------------------------------------

unit=$TACKLE_BUILD/tackle-serve.service
[ -f "$unit" ] || exit 0 # nothing is installed by this build
if command -v systemd-analyze >/dev/null; then
    sed "s,^ExecStart=[^ ]*,ExecStart=\"$TACKLE\"," "$unit" >"$home/tackle-serve.service"
    cp "$TACKLE_SOURCE/serve/systemd/tackle-serve.socket" "$home"
    said=$(systemd-analyze verify --man=no "$home/tackle-serve.service" "$home/tackle-serve.socket" 2>&1)
    lacks "$said" tackle-serve
fi
