# SPDX-License-Identifier: MIT
"""Types on a terminal of `tackle search shell q`, and checks what the screen shows."""
import os
import pty
import select
import signal
import sys
import termios
import time


class Terminal:
    """A program on a terminal of its own, and what of its screen was not looked at yet."""

    def __init__(self, *command, edits=True):
        self.edits = edits
        self.process, self.keys = pty.fork()
        if self.process == 0:
            os.execvp(command[0], command)
        self.screen = b""

    def sees(self, text):
        """Waits for a text behind those that were seen before."""
        deadline = time.monotonic() + 60
        wanted = text.encode()
        while wanted not in self.screen:
            left = max(0, deadline - time.monotonic())
            if not select.select([self.keys], [], [], left)[0]:
                sys.exit(f"FAILED: no {text!r} on the screen: {self.screen!r}")
            try:
                self.screen += os.read(self.keys, 4096)
            except OSError:  # the program has ended
                sys.exit(f"FAILED: ended without {text!r}: {self.screen!r}")
        seen, self.screen = self.screen.split(wanted, 1)
        return seen.decode()

    def types(self, keys):
        os.write(self.keys, keys.encode())

    def prompts(self):
        """Waits for the prompt. Behind it the editor takes over the terminal, which edits lines of
        its own before that."""
        self.sees("q> ")
        deadline = time.monotonic() + 60
        while self.edits and self.mode()[3] & termios.ICANON:
            if time.monotonic() > deadline:
                sys.exit("FAILED: nobody edits the line")
            time.sleep(0.005)

    def asks(self, keys, *answers):
        """Types a line when the prompt is there, and waits for the answers."""
        self.prompts()
        self.types(keys + "\r")
        for answer in answers:
            self.sees(answer)

    def mode(self):
        """Settings of the terminal, as the program left them."""
        return termios.tcgetattr(self.keys)[:4]

    def ends(self):
        while True:
            try:
                if not os.read(self.keys, 4096):
                    break
            except OSError:
                break
        return os.waitpid(self.process, 0)[1]


def check(what, got, expected):
    if got != expected:
        sys.exit(f"FAILED: {what}\ngot:      {got!r}\nexpected: {expected!r}")


UP = "\x1b[A"
DOWN = "\x1b[B"
BACK = "\x7f"
TAB = "\t"


def history():
    t = Terminal("tackle", "search", "shell", "q", "--json")
    t.asks("server", '"b"', "]")
    t.asks("lock", '"a"', "]")
    t.asks(UP + UP, '"b"', "]")
    t.asks(UP + UP + UP + DOWN, '"a"', "]")
    t.asks(UP + BACK * 4 + "server -lock", '"total": 1', "]")
    t.asks(":quit")
    check("the end", t.ends(), 0)


def completion():
    t = Terminal("tackle", "search", "shell", "q", "--json")
    t.asks(f":so{TAB}-vo{TAB}")
    t.asks("*", '"b"', '"c"', '"a"', "]")
    t.asks(f":so{TAB}vo{TAB}")
    t.asks("*", '"a"', '"c"', '"b"', "]")
    t.asks(f"server vo{TAB}>1 -la{TAB}zh", '"b"', "]")
    t.asks(f"服务器 vo{TAB}2", '"c"', "]")
    t.asks(f":fac{TAB}vo{TAB}", "vo")  # a number has no facets: nothing was completed
    t.asks(f":fac{TAB}la{TAB}")
    t.asks("server", '"facets"', '"lang"', "]")
    t.asks(f":sh{TAB}te{TAB},vo{TAB}")
    t.asks("lock", '"votes"', '"text"', "]")
    t.prompts()
    t.types(f":s{TAB}{TAB}")
    t.sees(":show")
    t.sees(":size")
    t.types(BACK * 2 + "\x04")
    t.types("\x04")
    check("the end of the keys", t.ends(), 0)


def wide_characters():
    t = Terminal("tackle", "search", "shell", "q", "--json")
    t.asks("锁" + BACK + "服务员" + BACK + "器", '"c"', "]")
    t.asks("服器\x1b[D务", '"c"', "]")
    t.asks(UP, '"c"', "]")
    t.asks(":quit")
    check("the end", t.ends(), 0)


def signals():
    t = Terminal("sh", "-c", "trap : INT; tackle search shell q; echo code $?; read -r line")
    before = t.mode()
    t.prompts()
    t.types("lo\x03")
    t.sees(f"code {128 + signal.SIGINT}")
    check("the terminal after Ctrl-C", t.mode(), before)
    t.types("\r")
    t.ends()


def no_editor():
    """A terminal that cannot do it: lines are read as from a pipe."""
    os.environ["TERM"] = "dumb"
    t = Terminal("tackle", "search", "shell", "q", "--json", edits=False)
    t.asks("server", '"b"', "]")
    t.asks(f"vo{TAB}", '"total": 0', "]")
    t.asks('"open', "not closed")
    t.asks(":quit")
    check("the end", t.ends(), 0)


if __name__ == "__main__":
    os.environ["TERM"] = "xterm"
    globals()[sys.argv[1]]()
