// SPDX-License-Identifier: MIT
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { defaultUrl, parseAddress } from "./address.js";
import { Connection } from "./connection.js";
import { ConnectionLost, LlamadError } from "./errors.js";
import { decode, encode } from "./msgpack.js";
import { OPS, V_MAX, V_MIN } from "./protocol.gen.js";
import { Stream, idBytes } from "./stream.js";

const RETRY_MS = 50; // between two attempts to connect

/** Whether a value of a reply has a type of the schema. */
function fits(type, v) {
  switch (type) {
    case "int":
    case "token": return typeof v === "bigint" || Number.isSafeInteger(v);
    case "float": return typeof v === "number" || typeof v === "bigint";
    case "bool": return typeof v === "boolean";
    case "array": return Array.isArray(v);
    case "object": return typeof v === "object" && v !== null;
    case "id": return v instanceof Uint8Array && v.length === 16;
    case "text":
    case "bytes": return typeof v === "string" || v instanceof Uint8Array;
    default: return typeof v === "string";
  }
}

function pack(op, members) {
  if (!Object.hasOwn(OPS, op)) throw new LlamadError("invalid", `'${op}' is not an operation`);
  const head = { v: V_MAX, op };
  if (OPS[op].once) head.rid = randomUUID().replaceAll("-", "");
  try {
    return encode({ ...head, ...members });
  } catch (e) {
    throw new LlamadError("invalid", `${op}: ${e.message}`);
  }
}

/** Parses a reply; throws the error in it. */
function unpack(op, body) {
  let reply;
  try {
    reply = decode(body);
    if (typeof reply !== "object" || reply === null || Array.isArray(reply)) throw new TypeError("not a map");
    if (!reply.error) {
      for (const [name, type] of Object.entries(OPS[op].reply)) {
        if (!fits(type, reply[name])) throw new TypeError(`${name} is missing or has another type`);
      }
      return reply;
    }
  } catch (e) {
    throw new LlamadError("corrupt", `${op}: the reply is malformed: ${e.message}`);
  }
  const failed = new LlamadError(String(reply.error.code), String(reply.error.text), reply.error.retry_ms);
  failed.hello = reply.error.hello === true;
  throw failed;
}

/** A connection to llamad.  A lost connection is opened again and the request repeated; a request that
 * changes something carries a request id, so that the server does not do it twice. */
export class Client {
  #address;
  #hello;
  #ca;
  #timeoutMs;
  #connectTimeoutMs;
  #connection;
  #connecting;
  #closed = false;

  /** url: ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT; by default the daemon of this machine.
   * key: secret of an API key for tcp and tls+tcp, by default that in LLAMAD_KEY.  ca: trusted
   * certificates in PEM, by default those of Node.  timeoutMs: how long to wait for a reply, in addition
   * to the time that the request itself may wait.  connectTimeoutMs: for a connection, and how long to
   * try again after it was lost.  name: of the program, for the server's log. */
  constructor({ url, key, ca, timeoutMs = 30000, connectTimeoutMs = 5000, name = "js" } = {}) {
    this.#address = parseAddress(url ?? defaultUrl());
    this.#hello = { client: name };
    if (!this.#address.path) this.#hello.key = key ?? process.env.LLAMAD_KEY ?? "";
    this.#ca = ca;
    this.#timeoutMs = timeoutMs;
    this.#connectTimeoutMs = connectTimeoutMs;
    /** The server's reply to hello on the latest connection; undefined before the first. */
    this.server = undefined;
  }

  /** The address of the server. */
  get url() {
    return this.#address.url;
  }

  // ---- requests ----

  async #sayHello(c) {
    let hello;
    try {
      hello = unpack("hello", await c.exchange(pack("hello", this.#hello), this.#connectTimeoutMs));
    } catch (e) {
      e.hello = false; // another hello would not help
      throw e;
    }
    if (hello.v_min > V_MAX || hello.v_max < V_MIN) {
      throw new LlamadError(
        "unsupported",
        `${this.url} speaks protocol versions ${hello.v_min} to ${hello.v_max}, this client speaks ${V_MIN} to ${V_MAX}`,
      );
    }
    this.server = hello;
  }

  async #open() {
    const c = await Connection.open(this.#address, this.#connectTimeoutMs, this.#ca);
    try {
      await this.#sayHello(c);
      if (this.#closed) throw new ConnectionLost(`${this.url}: the client was closed`);
    } catch (e) {
      c.close();
      throw e;
    }
    this.#connection = c;
    return c;
  }

  /** The connection; many callers share one attempt to open it. */
  async connect() {
    if (this.#closed) throw new ConnectionLost(`${this.url}: the client was closed`);
    if (this.#connection && !this.#connection.broken) return this.#connection;
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Sends any operation of the protocol and returns its reply.  waitMs: how long the request itself may
   * wait in the server. */
  async call(op, members = {}, { waitMs = 0 } = {}) {
    const body = pack(op, members);
    const end = performance.now() + this.#connectTimeoutMs;
    let greeted = false;
    for (;;) {
      let c;
      try {
        c = await this.connect();
        return unpack(op, await c.exchange(body, this.#timeoutMs + waitMs));
      } catch (e) {
        if (e instanceof ConnectionLost) {
          if (this.#closed || performance.now() >= end) throw e;
          await sleep(RETRY_MS);
        } else if (e.hello && !greeted) {
          greeted = true;
          await this.#sayHello(c);
        } else {
          throw e;
        }
      }
    }
  }

  /** Sends requests, pairs of operation and members, whose replies are not needed. */
  tell(requests) {
    this.#connection?.tell(requests.map(([op, members]) => pack(op, members)));
  }

  // ---- text ----

  /** Generates text from a prompt or a conversation.  request: the fields of op generate: model, prompt or
   * messages or tokens, n, temp, seed, ... */
  async generate(request, { holdMs } = {}) {
    const r = await this.call("generate", request);
    return new Stream(this, r.id, { holdMs, seed: r.seed });
  }

  /** Answers a conversation, or the text of one user's message, and waits for the end.  By default
   * reasoning and tool calls are kept apart from the text. */
  async chat(model, messages, params = {}) {
    const list = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
    const stream = await this.generate({ model, messages: list, parse: true, ...params });
    return stream.answer();
  }

  /** Resumes a stream after its item number `after`. */
  resume(id, after = 0) {
    return new Stream(this, idBytes(id), { after });
  }

  /** Converts text to tokens. */
  async tokenize(model, text, params = {}) {
    return (await this.call("tokenize", { model, text, ...params })).tokens;
  }

  /** Converts tokens to text; bytes that are not UTF-8 become U+FFFD. */
  async detokenize(model, tokens, params = {}) {
    const { text } = await this.call("detokenize", { model, tokens, ...params });
    return typeof text === "string" ? text : new TextDecoder().decode(text);
  }

  /** Computes the embedding of each text. */
  async embed(model, inputs, params = {}) {
    const list = typeof inputs === "string" ? [inputs] : inputs;
    return (await this.call("embed", { model, inputs: list, ...params })).embeddings.map((e) => e.vector);
  }

  /** Scores each document by how well it answers the query; the model is a reranker. */
  async rerank(model, query, documents, params = {}) {
    return (await this.call("rerank", { model, query, documents, ...params })).scores;
  }

  // ---- models and server ----

  /** Lists the models in the registry. */
  async models() {
    const out = [];
    for (;;) {
      const r = await this.call("models", { after: out.at(-1)?.name ?? "" });
      out.push(...r.models);
      if (!r.more || r.models.length === 0) return out;
    }
  }

  /** Lists the models in memory. */
  async ps() {
    return (await this.call("ps")).models;
  }

  /** Loads a model into memory; wait() of the result waits until it is ready. */
  async load(model, params = {}) {
    return new Stream(this, (await this.call("load", { model, ...params })).id);
  }

  /** Unloads a model; wait() of the result waits until it is gone. */
  async unload(model, params = {}) {
    return new Stream(this, (await this.call("unload", { model, ...params })).id);
  }

  /** Downloads a model; wait() of the result waits until it is registered. */
  async pull(source, name, params = {}) {
    return new Stream(this, (await this.call("pull", { source, name, ...params })).id);
  }

  /** Checks that the server is alive and returns its state. */
  ping() {
    return this.call("ping");
  }

  /** Closes the connection; streams without a lease are cancelled. */
  close() {
    this.#closed = true;
    this.#connection?.close();
  }
}
