# SPDX-License-Identifier: MIT
"""The side of a registry that takes uploads, as the OCI distribution specification 1.1 describes it
("Pushing a blob in chunks", "Pushing manifests").

FOLDER/pushed/REPO/sha256:HEX   blobs and manifests
FOLDER/pushed/REPO/:TAG         digest and media type of a manifest
FOLDER/sessions/ID              what an upload has so far

Faults of hub.py's faults.json, beside its own:
    login        "user:password" that pushing needs; with `basic` at each request, otherwise for a token
    basic        see login
    token_uses   requests after which a token is no longer valid
    push_cut     bytes of a piece after which the connection ends, [least, most]; they are kept
    push_status  list of codes that the next uploads get; 0: the usual
    body_limit   413 for pieces with more bytes
    cut_large    with body_limit: the connection ends instead
    disk         bytes that fit on the disk: 507
    lose         list of flags: whether the next pieces find no session
    short        pieces that are kept in part alone: so many bytes of each
    min_chunk    OCI-Chunk-Min-Length
    absolute     addresses of uploads have a host
"""
import base64
import hashlib
import json
import os
import re
import shutil
import urllib.parse
import uuid

tokens = {}  # token: uses that are left


class Uploads:
    """Mixed into a BaseHTTPRequestHandler with reply(), root, lock, rng, faults() and pop()."""

    # ---- logins ----

    def basic(self):
        """User and password of the request."""
        kind, _, value = (self.headers.get("Authorization") or "").partition(" ")
        return base64.b64decode(value).decode() if kind == "Basic" else None

    def token(self):
        """Gives a token: one for pulls to anybody."""
        login = self.faults().get("login")
        if "push" not in self.path and (not login or self.basic() != login):
            return self.reply(200, b'{"token": "anonymous"}')
        if login and self.basic() != login:
            return self.reply(401, b'{"errors": [{"code": "UNAUTHORIZED", "message": "wrong user"}]}')
        with self.lock:
            name = f"push-{len(tokens)}"
            tokens[name] = self.faults().get("token_uses", 1 << 30)
        return self.reply(200, json.dumps({"token": name}).encode())

    def may_push(self, repo):
        fault = self.faults()
        if fault.get("basic"):
            if self.basic() == fault["login"]:
                return True
            self.drop_body()
            self.reply(401, b"{}", WWW_Authenticate='Basic realm="hub test"')
            return False
        kind, _, value = (self.headers.get("Authorization") or "").partition(" ")
        if value == "anonymous" and self.command in ("GET", "HEAD") and not fault.get("login"):
            return True
        with self.lock:
            left = tokens.get(value, 0) if kind == "Bearer" else 0
            if left:
                tokens[value] = left - 1
        if not left:
            self.drop_body()
            where = f"http://{self.headers['Host']}/token"
            rights = "pull" if self.command in ("GET", "HEAD") else "pull,push"
            self.reply(401, b"{}", WWW_Authenticate=f'Bearer realm="{where}",service="hub test",'
                       f'scope="repository:{repo}:{rights}"')
        return bool(left)

    # ---- bodies ----

    def drop_body(self):
        left = int(self.headers.get("Content-Length") or 0)
        while left > 0:
            left -= len(self.rfile.read(min(left, 65536)) or b"x" * left)

    def error(self, code, name, message, **headers):
        self.drop_body()
        self.reply(code, json.dumps({"errors": [{"code": name, "message": message}]}).encode(), **headers)

    def used(self):
        return sum(os.path.getsize(os.path.join(folder, n))
                   for top in ("pushed", "sessions") for folder, _, names in os.walk(f"{self.root}/{top}")
                   for n in names)

    # ---- sessions ----

    def session_reply(self, code, repo, name, size):
        fault = self.faults()
        more = {"OCI_Chunk_Min_Length": str(fault["min_chunk"])} if fault.get("min_chunk") else {}
        # the address changes with each piece, and is relative
        host = f"http://{self.headers['Host']}" if fault.get("absolute") else ""
        self.reply(code, Location=f"{host}/v2/{repo}/blobs/uploads/{name}?state={size}",
                   Range=f"0-{max(size - 1, 0)}", **more)

    def session(self):
        """Repository, name and parameters of the upload that the request is about, or None."""
        found = re.match(r"/v2/(.+)/blobs/uploads/([0-9a-f-]+)\?(.+)$", self.path)
        query = dict(urllib.parse.parse_qsl(found[3])) if found else {}
        return (found[1], found[2], query) if "state" in query else None

    def do_POST(self):
        found = re.match(r"/v2/(.+)/blobs/uploads/(\?.*)?$", self.path)  # mounts nothing
        if not found or not self.may_push(found[1]):
            return None if found else self.reply(404)
        code = self.pop("push_status")
        if code:
            return self.error(code, "TOOMANYREQUESTS" if code == 429 else "UNKNOWN", "not now",
                              Retry_After="1")
        if found[1].startswith("missing/"):
            return self.error(404, "NAME_UNKNOWN", "repository name not known")
        self.drop_body()
        name = str(uuid.uuid4())
        os.makedirs(f"{self.root}/sessions", exist_ok=True)
        with open(f"{self.root}/sessions/{name}", "wb"):
            pass
        return self.session_reply(202, found[1], name, 0)

    def do_PATCH(self):
        found = self.session()
        if not found or not self.may_push(found[0]):
            return None if found else self.reply(404)
        fault, code = self.faults(), self.pop("push_status")
        path = f"{self.root}/sessions/{found[1]}"
        n = int(self.headers["Content-Length"])
        # a request with no Content-Range has the whole file
        begin, end = map(int, self.headers.get("Content-Range", f"0-{n - 1}").split("-"))
        if code:
            return self.error(code, "UNKNOWN", "not now", Retry_After="1")
        if n > fault.get("body_limit", n):
            if fault.get("cut_large"):
                self.close_connection = True
                return None
            return self.error(413, "SIZE_INVALID", "too large")
        if self.pop("lose"):
            shutil.rmtree(f"{self.root}/sessions")
        if not os.path.exists(path):
            return self.error(404, "BLOB_UPLOAD_UNKNOWN", "no such upload")
        if begin != os.path.getsize(path) or end - begin + 1 != n:
            return self.error(416, "RANGE_INVALID", "not the next bytes")
        if self.used() + n > fault.get("disk", 1 << 60):
            return self.error(507, "UNKNOWN", "no space left on device")
        keep = min(n, self.rng.randint(*fault["push_cut"])) if fault.get("push_cut") else n
        with open(path, "ab") as f:
            f.write(self.rfile.read(keep))
        if keep < n:
            self.close_connection = True
            return None
        if fault.get("short"):
            os.truncate(path, begin + min(n, fault["short"]))
        return self.session_reply(202, found[0], found[1], os.path.getsize(path))

    def do_PUT(self):
        found = re.match(r"/v2/(.+)/manifests/([A-Za-z0-9._-]+)$", self.path)
        if found:
            return self.put_manifest(found[1], found[2]) if self.may_push(found[1]) else None
        found = self.session()
        if not found or not self.may_push(found[0]):
            return None if found else self.reply(404)
        path, digest = f"{self.root}/sessions/{found[1]}", found[2].get("digest")
        if not os.path.exists(path):
            return self.error(404, "BLOB_UPLOAD_UNKNOWN", "no such upload")
        self.drop_body()
        with open(path, "rb") as f:
            data = f.read()
        if "sha256:" + hashlib.sha256(data).hexdigest() != digest:
            return self.error(400, "DIGEST_INVALID", "other bytes")
        os.makedirs(f"{self.root}/pushed/{found[0]}", exist_ok=True)
        os.rename(path, f"{self.root}/pushed/{found[0]}/{digest}")
        return self.reply(201, Location=f"/v2/{found[0]}/blobs/{digest}")

    # ---- manifests and what was pushed ----

    def put_manifest(self, repo, tag):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        top = f"{self.root}/pushed/{repo}"
        rows = json.loads(data)
        for row in rows["layers"] + [rows["config"]]:
            path = f"{top}/{row['digest']}"
            if not os.path.exists(path) or os.path.getsize(path) != row["size"]:
                return self.error(404, "MANIFEST_BLOB_UNKNOWN", row["digest"])
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        with open(f"{top}/{digest}", "wb") as f:
            f.write(data)
        with open(f"{top}/:{tag}", "w") as f:
            f.write(f"{digest} {self.headers['Content-Type']}")
        return self.reply(201, Location=f"/v2/{repo}/manifests/{digest}", Docker_Content_Digest=digest)

    def pushed(self):
        """Answers GET and HEAD about what was pushed; false if the request is for something else."""
        path = self.path.split("?")[0]
        if path == "/v2/":  # where clients learn how to log in
            where = f"http://{self.headers['Host']}/token"
            if self.headers.get("Authorization"):
                self.reply(200, b"{}")
            elif self.faults().get("basic"):
                self.reply(401, b"{}", WWW_Authenticate='Basic realm="hub test"')
            else:
                self.reply(401, b"{}", WWW_Authenticate=f'Bearer realm="{where}",service="hub test"')
            return True
        found = re.match(r"/v2/(.+)/blobs/uploads/([0-9a-f-]+)$", path)
        if found:
            if self.may_push(found[1]):
                file = f"{self.root}/sessions/{found[2]}"
                if os.path.exists(file):
                    self.session_reply(204, found[1], found[2], os.path.getsize(file))
                else:
                    self.error(404, "BLOB_UPLOAD_UNKNOWN", "no such upload")
            return True
        found = re.match(r"/v2/(.+)/(manifests|blobs)/([^/]+)$", path)
        if not found or os.path.isdir(f"{self.root}/registry/{found[1]}"):
            return False
        if not self.may_push(found[1]):
            return True
        top, name, kind = f"{self.root}/pushed/{found[1]}", found[3], "application/octet-stream"
        if not name.startswith("sha256:") and os.path.exists(f"{top}/:{name}"):
            with open(f"{top}/:{name}") as f:
                name, kind = f.read().split()
        elif found[2] == "manifests" and os.path.exists(f"{top}/{name}"):
            with open(f"{top}/{name}") as f:
                kind = json.load(f)["mediaType"]
        if not os.path.exists(f"{top}/{name}"):
            self.error(404, "BLOB_UNKNOWN", name)
        elif found[2] == "blobs":
            self.blob_file(f"{top}/{name}")
        else:
            with open(f"{top}/{name}", "rb") as f:
                self.reply(200, f.read(), kind, Docker_Content_Digest=name)
        return True
