# SPDX-License-Identifier: MIT
"""A program as the foreground process of a pseudo-terminal, for tests of what a person meets.

Tests wait for what the program prints, never for a time.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

PATIENCE = 60  # seconds; nothing waits so long unless it hangs


class Terminal:
    """One run of a program; `seen` is what the screen got so far."""

    def __init__(self, *words, env=None, columns=0):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # a shell starts background jobs with these ignored, which llamactl respects
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            if columns:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            os.execve(words[0], words, {**os.environ, **(env or {})})

    def read(self, until):
        """Reads until the function says yes to what was seen, or to the end."""
        end = time.monotonic() + PATIENCE
        while not until(self.seen):
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                os.kill(self.pid, signal.SIGKILL)
                return False
            try:
                more = os.read(self.fd, 4096)
            except OSError:  # the other side is closed
                more = b""
            if not more:
                return False
            self.seen += more
        return True

    def type(self, keys):
        os.write(self.fd, keys)

    def sees(self, text, after=0):
        """Reads until the text has appeared, beginning at a place in what was seen."""
        return self.read(lambda seen: text in seen[after:])

    def end(self):
        """The exit status, negative if a signal killed the program."""
        self.read(lambda seen: False)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status
