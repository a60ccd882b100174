// SPDX-License-Identifier: MIT
// Made by build-aux/gen-proto from proto/schema.

/** Versions of the protocol that this package speaks, and the latest revision it knows. */
export const V_MIN = 1;
export const V_MAX = 1;
export const REVISION = 14;

/** Most items of a reply to next. */
export const ITEMS_MAX = 4096;

/** Kinds of items after which a stream has no more. */
export const FINAL = new Set(["cancelled", "done", "error"]);

/** For each operation: whether a repetition needs a request id, and the types of the fields
 * that each reply has. */
export const OPS = {
  adapter_set: { once: false, reply: { found: "bool" } },
  adapters: { once: false, reply: { adapters: "array" } },
  add: { once: true, reply: { id: "id" } },
  alias: { once: false, reply: {} },
  apply_template: { once: false, reply: { prompt: "text", n_prompt: "int" } },
  cancel: { once: false, reply: { ended: "bool" } },
  config_reload: { once: false, reply: {} },
  create: { once: false, reply: { model: "string" } },
  detokenize: { once: false, reply: { text: "bytes" } },
  devices: { once: false, reply: { devices: "array" } },
  drain: { once: false, reply: { running: "int", waiting: "int" } },
  embed: { once: false, reply: { embeddings: "array", n_prompt: "int" } },
  events: { once: false, reply: { events: "array", last: "int" } },
  generate: { once: true, reply: { id: "id", seed: "int" } },
  hello: { once: false, reply: { server: "string", version: "string", v_min: "int", v_max: "int", revision: "int", boot: "id", role: "enum", features: "array" } },
  info: { once: false, reply: { model: "object", elements: "int", weight_bytes: "int", types: "array" } },
  key_add: { once: false, reply: {} },
  key_rm: { once: false, reply: { found: "bool" } },
  key_set: { once: false, reply: {} },
  keys: { once: false, reply: { keys: "array" } },
  limits: { once: false, reply: { limits: "array" } },
  load: { once: true, reply: { id: "id" } },
  models: { once: false, reply: { models: "array" } },
  next: { once: false, reply: { id: "id", last: "int" } },
  pause: { once: false, reply: { left_ms: "int" } },
  ping: { once: false, reply: { state: "enum", uptime_ms: "int" } },
  plugins: { once: false, reply: { plugins: "array" } },
  plugins_reload: { once: false, reply: {} },
  ps: { once: false, reply: { models: "array" } },
  pull: { once: true, reply: { id: "id" } },
  registry_backup: { once: false, reply: { path: "string", size: "int" } },
  registry_restore: { once: false, reply: { models: "int", keys: "int" } },
  reload: { once: true, reply: { id: "id" } },
  replay: { once: true, reply: { id: "id", seed: "int" } },
  replay_info: { once: false, reply: { model: "string", seed: "int", n_prompt: "int", n_out: "int", finish: "enum", digest: "string", bytes: "int" } },
  rerank: { once: false, reply: { scores: "array", n_prompt: "int" } },
  rm: { once: true, reply: { alias: "bool" } },
  session_fork: { once: false, reply: { n_tokens: "int", bytes: "int" } },
  session_read: { once: false, reply: { data: "bytes", bytes: "int" } },
  session_rm: { once: false, reply: { found: "bool" } },
  session_write: { once: false, reply: {} },
  sessions: { once: false, reply: { sessions: "array", bytes: "int", max_bytes: "int" } },
  shutdown: { once: false, reply: { running: "int" } },
  stats: { once: false, reply: { metrics: "array" } },
  status: { once: false, reply: { state: "enum", version: "string", pid: "int", uptime_ms: "int", models: "int", resident: "int", running: "int", waiting: "int", streams: "int", connections: "int", memory_bytes: "int", memory_limit: "int" } },
  streams: { once: false, reply: { streams: "array" } },
  tokenize: { once: false, reply: { tokens: "array" } },
  unload: { once: true, reply: { id: "id" } },
  unpause: { once: false, reply: { was_paused: "bool" } },
  usage: { once: false, reply: { usage: "array" } },
};
