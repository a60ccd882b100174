# SPDX-License-Identifier: MIT
"""Opens listening sockets and executes a program with them, as systemd does.

usage: activate.py PORT-FILE NAMES ADDRESS... -- PROGRAM ARGUMENT...

NAMES are those of the sockets, separated by colons.  An ADDRESS is the path of a unix socket, an IPv4
address, whose port the system chooses, or udp.  The file receives the ports."""
import os
import socket
import sys

ports, names, *rest = sys.argv[1:]
end = rest.index("--")
addresses, command = rest[:end], rest[end + 1:]
socks = []
for a in addresses:
    s = socket.socket(socket.AF_UNIX if a.startswith("/") else socket.AF_INET,
                      socket.SOCK_DGRAM if a == "udp" else socket.SOCK_STREAM)
    s.bind(a if a.startswith("/") else ("127.0.0.1" if a == "udp" else a, 0))
    if a != "udp":
        s.listen(16)
    socks.append(s)
with open(ports, "w") as f:
    f.write("".join(f"{s.getsockname()[1]}\n" for s in socks if s.family == socket.AF_INET))
# first out of the way of the numbers that they get
high = [os.dup2(s.fileno(), 100 + i) for i, s in enumerate(socks)]
for s in socks:
    s.close()
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
    os.close(fd)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(high)), LISTEN_FDNAMES=names)
os.execv(command[0], command)
