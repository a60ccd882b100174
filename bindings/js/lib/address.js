// SPDX-License-Identifier: MIT
// Where the server is.
import fs from "node:fs";
import { LlamadError } from "./errors.js";

/** The folder of a user without XDG_RUNTIME_DIR must be private: any user can create one in /tmp. */
function checkPrivate(folder, uid) {
  const s = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (s && (!s.isDirectory() || s.uid !== uid || (s.mode & 0o077) !== 0)) {
    throw new LlamadError("invalid", `${folder}: must be a folder of user ${uid} with mode 0700`);
  }
}

/** The socket of the system's daemon if it exists, otherwise that of the user's daemon. */
export function defaultUrl() {
  const system = "/run/llamad/llamad.sock";
  const own = process.env.XDG_RUNTIME_DIR ?? "";
  const uid = process.geteuid();
  if (fs.existsSync(system)) return `ipc://${system}`;
  if (own.startsWith("/")) return `ipc://${own}/llamad/llamad.sock`;
  if (uid === 0) return `ipc://${system}`;
  checkPrivate(`/tmp/llamad-${uid}`, uid);
  return `ipc:///tmp/llamad-${uid}/llamad.sock`;
}

/** Splits a URL into what node:net and node:tls connect to. */
export function parseAddress(url) {
  if (url.startsWith("ipc://") && url.length > 6) return { url, path: url.slice(6) };
  const found = /^(tls\+)?tcp:\/\/(\[[^\]]+\]|[^\s/:]+):(\d{1,5})$/.exec(url);
  const port = found ? Number(found[3]) : 0;
  if (port > 0 && port < 65536) {
    return { url, host: found[2].replace(/^\[|\]$/g, ""), port, tls: found[1] !== undefined };
  }
  throw new LlamadError("invalid", `'${url}' is not an address: use ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT`);
}
