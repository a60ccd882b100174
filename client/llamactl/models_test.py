# SPDX-License-Identifier: MIT
"""What a command prints on a terminal of so many columns: models_test.py COLUMNS PROGRAM WORD..."""
import fcntl
import os
import pty
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:  # the other end is closed
        break
    if not piece:
        break
    text += piece
sys.stdout.write(text.decode().replace("\r\n", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
