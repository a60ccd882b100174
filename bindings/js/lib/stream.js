// SPDX-License-Identifier: MIT
// The items of a generation or a job.
import { LlamadError } from "./errors.js";
import { FINAL, ITEMS_MAX } from "./protocol.gen.js";

const WAIT_MS = 10000; // how long a request for items waits in the server
const CALLS_MAX = 4096; // more tool calls in one answer are ignored

/** Converts items to pieces of text without splitting UTF-8 characters. */
class Decoder {
  #utf8 = new TextDecoder();

  decode(text, last) {
    if (typeof text === "string") return this.#utf8.decode() + text;
    return this.#utf8.decode(text ?? new Uint8Array(0), { stream: !last });
  }
}

function hex(bytes) {
  return Buffer.from(bytes).toString("hex");
}

/** The 16 bytes of an id. */
export function idBytes(id) {
  if (typeof id === "string" && /^[0-9a-fA-F]{32}$/.test(id)) return new Uint8Array(Buffer.from(id, "hex"));
  if (id instanceof Uint8Array && id.length === 16) return id;
  throw new LlamadError("invalid", `'${id}' is not the id of a stream: it has 32 hexadecimal digits`);
}

/** Iterate over it for pieces of text, over deltas() for text, reasoning and tool calls, or over items()
 * for everything.  Leaving the loop early and close() cancel a stream that has not ended; detach() does
 * not. */
export class Stream {
  #client;
  #id;
  #holdMs;
  #over = false;
  #text = new Decoder();
  #reasoning = new Decoder();

  constructor(client, id, { after = 0, holdMs, seed } = {}) {
    this.#client = client;
    this.#id = id;
    this.#holdMs = holdMs;
    /** Number of the last item received; resume() continues after it. */
    this.after = after;
    /** The random seed; undefined if it is not known. */
    this.seed = seed;
    /** The tokens received so far. */
    this.tokens = [];
    /** With logprobs, those of each token. */
    this.logprobs = [];
    /** The final item; undefined until the stream has ended. */
    this.done = undefined;
  }

  /** The id of the stream for resume(), 32 hexadecimal digits. */
  get id() {
    return hex(this.#id);
  }

  /** Why the stream ended: "eog", "stop", "length", ... undefined until then. */
  get finish() {
    return this.done?.finish;
  }

  /** The items as they arrive.  Throws if the stream fails or is cancelled. */
  async *items() {
    try {
      while (!this.#over) {
        const reply = await this.#client.call(
          "next",
          { id: this.#id, after: this.after, wait_ms: WAIT_MS, hold_ms: this.#holdMs },
          { waitMs: WAIT_MS },
        );
        for (const item of reply.items ?? []) {
          this.#take(item);
          yield item;
        }
        if (reply.end) this.#over = true; // also if it was resumed after the last item
      }
    } finally {
      this.close();
    }
  }

  #take(item) {
    if (typeof item?.kind !== "string" || !Number.isSafeInteger(item.n)) {
      throw new LlamadError("corrupt", "next: the reply is malformed: an item without kind and number");
    }
    this.after = item.n;
    if (FINAL.has(item.kind)) this.#over = true;
    if (item.kind === "error") throw new LlamadError(String(item.code), String(item.text));
    if (item.kind === "cancelled") throw new LlamadError("cancelled", `cancelled: ${item.reason}`);
    if (item.kind === "done") this.done = item;
    if (item.kind === "token") {
      this.tokens.push(item.token);
      if (item.logprobs?.length) this.logprobs.push(item.logprobs);
    }
  }

  #piece(item) {
    const has = item.kind === "token" || item.kind === "text";
    return this.#text.decode(has ? item.text : undefined, FINAL.has(item.kind));
  }

  /** Pieces of the answer: each has text, reasoning and toolCalls.  Without the parameter parse there is
   * only text. */
  async *deltas() {
    for await (const item of this.items()) {
      const delta = { text: this.#piece(item), reasoning: "", toolCalls: [] };
      const thought = item.kind === "thought" ? item.text : undefined;
      delta.reasoning = this.#reasoning.decode(thought, FINAL.has(item.kind));
      if (item.kind === "call" && item.call < CALLS_MAX) {
        delta.toolCalls.push({ index: item.call, id: item.id, name: item.name, arguments: "" });
      } else if (item.kind === "arguments" && item.call < CALLS_MAX) {
        delta.toolCalls.push({ index: item.call, arguments: new Decoder().decode(item.text, true) });
      } else if (item.kind === "call_end" && item.call < CALLS_MAX) {
        delta.toolCalls.push({ index: item.call, arguments: "", complete: item.complete });
      }
      if (delta.text || delta.reasoning || delta.toolCalls.length) yield delta;
    }
  }

  async *[Symbol.asyncIterator]() {
    for await (const item of this.items()) {
      const text = this.#piece(item);
      if (text) yield text;
    }
  }

  /** Waits for the end and returns the rest of the text. */
  async text() {
    let out = "";
    for await (const piece of this) out += piece;
    return out;
  }

  /** Waits for the end and returns the rest of the answer, with reasoning and tool calls if the request
   * had the parameter parse. */
  async answer() {
    const out = new Answer();
    for await (const delta of this.deltas()) out.add(delta);
    return Object.assign(out, {
      finish: this.finish,
      tokens: this.tokens,
      logprobs: this.logprobs,
      seed: this.seed,
      done: this.done,
    });
  }

  /** Waits for the end of a job, such as a load, and returns its final item. */
  async wait() {
    for await (const item of this.items()) void item;
    return this.done;
  }

  /** Cancels the stream after the current step; reading it throws. */
  async cancel() {
    await this.#client.call("cancel", { id: this.#id });
  }

  /** Pauses the generation after the current step; returns after how many milliseconds it is cancelled
   * unless unpause() is called.  Read it meanwhile as often as its lease says. */
  async pause() {
    return (await this.#client.call("pause", { id: this.#id })).left_ms;
  }

  /** Lets a paused generation go on; returns whether it was paused. */
  async unpause() {
    return (await this.#client.call("unpause", { id: this.#id })).was_paused;
  }

  /** Releases the stream without cancelling it; returns what resume() takes. */
  detach() {
    this.#over = true;
    return { id: this.id, after: this.after };
  }

  /** Cancels the stream unless it has ended.  Its end is read, so that the server does not keep it. */
  close() {
    if (this.#over) return;
    this.#over = true;
    this.#client.tell([
      ["cancel", { id: this.#id }],
      ["next", { id: this.#id, after: this.after, max: ITEMS_MAX }],
    ]);
  }
}

/** An answer, as far as it has been received. */
export class Answer {
  text = "";
  reasoning = "";
  toolCalls = [];

  /** Adds a piece of deltas(). */
  add(delta) {
    this.text += delta.text;
    this.reasoning += delta.reasoning;
    for (const piece of delta.toolCalls) {
      while (this.toolCalls.length <= piece.index) {
        this.toolCalls.push({ id: "", name: "", arguments: "", complete: false });
      }
      const call = this.toolCalls[piece.index];
      call.id = piece.id || call.id;
      call.name = piece.name || call.name;
      call.arguments += piece.arguments;
      call.complete ||= piece.complete === true;
    }
  }

  toString() {
    return this.text;
  }
}
