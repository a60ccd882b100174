// SPDX-License-Identifier: MIT
import type {
  DoneItem, GenerateRequest, HelloReply, Id, Item, Model, Ops, PingReply, Resident, Text, TokenLogprob,
  ChatMessage,
} from "./types.gen.js";

export * from "./types.gen.js";

/** The socket of the system's daemon if it exists, otherwise that of the user's daemon. */
export function defaultUrl(): string;

/** A request failed.  The message is for humans. */
export class LlamadError extends Error {
  /** An error code of the protocol: "busy", "notfound", ... */
  readonly code: string;
  /** Do not try again before so many milliseconds have passed; undefined if the server did not say. */
  readonly retryMs?: number;
}

/** The server cannot be reached, or the connection was lost. */
export class ConnectionLost extends LlamadError {}

/** A piece of a tool call. */
export interface ToolCallDelta {
  /** Number of the tool call within the answer, from 0. */
  index: number;
  /** Id and name are there in the first piece. */
  id?: string;
  name?: string;
  /** A piece of JSON. */
  arguments: string;
  /** In the last piece: whether the arguments are complete and valid JSON. */
  complete?: boolean;
}

export interface Delta {
  text: string;
  reasoning: string;
  toolCalls: ToolCallDelta[];
}

export interface ToolCall {
  id: string;
  name: string;
  /** A JSON object if complete is true. */
  arguments: string;
  complete: boolean;
}

/** An answer, as far as it has been received. */
export class Answer {
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  /** Why it ended: "eog", "stop", "length", ... */
  finish?: string;
  tokens?: number[];
  /** With the parameter logprobs, for each token: its log probability, then those of the most likely. */
  logprobs?: TokenLogprob[][];
  seed?: number | bigint;
  /** The final item, with the numbers of tokens and their times. */
  done?: DoneItem;
  /** Adds a piece of Stream.deltas(). */
  add(delta: Delta): void;
  toString(): string;
}

/** The items of a generation or a job.  Leaving a loop over it early and close() cancel a stream that
 * has not ended; detach() does not. */
export class Stream implements AsyncIterable<string> {
  /** The id of the stream for resume(), 32 hexadecimal digits. */
  readonly id: string;
  /** Number of the last item received; resume() continues after it. */
  readonly after: number;
  readonly seed?: number | bigint;
  readonly tokens: number[];
  readonly logprobs: TokenLogprob[][];
  readonly done?: DoneItem;
  readonly finish?: string;
  items(): AsyncGenerator<Item>;
  deltas(): AsyncGenerator<Delta>;
  [Symbol.asyncIterator](): AsyncGenerator<string>;
  text(): Promise<string>;
  answer(): Promise<Answer>;
  wait(): Promise<DoneItem | undefined>;
  cancel(): Promise<void>;
  pause(): Promise<number>;
  unpause(): Promise<boolean>;
  detach(): { id: string; after: number };
  close(): void;
}

export interface ClientOptions {
  /** ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT; by default the daemon of this machine. */
  url?: string;
  /** Secret of an API key for tcp and tls+tcp; by default that in LLAMAD_KEY. */
  key?: string;
  /** Trusted certificates in PEM for tls+tcp; by default those of Node. */
  ca?: string;
  /** How long to wait for a reply, in addition to the time that the request itself may wait. */
  timeoutMs?: number;
  /** How long to wait for a connection, and to try again after it was lost. */
  connectTimeoutMs?: number;
  /** Name of the program for the server's log. */
  name?: string;
}

type Params<Op extends keyof Ops, Given extends string> = Partial<Omit<Ops[Op]["request"], Given>>;

/** A connection to llamad, opened at the first request. */
export class Client {
  constructor(options?: ClientOptions);
  readonly url: string;
  readonly server?: HelloReply;
  call<Op extends keyof Ops>(
    op: Op, members?: Ops[Op]["request"], options?: { waitMs?: number },
  ): Promise<Ops[Op]["reply"]>;
  generate(request: GenerateRequest, options?: { holdMs?: number }): Promise<Stream>;
  chat(
    model: string, messages: string | ChatMessage[], params?: Params<"generate", "model" | "messages">,
  ): Promise<Answer>;
  resume(id: Id, after?: number): Stream;
  tokenize(model: string, text: Text, params?: Params<"tokenize", "model" | "text">): Promise<number[]>;
  detokenize(
    model: string, tokens: number[], params?: Params<"detokenize", "model" | "tokens">,
  ): Promise<string>;
  embed(model: string, inputs: string | Text[], params?: Params<"embed", "model" | "inputs">): Promise<number[][]>;
  rerank(
    model: string, query: Text, documents: Text[], params?: Params<"rerank", "model" | "query" | "documents">,
  ): Promise<number[]>;
  models(): Promise<Model[]>;
  ps(): Promise<Resident[]>;
  load(model: string, params?: Params<"load", "model">): Promise<Stream>;
  unload(model: string, params?: Params<"unload", "model">): Promise<Stream>;
  pull(source: string, name: string, params?: Params<"pull", "source" | "name">): Promise<Stream>;
  ping(): Promise<PingReply>;
  close(): void;
}
