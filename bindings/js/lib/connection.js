// SPDX-License-Identifier: MIT
// One connection: frames of the scalability protocol REQ, many requests at once.
// On unix sockets a byte 1; u64 length; u32 request number with its top bit set; the message.
import net from "node:net";
import tls from "node:tls";
import { ConnectionLost, LlamadError } from "./errors.js";

const REQ = Buffer.from([0, 0x53, 0x50, 0, 0, 0x30, 0, 0]);
const REP = Buffer.from([0, 0x53, 0x50, 0, 0, 0x31, 0, 0]);
const REPLY_MAX = 64 << 20; // bytes
const NUMBER_MAX = 0x7fffffff;

export class Connection {
  #address;
  #socket;
  #chunks = [];
  #buffered = 0;
  #greeted = false;
  #waiters = new Map();
  #last = 0;

  /** Why the connection was lost; "" while it works. */
  broken = "";

  constructor(address, socket) {
    this.#address = address;
    this.#socket = socket;
  }

  /** Connects and shakes hands.  ca: trusted certificates in PEM for tls+tcp. */
  static open(address, timeoutMs, ca) {
    return new Promise((resolve, reject) => {
      const to = address.path ? { path: address.path } : { host: address.host, port: address.port, noDelay: true };
      const name = net.isIP(address.host ?? "") ? {} : { servername: address.host };
      const socket = address.tls ? tls.connect({ ...to, ...name, ca }) : net.connect(to);
      const c = new Connection(address, socket);
      const timer = setTimeout(() => c.#fail(`timed out: no connection within ${timeoutMs / 1000} s`), timeoutMs);
      c.ready = () => {
        clearTimeout(timer);
        resolve(c);
      };
      c.refused = (e) => {
        clearTimeout(timer);
        reject(e);
      };
      socket.once(address.tls ? "secureConnect" : "connect", () => socket.write(REQ));
      socket.on("data", (data) => c.#received(data));
      socket.on("error", (e) => c.#fail(c.#text(e)));
      socket.on("close", () => c.#fail("the connection was closed"));
    });
  }

  #text(e) {
    const text = e.message || e.code || String(e);
    return e.code === "ENOENT" || e.code === "ECONNREFUSED" ? `${text}; is llamad running?` : text;
  }

  #fail(why) {
    if (this.broken) return;
    this.broken = `${this.#address.url}: ${why}`;
    this.#socket.destroy();
    for (const w of this.#waiters.values()) w.reject(new ConnectionLost(this.broken));
    this.#waiters.clear();
    if (!this.#greeted) this.refused(new ConnectionLost(this.broken));
  }

  /** Takes n bytes; undefined until they have arrived.  Bytes are joined once for each frame. */
  #take(n) {
    if (this.#buffered < n) return undefined;
    const all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#chunks = all.length > n ? [all.subarray(n)] : [];
    this.#buffered -= n;
    return all.subarray(0, n);
  }

  #length = -1; // of the frame whose head has arrived

  #received(data) {
    this.#chunks.push(data);
    this.#buffered += data.length;
    if (!this.#greeted) {
      const head = this.#take(8);
      if (!head) return;
      if (!head.equals(REP)) {
        this.#fail("the peer does not speak the protocol of llamad");
        return;
      }
      this.#greeted = true;
      this.ready();
    }
    while (!this.broken && this.#frame());
  }

  /** Handles one frame; returns false if it has not arrived yet. */
  #frame() {
    if (this.#length < 0) {
      const head = this.#take(this.#address.path ? 9 : 8);
      if (!head) return false;
      const n = head.readBigUInt64BE(head.length - 8);
      if ((this.#address.path && head[0] !== 1) || n < 4n || n > BigInt(REPLY_MAX)) {
        this.#fail(`received a frame of type ${head[0]} with ${n} bytes; allowed are 4 to ${REPLY_MAX}`);
        return false;
      }
      this.#length = Number(n);
    }
    const body = this.#take(this.#length);
    if (!body) return false;
    this.#length = -1;
    const number = body.readUInt32BE(0) & NUMBER_MAX;
    const waiter = this.#waiters.get(number); // nobody waits for a reply that comes too late
    this.#waiters.delete(number);
    waiter?.resolve(body.subarray(4));
    return true;
  }

  #post(body) {
    this.#last = (this.#last % NUMBER_MAX) + 1;
    const head = Buffer.alloc(this.#address.path ? 13 : 12);
    if (this.#address.path) head[0] = 1;
    head.writeBigUInt64BE(BigInt(body.length + 4), head.length - 12);
    head.writeUInt32BE((this.#last | 0x80000000) >>> 0, head.length - 4);
    this.#socket.cork();
    this.#socket.write(head);
    this.#socket.write(body);
    this.#socket.uncork();
    return this.#last;
  }

  /** Sends a request and returns its reply. */
  exchange(body, timeoutMs) {
    if (this.broken) return Promise.reject(new ConnectionLost(this.broken));
    return new Promise((resolve, reject) => {
      const number = this.#post(body);
      const timer = setTimeout(() => {
        this.#waiters.delete(number);
        reject(new LlamadError("timeout", `${this.#address.url}: timed out: no reply within ${timeoutMs / 1000} s`));
      }, timeoutMs);
      const after = (f) => (v) => {
        clearTimeout(timer);
        f(v);
      };
      this.#waiters.set(number, { resolve: after(resolve), reject: after(reject) });
    });
  }

  /** Sends requests whose replies are not needed, if the connection works. */
  tell(bodies) {
    if (!this.broken) for (const body of bodies) this.#post(body);
  }

  /** Closes the connection after what was written has been sent. */
  close() {
    const socket = this.#socket;
    if (this.broken) return;
    this.broken = `${this.#address.url}: the client was closed`;
    for (const w of this.#waiters.values()) w.reject(new ConnectionLost(this.broken));
    this.#waiters.clear();
    socket.end(() => socket.destroy());
  }
}
