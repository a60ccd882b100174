#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for Hugging Face, a registry and a plain web server, from their published interfaces.

    hub.py FOLDER PORTFILE

FOLDER/hf/USER/REPO/...        the files of a repository
FOLDER/registry/REPO/TAG/...   the layers of a model; *.gguf is the model, mmproj* its vision tower
FOLDER/files/...               plain files
FOLDER/faults.json             what goes wrong; read at each request, keys:
    cut        bytes after which a transfer of a file is cut off, [least, most]
    status     list of codes that the next requests for files get; 0: the file
    no_range   answers 200 with the whole file whatever Range says
    longer     announces so many bytes more than the file has
    wrong      flips a bit of what is sent
    token      the bearer token that repositories want
    changing   a new ETag at each request
    page       answers each unknown path with 200 and a page of so many bytes
    elsewhere  blobs of a registry are redirected to another host, which asks for no login
The side of a registry that takes uploads is uploads.py, with faults of its own.
What was requested is appended to FOLDER/log, a line each.
"""
import hashlib
import http.server
import json
import os
import random
import re
import sys
import threading

from uploads import Uploads

ROOT = sys.argv[1]
lock = threading.Lock()
rng = random.Random(7)
digests = {}
lists = {}  # what is left of lists of faults, by file and key


def digest(path):
    key = (path, os.stat(path).st_mtime_ns)
    if key not in digests:
        with open(path, "rb") as f:
            digests[key] = hashlib.sha256(f.read()).hexdigest()
    return digests[key]


def faults():
    try:
        with open(f"{ROOT}/faults.json") as f:
            return json.load(f)
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def pop(key):
    """The next element of a list of faults, None after the last.  The file stays as the test wrote it: a
    request that ends late must not bring back faults of the past."""
    with lock:
        try:
            at = os.stat(f"{ROOT}/faults.json")
        except FileNotFoundError:
            return None
        left = lists.setdefault((at.st_ino, at.st_mtime_ns, key), list(faults().get(key, [])))
        return left.pop(0) if left else None


class Hub(Uploads, http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root, lock, rng = ROOT, lock, rng
    faults, pop = staticmethod(faults), staticmethod(pop)

    def log_message(self, *_):
        if not hasattr(self, "headers"):
            return  # not HTTP
        with lock, open(f"{ROOT}/log", "a") as f:
            f.write(f"{self.command} {self.path} {self.headers.get('Range', '-')} "
                    f"{self.headers.get('Authorization', '-')}\n")

    def reply(self, code, body=b"", kind="application/json", **headers):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def file(self, path):
        fault = faults()
        code = pop("status")
        if code:
            return self.reply(code, b"not now", Retry_After="1")
        size = os.path.getsize(path)
        begin = 0
        last = size - 1
        found = re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range") or "")
        etag = '"%s"' % (rng.random() if fault.get("changing") else digest(path))
        if found and not fault.get("no_range") and self.headers.get("If-Range", etag) == etag:
            begin, last = int(found[1]), min(int(found[2] or last), last)
        announced = last + 1 + fault.get("longer", 0)
        partial = begin or last < size - 1
        self.send_response(206 if partial else 200)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(announced - begin))
        if partial:
            self.send_header("Content-Range", f"bytes {begin}-{announced - 1}/{size + announced - last - 1}")
        self.end_headers()
        if self.command == "HEAD":
            return None
        left = last + 1 - begin
        if fault.get("cut"):
            left = min(left, rng.randint(*fault["cut"]))
        with open(path, "rb") as f:
            f.seek(begin)
            while left > 0:
                piece = f.read(min(left, 65536))
                if fault.get("wrong"):
                    piece = bytes([piece[0] ^ 1]) + piece[1:]
                self.wfile.write(piece)
                left -= len(piece)
        self.close_connection = True
        return None

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def hf_tree(self, repo):
        top, rows = f"{ROOT}/hf/{repo}", []
        for folder, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                row = {"type": "file", "path": os.path.relpath(path, top),
                       "size": os.path.getsize(path), "oid": "0" * 40}
                if name.endswith(".gguf") and "nodigest" not in repo:
                    row["lfs"] = {"oid": digest(path), "size": row["size"], "pointerSize": 134}
                rows.append(row)
        page = int((re.search(r"cursor=(\d+)", self.path) or [0, 0])[1])
        more = {}
        if page + 3 < len(rows):
            more["Link"] = (f"<http://{self.headers['Host']}/api/models/{repo}/tree/main?recursive="
                            f"true&cursor={page + 3}>; rel=\"next\"")
        self.reply(200, json.dumps(rows[page:page + 3]).encode(), **more)

    def manifest(self, repo, tag):
        if self.headers.get("Authorization") != "Bearer anonymous":
            where = f"http://{self.headers['Host']}/token"
            return self.reply(401, b"{}", WWW_Authenticate=f'Bearer realm="{where}",'
                              f'service="hub test",scope="repository:{repo}:pull"')
        if tag == "index":
            rows = [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "v1"}]
            return self.reply(200, json.dumps({"manifests": rows}).encode())
        top, layers = f"{ROOT}/registry/{repo}/{tag}", []
        for name in sorted(os.listdir(top)):
            kind = ("image.projector" if name.startswith("mmproj") else
                    "image.model" if name.endswith(".gguf") else "image.template")
            layers.append({"mediaType": f"application/vnd.ollama.{kind}",
                           "digest": "sha256:" + digest(f"{top}/{name}"),
                           "size": os.path.getsize(f"{top}/{name}")})
        return self.reply(200, json.dumps({"schemaVersion": 2, "layers": layers}).encode())

    def blob(self, repo, want):
        if self.headers.get("Authorization") != "Bearer anonymous":
            where = f"http://{self.headers['Host']}/token"
            return self.reply(401, b"{}", WWW_Authenticate=f'Bearer realm="{where}"')
        for folder, _, names in os.walk(f"{ROOT}/registry/{repo}"):
            for name in names:
                if "sha256:" + digest(f"{folder}/{name}") == want:
                    return self.blob_file(f"{folder}/{name}")
        return self.reply(404)

    def blob_file(self, path):
        """Sends a blob, or the address at which another host has it."""
        if not faults().get("elsewhere"):
            return self.file(path)
        host = self.headers["Host"].replace("127.0.0.1", "localhost")
        return self.reply(307, Location=f"http://{host}/blobs/{os.path.relpath(path, ROOT)}")

    def do_GET(self):
        if self.pushed():
            return None
        path = self.path.split("?")[0]
        token = faults().get("token")
        found = re.match(r"/api/models/([^/]+/[^/]+)/tree/", path)
        if found or "/resolve/" in path:
            if token and self.headers.get("Authorization") != f"Bearer {token}":
                return self.reply(401, b"{}")
        repo = re.match(r"/api/models/([^/]+/[^/]+)/revision/", path)
        if repo and os.path.isdir(f"{ROOT}/hf/{repo[1]}"):
            names = sorted(os.listdir(f"{ROOT}/hf/{repo[1]}"))
            return self.reply(200, json.dumps({"id": repo[1], "sha": "0" * 40, "siblings": [
                {"rfilename": name} for name in names]}).encode())
        if found:
            return self.hf_tree(found[1]) if os.path.isdir(f"{ROOT}/hf/{found[1]}") \
                else self.reply(404)
        found = re.match(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path)
        if found:  # to the host that has the files
            host = self.headers["Host"].replace("127.0.0.1", "localhost")
            at = f"{ROOT}/hf/{found[1]}/{found[2]}"
            about = {"X_Linked_Etag": f'"{digest(at)}"', "X_Linked_Size": str(os.path.getsize(at))} \
                if os.path.isfile(at) else {}
            return self.reply(302, Location=f"http://{host}/cdn/{found[1]}/{found[2]}",
                              X_Repo_Commit="0" * 40, **about)
        if path.startswith("/blobs/") and ".." not in path and os.path.isfile(f"{ROOT}/{path[7:]}"):
            return self.file(f"{ROOT}/{path[7:]}")
        if path.startswith("/cdn/") and os.path.isfile(f"{ROOT}/hf{path[4:]}"):
            return self.file(f"{ROOT}/hf{path[4:]}")
        if path == "/token":
            return self.token()
        found = re.match(r"/v2/(.+)/manifests/([^/]+)$", path)
        if found:
            return self.manifest(found[1], found[2]) if found[2] == "index" or \
                os.path.isdir(f"{ROOT}/registry/{found[1]}/{found[2]}") else self.reply(404)
        found = re.match(r"/v2/(.+)/blobs/([^/]+)$", path)
        if found:
            return self.blob(found[1], found[2])
        if path == "/loop.gguf":
            return self.reply(302, Location="/loop.gguf")
        if path.startswith("/files/") and os.path.isfile(ROOT + path):
            return self.file(ROOT + path)
        if faults().get("page"):
            return self.reply(200, b"<html>".ljust(faults()["page"]), "text/html")
        return self.reply(404)

    do_HEAD = do_GET


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
with open(sys.argv[2] + ".new", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
