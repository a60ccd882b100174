#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A minimal client of llamad: sends one request and prints the reply.

    ask.py SOCKET OP [KEY=VALUE]...     the reply, one "key value" a line
    ask.py SOCKET stream OP KEY=VALUE...     the text of the stream that the op began

Values that look like numbers are numbers.  The framing is nng's: 8 bytes of greeting, then
frames of 01, a length of 64 bits, a request number of 32 bits, the message.  Ends with status 1
when the answer is an error."""
import os
import socket
import struct
import sys

import msgpack


class Client:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(path)
        self.sock.sendall(b"\0SP\0\0\x30\0\0")
        if self.take(8) != b"\0SP\0\0\x31\0\0":
            raise SystemExit("ask.py: no REP socket there")

    def take(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise SystemExit("ask.py: the connection was closed")
            data += more
        return data

    def ask(self, op, **fields):
        body = struct.pack(">I", 0x80000001) + msgpack.packb({"v": 1, "op": op, **fields})
        self.sock.sendall(b"\1" + struct.pack(">Q", len(body)) + body)
        length = struct.unpack(">Q", self.take(9)[1:])[0]
        reply = msgpack.unpackb(self.take(length)[4:])
        if "error" in reply:
            raise SystemExit("ask.py: %s: %s: %s" % (op, reply["error"]["code"],
                                                     reply["error"]["text"]))
        return reply


def value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text, text)


def follow(client, stream):
    after = 0
    while True:
        reply = client.ask("next", id=stream, after=after, wait_ms=5000)
        for item in reply.get("items", []):
            kind = item.get("kind")
            if kind in ("error", "cancelled"):
                raise SystemExit("ask.py: the stream ended: %r" % item)
            text = item.get("text", "")
            sys.stdout.write(text if isinstance(text, str) else text.decode("utf-8", "replace"))
        after = reply.get("last", after)
        if reply.get("end"):
            sys.stdout.write("\n")
            return


def main():
    path, words = sys.argv[1], sys.argv[2:]
    stream = words[0] == "stream"
    if stream:
        words = words[1:]
    fields = dict(word.split("=", 1) for word in words[1:])
    fields = {key: value(text) for key, text in fields.items()}
    if stream:
        fields.setdefault("rid", "ask-%d" % os.getpid())
    client = Client(path)
    reply = client.ask(words[0], **fields)
    if stream:
        follow(client, reply["id"])
    else:
        for key, what in reply.items():
            print(key, what)


if __name__ == "__main__":
    main()
