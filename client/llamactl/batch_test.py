#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server that does what its requests say, for the tests of llamactl batch.

    batch_test.py PORTFILE LOG

A body has `name` and `script`, a list of words, one for each try of this name; the last one also holds
for the tries after it:
    ok        200 and a JSON object on several lines, with the header x-request-id
    CODE      that code with a JSON object; CODE:SECONDS also has Retry-After
    html      502 and a body that is not JSON
    cut       the connection ends in the middle of the response
    drop      the connection ends without a response
    stall     no response until the client leaves
    gate:N    waits until N requests are there at the same time, then ok
    alone     429 if another request of this kind is there, otherwise ok when one was refused, or soon
Each try is a line of LOG: milliseconds, name, word, key, path.
"""
import http.server
import json
import socket
import sys
import threading
import time

lock = threading.Condition()
tries, inside, refused = {}, 0, 0
log = open(sys.argv[2], "w", buffering=1)
WAIT_S = 120


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, code, text, **headers):
        data = text.encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def ok(self, body):
        self.send(200, json.dumps({"name": body["name"], "model": body.get("model"), "n": 0.1}, indent=2),
                  x_request_id=f"req-{body['name']}")

    def leave(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def gate(self, n, body):
        global inside
        with lock:
            inside += 1
            lock.notify_all()
            lock.wait_for(lambda: inside >= n, WAIT_S)
            reached = inside
        self.ok(body) if reached >= n else self.send(500, "{}")

    def alone(self, body):
        global inside, refused
        with lock:
            if inside:
                refused += 1
                lock.notify_all()
                mine = False
            else:
                mine, before = True, refused
                inside = 1
                lock.wait_for(lambda: refused > before, 0.2)
                inside = 0
        self.ok(body) if mine else self.send(429, "{}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with lock:
            i = tries[body["name"]] = tries.get(body["name"], -1) + 1
        word = body["script"][min(i, len(body["script"]) - 1)]
        key = self.headers.get("Authorization", "none")
        log.write(f"{time.monotonic() * 1000:.0f} {body['name']} {word} {key.replace(' ', '_')} {self.path}\n")
        if word == "ok":
            self.ok(body)
        elif word == "html":
            self.send(502, "<html>bad\ngateway</html>")
        elif word == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            self.leave()
        elif word == "drop":
            self.leave()
        elif word == "stall":
            self.connection.settimeout(WAIT_S)
            try:
                self.connection.recv(1)
            except OSError:
                pass
            self.close_connection = True
        elif word.startswith("gate:"):
            self.gate(int(word[5:]), body)
        elif word == "alone":
            self.alone(body)
        else:
            code, _, seconds = word.partition(":")
            self.send(int(code), json.dumps({"error": {"message": f"code {code}"}}),
                      **({"Retry_After": seconds} if seconds else {}))


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 300
    daemon_threads = True


with Server(("127.0.0.1", 0), Handler) as server:
    with open(sys.argv[1], "w") as f:
        f.write(f"{server.server_address[1]}\n")
    server.serve_forever()
