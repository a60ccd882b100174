// SPDX-License-Identifier: MIT
// Made by build-aux/gen-proto from proto/schema.

/** Text arrives as a string if it is valid UTF-8, otherwise as bytes; both may be sent. */
export type Text = string | Uint8Array;

/** The id of a stream: 16 bytes, or their 32 hexadecimal digits. */
export type Id = string | Uint8Array;

/** One member of a sampler chain: its name and its parameters. */
export interface Sampler {
  sampler: string;
  [parameter: string]: unknown;
}

/** A picture in a message. */
export interface Picture {
  /** A PNG or JPEG file; or its base64 text, also as a data: URI. */
  data: Text;
  /** The byte of the message's text before which it stands; more than its length = at the end. */
  at?: number;
}

/** One limit. */
export interface Limit {
  /** Its name. */
  name: string;
  /** Its value. */
  value: number;
  /** Its unit, unless the name implies it. */
  unit?: string;
}

/** A label of a metric. */
export interface Label {
  /** The label's name. */
  name: string;
  /** The label's value. */
  value: string;
}

/** A model in the registry. */
export interface Model {
  /** Its name. */
  name: string;
  /** Its aliases. */
  aliases?: Array<string>;
  /** sha256: and 64 hexadecimal digits; empty while unknown. */
  digest?: string;
  /** Size of its files. In bytes. */
  size: number;
  /** Its architecture. */
  arch: string;
  /** Format of its files. */
  format?: string;
  /** Path of its first file. Reported to admins only. */
  path?: string;
  /** Its state. */
  state: "absent" | "loading" | "ready" | "draining" | "unloading" | "failed" | "quarantined";
  /** Why the state is failed or quarantined. */
  reason?: string;
  /** When it was added, in seconds since 1970; 0 if unknown. In s. */
  added?: number;
}

/** An adapter of a model. */
export interface Adapter {
  /** Its name. */
  name: string;
  /** Its file or folder; empty unless an admin asks. */
  path: string;
  /** Multiplies the adapter's own scale. */
  scale: number;
  /** It is in the configuration. */
  configured: boolean;
}

/** Adapters in memory that apply together. */
export interface AdapterSlot {
  /** The names of their files with their scales, separated by commas. */
  files: string;
  /** Requests that use it. */
  users: number;
  /** Memory on each device; 0: it was loaded with the model. In bytes. */
  bytes: number;
}

/** What of a model is on one device. */
export interface Placement {
  /** The device, such as cpu0. */
  device: string;
  /** Its first layer; -1 = none. */
  first_layer: number;
  /** Its last layer. */
  last_layer: number;
  /** Operations of a step. */
  ops: number;
  /** Memory of weights, beyond mapped files. In bytes. */
  weight_bytes: number;
  /** Memory of keys, values and states. In bytes. */
  kv_bytes: number;
  /** Working memory. In bytes. */
  scratch_bytes: number;
  /** The process that it is in, if it has one of its own (isolation); otherwise 0. */
  pid?: number;
}

/** Operations that run on another device than they were meant for. */
export interface MovedOps {
  /** The operation. */
  op: string;
  /** How many of a step. */
  n: number;
  /** The device that it was meant for. */
  from: string;
  /** The device that runs it. */
  to: string;
  /** Why. */
  reason: string;
}

/** A device. */
export interface Device {
  /** Backend and index, such as cpu0. */
  name: string;
  /** Its backend. */
  backend: string;
  /** Its index within the backend. */
  index: number;
  /** What it is. */
  description: string;
  /** Its memory; 0 = unknown. In bytes. */
  memory_total: number;
  /** How much of it is free. In bytes. */
  memory_free: number;
  /** What models take or are about to take, by estimate. In bytes. */
  memory_models: number;
  /** Models that use it. */
  models: number;
  /** idle, in use or lost. */
  state: string;
  /** How often it was lost since the server started. */
  losses?: number;
  /** Time for which it stays closed because it was lost. In ms. */
  retry_ms?: number;
  /** queued: steps wait on the device; direct: a call returns when it is complete. */
  queue: string;
  /** host_memory, import, sampling, graphs, peer or buckets. */
  features: Array<string>;
}

/** A metadata key of a model file. */
export interface Meta {
  /** The key. */
  key: string;
  /** Data type of the value. */
  type: string;
  /** The value as text. Long values are cut. */
  value: Text;
}

/** The tensors of one type. */
export interface TensorType {
  /** The type, such as q4_k. */
  type: string;
  /** Number of tensors. */
  tensors: number;
  /** Number of elements. */
  elements: number;
  /** Size of the tensors. In bytes. */
  bytes: number;
}

/** The value of a parameter in requests that do not set it. */
export interface DefaultValue {
  /** The parameter of op generate. */
  name: string;
  /** The value. */
  value: number;
  /** Where it comes from. */
  from: "config" | "model" | "builtin";
}

/** A value that an answer was computed with. */
export interface Setting {
  /** A parameter of op generate. */
  name: string;
  /** The value; of a bool, 0 or 1. */
  value: number;
}

/** One thing that a plugin provides. */
export interface Factory {
  /** backend, arch, tokenizer, sampler or format. */
  kind: string;
  /** Its name. */
  name: string;
  /** How well it suits this machine; 0 = it cannot run here. */
  score: number;
  /** Why the score is 0, or which factory shadows this one. */
  reason?: string;
}

/** A plugin file that was found. */
export interface Plugin {
  /** Its path. */
  file: string;
  /** Its name; empty if it could not be read. */
  name: string;
  /** Kinds of its factories. */
  kinds: Array<string>;
  /** Its version. */
  version: string;
  /** The ABI version it was built for, such as 1.0. */
  abi: string;
  /** loaded, shadowed, refused or retired. */
  state: string;
  /** Why it is not loaded. */
  reason: string;
  /** Version counter of the file, incremented on each replacement. */
  generation: number;
  /** Number of references to it. */
  users?: number;
  /** Its factories, if requested. */
  factories?: Array<Factory>;
}

/** A file beside the one that is infilled. */
export interface InfillFile {
  /** Its name. */
  name?: string;
  /** Its text. */
  text: Text;
}

/** A token and its log probability. */
export interface TokenLogprob {
  /** The token's id. */
  token: number;
  /** Natural logarithm of its probability; -9999 if it is lower than that. */
  logprob: number;
  /** Its bytes. */
  text?: Text;
}

/** The embedding of an input or of one of its tokens. */
export interface Embedding {
  /** Number of the input, from 0. */
  input: number;
  /** Its numbers. */
  vector: Array<number>;
}

/** A stream, as its owner sees it. */
export interface Stream {
  /** Its id. */
  id: Id;
  /** The op that created it. */
  kind: "generate" | "add" | "load" | "unload" | "reload" | "pull";
  /** The model it uses. */
  model: string;
  /** Its state. */
  state: "waiting" | "running" | "ended";
  /** Request id of the request that created it. */
  rid?: string;
  /** Number of its latest item; 0 if there is none yet. */
  last: number;
  /** Time since it was created. In ms. */
  age_ms: number;
  /** Time without next after which it is cancelled. In ms. */
  lease_ms: number;
  /** It is paused. */
  paused?: boolean;
}

/** Something that has happened. */
export interface ServerEvent {
  /** Its number. */
  n: number;
  /** When it happened, since 1970-01-01 UTC. In ms. */
  at_ms: number;
  /** What it was. */
  kind: "load" | "load_failed" | "evict" | "unload" | "queue" | "start" | "end";
  /** The model that it is about. */
  model?: string;
  /** Whose generation it is: uid:NUMBER or key:LABEL. */
  principal?: string;
  /** The stream of the generation. */
  id?: Id;
  /** queue: how many generations wait before it. */
  position?: number;
  /** start and end: length of the prompt. In tokens. */
  n_prompt?: number;
  /** end: length of the answer. In tokens. */
  n_out?: number;
  /** The error, why a generation ended, or for which model another one makes way. */
  text?: string;
}

/** What a principal used of a model on one day. */
export interface UsageRow {
  /** The day as YYYY-MM-DD (UTC). */
  date: string;
  /** 'key:' and the label of a key, or 'uid:' and the number of a user of this machine. */
  principal: string;
  /** The model by name. */
  model: string;
  /** Requests: generations, embeddings and rerankings. */
  n_request: number;
  /** Tokens of the prompts. In tokens. */
  n_prompt: number;
  /** How many of n_prompt were in the prefix cache. In tokens. */
  n_cached: number;
  /** Tokens of the answers. In tokens. */
  n_out: number;
  /** Time that requests waited after their model was ready. In ms. */
  queue_ms: number;
  /** Time that requests ran, added up. In ms. */
  run_ms: number;
  /** Processor time of the threads that tokenise texts, fill in templates and read grammars. In ms. */
  work_ms: number;
}

/** A saved session. */
export interface Session {
  /** Its name. */
  name: string;
  /** Name of the model that it was saved with; empty: its file is damaged. */
  model: string;
  /** Its length. In tokens. */
  n_tokens: number;
  /** Size of its file. In bytes. */
  bytes: number;
  /** When it was saved, since 1970-01-01 UTC. In ms. */
  changed_ms: number;
}

/** An API key that authenticates clients over TCP. */
export interface Key {
  /** Its label. */
  label: string;
  /** Role of the clients that use it. */
  role: "user" | "admin";
  /** Creation time since 1970-01-01 UTC. In ms. */
  created_ms: number;
  /** Expiry time since 1970-01-01 UTC; 0 = never. In ms. */
  expires_ms?: number;
  /** The key has expired. */
  expired?: boolean;
  /** Requests per minute; 0 = any number. */
  rpm?: number;
  /** Tokens per minute, of prompts and answers; 0 = any number. In tokens. */
  tpm?: number;
  /** Tokens per day (UTC), of prompts and answers; 0 = any number. In tokens. */
  tpd?: number;
  /** Names of the models that the key may use, or aliases; an empty list = all. */
  models?: Array<string>;
}

/** Why a request failed. */
export interface Error {
  /** The kind of error. */
  code: string;
  /** Error message that names the object, the value and the bound. */
  text: string;
  /** Do not retry before this much time has passed. In ms. */
  retry_ms?: number;
  /** This connection is not authenticated. Send hello with a valid key, then repeat the request. */
  hello?: boolean;
}

/** One message of a conversation. */
export interface ChatMessage {
  /** Role of the author: system, developer, user, assistant, tool or function. */
  role: string;
  /** Text of the message. */
  content?: Text;
  /** The assistant's reasoning before this message. */
  reasoning?: Text;
  /** Name of the tool or of the author. */
  name?: string;
  /** Tool calls of the assistant, as a JSON array. */
  tool_calls?: Text;
  /** The tool call that a tool's message answers. */
  tool_call_id?: string;
  /** Pictures in the text, in order. The model needs a vision tower. */
  pictures?: Array<Picture>;
}

/** One metric of the server. */
export interface Metric {
  /** Its name, as on the metrics page. */
  name: string;
  /** Counter or gauge. */
  kind: "counter" | "gauge";
  /** Its value. */
  value: number;
  /** Its labels. */
  labels?: Array<Label>;
}

/** A model that is loaded, or being loaded, or will be loaded when its device can be opened again. */
export interface Resident {
  /** Its name or path. */
  model: string;
  /** Its state. */
  state: "absent" | "loading" | "ready" | "draining" | "unloading" | "failed" | "quarantined";
  /** The backend that runs it. */
  backend: string;
  /** Index of the device within the backend. */
  device: number;
  /** Context size of one sequence. In tokens. */
  n_ctx: number;
  /** Maximum number of concurrent sequences. */
  n_seq: number;
  /** Running generations. */
  active: number;
  /** Queued generations. */
  waiting: number;
  /** Memory of the weights. In bytes. */
  weight_bytes: number;
  /** Memory of the KV cache. In bytes. */
  kv_bytes: number;
  /** Free pages and slots of the KV cache whose contents later prompts can still use (prefix caching). */
  cached?: number;
  /** Pages of tokens that requests have pinned (pin_ms). */
  pinned?: number;
  /** Steps that took longer than target_itl while running generations waited for the prompt of another request. */
  late_steps?: number;
  /** Device that chooses tokens if a request has only samplers that it knows; empty = the host does. */
  sampling?: string;
  /** Working memory. In bytes. */
  scratch_bytes: number;
  /** Time since it became ready. In ms. */
  loaded_ms: number;
  /** Time since it last had work; 0 while it has work. In ms. */
  idle_ms: number;
  /** Idle time after which it is unloaded; -1 = never. In ms. */
  keep_alive_ms: number;
  /** What runs on which device. */
  placement?: Array<Placement>;
  /** Names of its adapters, which requests can choose. */
  adapters?: Array<string>;
  /** Operations that run on another device than the others of their layers. */
  moved?: Array<MovedOps>;
  /** Time until a model whose device was lost is loaded again; 0: nothing is to be done, or it is being done. In ms. */
  retry_ms?: number;
  /** Why the state is failed. */
  reason?: string;
}

/** A generation that runs. */
export interface RunningGeneration {
  /** The model that runs it. */
  model: string;
  /** Grows from generation to generation. */
  number: number;
  /** Length of its prompt. In tokens. */
  n_prompt: number;
  /** Length of its answer so far; 0: its prompt is being computed. In tokens. */
  n_out: number;
  /** Its seed. */
  seed: number | bigint;
  /** Tokens are guessed ahead (speculative decoding). */
  speculative?: boolean;
  /** As in the final item of a generation with report_settings. */
  settings?: Array<Setting>;
}

/** A generated token, with the text that has become available since the previous item. */
export interface TokenItem {
  kind: "token";
  /** Number of the item. */
  n: number;
  /** The token's id. */
  token: number;
  /** Bytes of the answer. A multi-byte UTF-8 character is not split if the tokens complete it. */
  text?: Text;
  /** With logprobs: the log probabilities of this token and then of the most likely tokens in descending order, which may include it again. */
  logprobs?: Array<TokenLogprob>;
}

/** A token of the prompt. Sent only with prompt_tokens or prompt_logprobs, before the answer. */
export interface PromptTokenItem {
  kind: "prompt_token";
  /** Number of the item. */
  n: number;
  /** The token's id. */
  token: number;
  /** Its bytes. */
  text?: Text;
  /** With prompt_logprobs: as for token; empty for the first token. */
  logprobs?: Array<TokenLogprob>;
}

/** More text that does not belong to a token. */
export interface TextItem {
  kind: "text";
  /** Number of the item. */
  n: number;
  /** Bytes of the answer. */
  text: Text;
}

/** More of the model's reasoning. Sent only with parse. */
export interface ReasoningItem {
  kind: "thought";
  /** Number of the item. */
  n: number;
  /** Bytes of the reasoning. */
  text: Text;
}

/** A tool call begins; its arguments follow. Sent only with parse. */
export interface CallItem {
  kind: "call";
  /** Number of the item. */
  n: number;
  /** Number of the tool call within the answer, from 0. */
  call: number;
  /** Name of the tool. */
  name: string;
  /** The id that the model gave the call or, if it gave none, nine letters and digits. */
  id: string;
}

/** More of a tool call's arguments. The pieces together are a JSON object unless call_end reports otherwise. */
export interface ArgumentsItem {
  kind: "arguments";
  /** Number of the item. */
  n: number;
  /** Number of the tool call. */
  call: number;
  /** A piece of JSON. */
  text: Text;
}

/** A tool call has ended. */
export interface CallEndItem {
  kind: "call_end";
  /** Number of the item. */
  n: number;
  /** Number of the tool call. */
  call: number;
  /** The arguments are complete and valid JSON. */
  complete: boolean;
}

/** Progress of a job. Only the latest one is kept. */
export interface ProgressItem {
  kind: "progress";
  /** Number of the item. */
  n: number;
  /** What the job is doing. */
  phase: "queued" | "hash" | "copy" | "check" | "load" | "warm" | "drain" | "unload" | "download";
  /** Amount of work done. */
  done: number;
  /** Total amount of work; 0 if unknown. */
  total?: number;
}

/** The stream ended normally. */
export interface DoneItem {
  kind: "done";
  /** Number of the item. */
  n: number;
  /** Why it ended. */
  finish: "eog" | "stop" | "length" | "context" | "deadline" | "shutdown" | "done";
  /** Length of the prompt. In tokens. */
  n_prompt?: number;
  /** Length of the answer. In tokens. */
  n_out?: number;
  /** Time from the first step to the first token. In ns. */
  prompt_ns?: number;
  /** Time from the first token to the end. In ns. */
  out_ns?: number;
  /** Tokens of the answer that needed no step of their own because the grammar allowed no alternative (jump-forward decoding). In tokens. */
  n_forced?: number;
  /** Tokens of the prompt that were not computed again, because they were in the prefix cache. In tokens. */
  n_cached?: number;
  /** Speculative decoding: tokens that were guessed and verified. In tokens. */
  n_drafted?: number;
  /** How many of n_drafted were right; they are part of the answer. In tokens. */
  n_accepted?: number;
  /** Tokens of the answer that are reasoning; 0 if the answer was not parsed. In tokens. */
  n_reasoning?: number;
  /** How often the context was full and tokens were dropped from its middle (context_shift). */
  n_shift?: number;
  /** Prefix cache: the first token of the prompt at which it differs from all prompts that are remembered; n_prompt if it does not. Tokens before it and after n_cached had been computed, but are no longer in memory. In tokens. */
  prefix_broke_at?: number;
  /** Tokens of the prompt that pin_ms keeps in the prefix cache: whole pages, as far as the user's share reaches. In tokens. */
  n_pinned?: number;
  /** Length of the session that was saved; 0: none was. In tokens. */
  n_saved?: number;
  /** Why the session of the request was not saved. */
  session_error?: string;
  /** With report_settings: the values in use of the sampling parameters, unless the request has a chain, and of n, context_shift, n_keep and n_discard. */
  settings?: Array<Setting>;
}

/** The stream failed. */
export interface ErrorItem {
  kind: "error";
  /** Number of the item. */
  n: number;
  /** The kind of error. */
  code: string;
  /** Error message that names the object, the value and the bound. */
  text: string;
}

/** The stream was cancelled. */
export interface CancelledItem {
  kind: "cancelled";
  /** Number of the item. */
  n: number;
  /** Why it was cancelled. */
  reason: "asked" | "lease" | "gone" | "slow_reader" | "unload" | "paused";
}

/** The items of a stream, numbered from 1 without gaps. The last item of a stream is final; no other item is. */
export type Item =
  | TokenItem
  | PromptTokenItem
  | TextItem
  | ReasoningItem
  | CallItem
  | ArgumentsItem
  | CallEndItem
  | ProgressItem
  | DoneItem
  | ErrorItem
  | CancelledItem;

/** Gives an adapter a name that requests for a model can use, removes a name, or sets the adapters of requests that name none. Holds until the server ends; those of the configuration stay. */
export interface AdapterSetRequest {
  /** The model by name or alias. */
  model: string;
  /** The name; empty = no name changes. */
  name?: string;
  /** The file or PEFT folder of the adapter, an absolute path; empty = the name is removed. */
  path?: string;
  /** Multiplies the adapter's own scale. Default: 1. */
  scale?: number;
  /** The adapters of requests that name none, as in op generate; empty = those of the configuration. */
  chosen?: string;
}

/** Gives an adapter a name that requests for a model can use, removes a name, or sets the adapters of requests that name none. Holds until the server ends; those of the configuration stay. */
export interface AdapterSetReply {
  /** The name existed. */
  found: boolean;
}

/** Lists the adapters of a model that have a name, without those of its folder, and what its slots have in memory. */
export interface AdaptersRequest {
  /** The model by name or alias. */
  model: string;
}

/** Lists the adapters of a model that have a name, without those of its folder, and what its slots have in memory. */
export interface AdaptersReply {
  /** The adapters in the order of their numbers: those of the configuration, then those of op adapter_set. */
  adapters: Array<Adapter>;
  /** The adapters of requests that name none: those that op adapter_set chose, or else the key adapter of the configuration. */
  chosen?: string;
  /** Further names stand for files in a folder. */
  folder?: boolean;
  /** What the loaded model has in memory. */
  slots?: Array<AdapterSlot>;
  /** How many were put into the running model. */
  loaded?: number;
  /** How many made room for others. */
  evicted?: number;
}

/** Adds a model file on the server to the registry. This is a job; its stream ends when the model is registered. */
export interface AddRequest {
  /** The model's name. */
  name: string;
  /** A file or folder below one of the server's model folders. */
  path: string;
  /** Copy the files into the server's own store. */
  copy?: boolean;
  /** Expected digest; the file is rejected if its digest differs. */
  digest?: string;
  /** Replace the model that has this name. */
  replace?: boolean;
}

/** Adds a model file on the server to the registry. This is a job; its stream ends when the model is registered. */
export interface AddReply {
  /** The stream of the job. */
  id: Id;
}

/** Gives a model another name. An existing alias is moved to the model. */
export interface AliasRequest {
  /** The additional name. */
  alias: string;
  /** The model. */
  model: string;
}

/** Gives a model another name. An existing alias is moved to the model. */
export interface AliasReply {
  /** The model that the alias named before. */
  before?: string;
}

/** Turns a conversation into the prompt that op generate would give the model. */
export interface ApplyTemplateRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
  /** The conversation. If the last message is the assistant's, it is the beginning of the answer. */
  messages: Array<ChatMessage>;
  /** Chat template to use in place of the model's own, as in op generate. */
  template?: Text;
  /** Additional variables for the template, as a JSON object. */
  template_args?: Text;
  /** Tools that the template presents to the model, as a JSON array. */
  tools?: Text;
  /** Add the tokens that the model expects at the beginning of a prompt (BOS). Default: true. */
  add_special?: boolean;
  /** Include the tokens of the prompt; not together with pictures, which are no tokens. */
  tokens?: boolean;
}

/** Turns a conversation into the prompt that op generate would give the model. */
export interface ApplyTemplateReply {
  /** The prompt. Text that spells a control token is a control token only where the template wrote it. A picture is shown as <picture>. */
  prompt: Text;
  /** Length of the prompt, in which each row of a picture counts as a token. In tokens. */
  n_prompt: number;
  /** Its tokens, if requested. */
  tokens?: Array<number>;
}

/** Cancels a stream within one step of the model. A stream that has already ended is forgotten. */
export interface CancelRequest {
  /** The stream. */
  id: Id;
}

/** Cancels a stream within one step of the model. A stream that has already ended is forgotten. */
export interface CancelReply {
  /** The stream had already ended. */
  ended: boolean;
}

/** Reads the configuration again. Either all of it takes effect or, on an error, none of it. */
export interface ConfigReloadRequest {
}

/** Reads the configuration again. Either all of it takes effect or, on an error, none of it. */
export interface ConfigReloadReply {
  /** Keys whose values changed. */
  changed?: Array<string>;
  /** Keys whose new values take effect only after a restart. */
  restart?: Array<string>;
}

/** Makes a name for a model with a system prompt, a template, parameters and messages of its own, which a Modelfile describes. An alias of that name, or what was created by it, is replaced. */
export interface CreateRequest {
  /** The new name. */
  name: string;
  /** The Modelfile; FROM names a model of the registry. */
  modelfile: Text;
}

/** Makes a name for a model with a system prompt, a template, parameters and messages of its own, which a Modelfile describes. An alias of that name, or what was created by it, is replaced. */
export interface CreateReply {
  /** The model that FROM names, without aliases. */
  model: string;
}

/** Converts tokens to text. */
export interface DetokenizeRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
  /** The tokens. */
  tokens: Array<number>;
  /** Include the text of control tokens. Default: true. */
  special?: boolean;
}

/** Converts tokens to text. */
export interface DetokenizeReply {
  /** The text. It is not necessarily valid UTF-8. */
  text: Text;
}

/** Lists the devices that models can run on. */
export interface DevicesRequest {
}

/** Lists the devices that models can run on. */
export interface DevicesReply {
  /** The devices of all backends. */
  devices: Array<Device>;
}

/** Stops accepting work and finishes the running generations, or accepts work again. */
export interface DrainRequest {
  /** False to accept work again. Default: true. */
  on?: boolean;
}

/** Stops accepting work and finishes the running generations, or accepts work again. */
export interface DrainReply {
  /** Running generations. */
  running: number;
  /** Queued generations. They fail when draining starts. */
  waiting: number;
}

/** Computes embeddings: vectors that represent the meaning of texts. */
export interface EmbedRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
  /** The texts. */
  inputs?: Array<Text>;
  /** A single input as tokens, used unchanged. */
  tokens?: Array<number>;
  /** How the vectors of an input's tokens become one. Default: "auto". */
  pooling?: "auto" | "none" | "mean" | "cls" | "last" | "rank";
  /** Scale each vector to the Euclidean length 1. Default: true. */
  normalize?: boolean;
  /** Keep only this many numbers of each vector, for models that were trained for it; 0 = all. */
  dimensions?: number;
  /** Cut inputs that are longer than the context; otherwise they are an error. */
  truncate?: boolean;
  /** From now on, unload the model after it has been idle for this long; 0 = at once, -1 = never. In ms. */
  keep_alive_ms?: number;
}

/** Computes embeddings: vectors that represent the meaning of texts. */
export interface EmbedReply {
  /** The vectors, in the order of the inputs: one per input, or with the pooling none one per token. */
  embeddings: Array<Embedding>;
  /** Number of tokens of all inputs. In tokens. */
  n_prompt: number;
}

/** Fetches what has happened since a cursor: loads, unloads and evictions of models, and generations that waited, began and ended. Asking again returns the same events as long as the server keeps them. A user sees models that the user may use, and the user's own generations; an administrator sees all. */
export interface EventsRequest {
  /** Number of the last event that the client has received. Numbers begin at 1 when the server starts. */
  after?: number;
  /** Maximum time to wait for an event. In ms. */
  wait_ms?: number;
  /** Maximum number of events. Default: 256. */
  max?: number;
}

/** Fetches what has happened since a cursor: loads, unloads and evictions of models, and generations that waited, began and ended. Asking again returns the same events as long as the server keeps them. A user sees models that the user may use, and the user's own generations; an administrator sees all. */
export interface EventsReply {
  /** The events after the cursor, the oldest first. Empty if the wait timed out. */
  events: Array<ServerEvent>;
  /** The next cursor. */
  last: number;
  /** Events after the cursor that the server no longer has, including those that the client may not see. */
  lost?: number;
}

/** Generates text from a prompt or a conversation. Replies at once with a stream; its items are fetched with next. */
export interface GenerateRequest {
  /** The model by name or alias; admins may also give a path. It is loaded if it is not in memory. */
  model: string;
  /** The prompt. If the model has a chat template, this is a user's message, unless raw is set; otherwise it is the text to continue. */
  prompt?: Text;
  /** The prompt as tokens, used unchanged. */
  tokens?: Array<number>;
  /** Infilling: the text after the gap; prompt is the text before it. Only for models with tokens for it. */
  suffix?: Text;
  /** Infilling: other files, which the model sees first. Only with suffix. */
  infill_files?: Array<InfillFile>;
  /** A conversation. If the last message is the assistant's, the model continues it. */
  messages?: Array<ChatMessage>;
  /** Use the prompt as plain text even if the model has a chat template. */
  raw?: boolean;
  /** Chat template to use in place of the model's own: the name of one of the model's variants or of a built-in template, or the text of a template if it contains a {. */
  template?: Text;
  /** Additional variables for the template, as a JSON object. */
  template_args?: Text;
  /** Tools for tool calling that the template presents to the model, as a JSON array. */
  tools?: Text;
  /** The answer must be calls of this tool; an asterisk = of any of the tools. The arguments match the schemas of their tools. The calls are written in the format of the model, or as JSON if it has none whose text can be constrained. Requires tools and parse. Not together with grammar, json_schema, regex or structural_tag. */
  required_call?: string;
  /** With required_call: allow several calls. Default: true. */
  parallel_calls?: boolean;
  /** Parse the answer: items distinguish text, reasoning and tool calls. */
  parse?: boolean;
  /** How the model marks reasoning and tool calls: a name from llamactl debug parse --list. Defaults to the format that the chat template uses. Only with parse. */
  parse_format?: string;
  /** Add the tokens that the model expects at the beginning of a prompt (BOS). Default: true. */
  add_special?: boolean;
  /** Convert text that spells a control token in the prompt to that token. */
  parse_special?: boolean;
  /** Maximum length of the answer; -1 = until the context is full. Defaults to the server's setting. In tokens. */
  n?: number;
  /** When the context is full, drop tokens from its middle and go on, instead of ending the answer with the reason context. The rest is computed again, as if the prompt had been so. An answer without a limit then ends at the server's. Defaults to the preset's value, or false. */
  context_shift?: boolean;
  /** With context_shift: how many tokens at the beginning stay, not counting a BOS token, which always does; -1 = the whole prompt. All but four tokens of the context can stay. Defaults to the preset's value, or 0. In tokens. */
  n_keep?: number;
  /** With context_shift: how many tokens after those are dropped at a time; 0 = half of them. In tokens. */
  n_discard?: number;
  /** Passages of the prompt of at least so many tokens that the prefix cache knows at other positions, because something before them was edited, are not computed: their rows are moved to the new positions. That is an approximation. 0 = off. Refused for models whose rows cannot be moved, and with durable. Defaults to the preset's value, or 0. In tokens. */
  cache_reuse?: number;
  /** Stop sequences. The answer ends before the first of them. */
  stop?: Array<Text>;
  /** Tokens that end the answer, which is what precedes them. */
  stop_tokens?: Array<number>;
  /** The answer does not end by a stop token or an end-of-generation token before this length, unless the grammar allows nothing else. In tokens. */
  min_tokens?: number;
  /** Grammar in GBNF that constrains the answer (structured output). */
  grammar?: Text;
  /** JSON schema that constrains the answer (structured output); {} allows any JSON. Not together with grammar. */
  json_schema?: Text;
  /** Regular expression that all of the answer matches (structured output). Not together with grammar or json_schema. */
  regex?: Text;
  /** Structural tag that constrains parts of the answer, as JSON (structured output). Not together with grammar, json_schema or regex. */
  structural_tag?: Text;
  /** The grammar applies only after the answer has matched one of these regular expressions. */
  grammar_triggers?: Array<Text>;
  /** Jump-forward decoding: what to append without running the model where the grammar allows no alternative. Default: "token". */
  jump?: "token" | "text" | "off";
  /** Token healing: tokens at the end of the prompt that could be the start of longer tokens are removed, and the model generates their text again in tokens of its choice. That text is not part of the answer. */
  heal?: boolean;
  /** Continue after end-of-generation tokens. */
  ignore_eog?: boolean;
  /** Include the text of control tokens in the answer. */
  special?: boolean;
  /** Report the log probability of each token, and those of this many most likely tokens. Then jump-forward decoding is off. */
  logprobs?: number;
  /** The log probabilities are those of the tokens that the samplers left, and not the model's own. Only with logprobs. */
  sampled_probs?: boolean;
  /** Send the tokens of the prompt as items before the answer. */
  prompt_tokens?: boolean;
  /** Like prompt_tokens, each with its log probability and those of this many most likely tokens. The prompt is then computed separately. */
  prompt_logprobs?: number;
  /** Random seed. By default the server chooses one and reports it. */
  seed?: number | bigint;
  /** The sampler chain, in order. The sampling parameters below are then ignored. */
  chain?: Array<Sampler>;
  /** Order of the samplers: default, temperature-first, letters such as edskypmxt, or names separated by commas. */
  order?: string;
  /** Temperature; 0 = greedy, always the most likely token. Defaults to the value of the configuration or of the model, or 0.8. */
  temp?: number;
  /** Sample from the K most likely tokens; 0 or less = all. Defaults to the value of the configuration or of the model, or 40. */
  top_k?: number;
  /** Sample from the most likely tokens whose probabilities add up to this value; 1 = all. Defaults to the value of the configuration or of the model, or 0.95. */
  top_p?: number;
  /** Drop tokens less likely than this fraction of the most likely token's probability; 0 = off. Defaults to the value of the configuration or of the model, or 0.05. */
  min_p?: number;
  /** Locally typical sampling: keep the most typical tokens whose probabilities add up to this value; 1 = off. Defaults to the value of the configuration or of the model, or 1. */
  typical?: number;
  /** Keep tokens whose logits are within this many standard deviations of the highest logit; 0 or less = off. Defaults to the value of the configuration or of the model, or -1. */
  top_n_sigma?: number;
  /** Minimum number of tokens that typical, top_p, min_p and xtc keep. Defaults to the value of the configuration or of the model, or 0. */
  min_keep?: number;
  /** Number of recent tokens that the repetition penalties look at; 0 = off, -1 = the whole context. Defaults to the value of the configuration or of the model, or 64. In tokens. */
  repeat_last_n?: number;
  /** Repetition penalty: divides positive logits of recent tokens and multiplies negative ones; 1 = off. Defaults to the value of the configuration or of the model, or 1. */
  repeat_penalty?: number;
  /** Subtracted from a recent token's logit for each time it occurred; 0 = off. Defaults to the value of the configuration or of the model, or 0. */
  frequency_penalty?: number;
  /** Subtracted once from the logit of each recent token; 0 = off. Defaults to the value of the configuration or of the model, or 0. */
  presence_penalty?: number;
  /** Dynamic temperature: the entropy moves the temperature by at most this much in either direction; 0 = off. Defaults to the value of the configuration or of the model, or 0. */
  dynatemp_range?: number;
  /** Dynamic temperature: exponent of the normalised entropy. Defaults to the value of the configuration or of the model, or 1. */
  dynatemp_exponent?: number;
  /** XTC: probability with which the most likely tokens are removed; 0 = off. Defaults to the value of the configuration or of the model, or 0. */
  xtc_probability?: number;
  /** XTC: only tokens at least this likely are removed. Defaults to the value of the configuration or of the model, or 0.1. */
  xtc_threshold?: number;
  /** DRY: strength of the penalty on repeated sequences; 0 = off. Defaults to the value of the configuration or of the model, or 0. */
  dry_multiplier?: number;
  /** DRY: base of the penalty, which grows exponentially with the length of the repetition. Defaults to the value of the configuration or of the model, or 1.75. */
  dry_base?: number;
  /** DRY: repeated sequences up to this length are not penalised. Defaults to the value of the configuration or of the model, or 2. In tokens. */
  dry_allowed_length?: number;
  /** DRY: number of recent tokens to search for repetitions; 0 = off, -1 = the whole context. Defaults to the value of the configuration or of the model, or 64. In tokens. */
  dry_last_n?: number;
  /** DRY: texts that end a repeated sequence. Defaults to newline, colon, double quote and asterisk. */
  dry_breakers?: Array<Text>;
  /** Mirostat: version 1 or 2, which then chooses the token; 0 = off. Defaults to the value of the configuration or of the model, or 0. */
  mirostat?: number;
  /** Mirostat: target surprise of a token in bits. Defaults to the value of the configuration or of the model, or 5. */
  mirostat_tau?: number;
  /** Mirostat: learning rate. Defaults to the value of the configuration or of the model, or 0.1. */
  mirostat_eta?: number;
  /** Values added to the logits of given tokens; -inf forbids a token. */
  logit_bias?: Array<[token: number, bias: number]>;
  /** Tokens that are never sampled. Defaults to those that the model's file names; an empty list allows all. */
  suppress_tokens?: Array<number>;
  /** Take the beginning of the prompt from the prefix cache if it was computed before, and let later requests find this one's. If false, the whole prompt is computed and nothing of it is found later. Default: true. */
  cache_prompt?: boolean;
  /** The adapters (LoRA) of the model that the answer is computed with, at most 8, as NAME[:SCALE] separated by commas; empty = none. A name is one of the server's configuration or of its folder of adapters, or a number in the list; SCALE multiplies the adapter's own. Defaults to those of the preset. An adapter that is not in memory is loaded first. Requests with different adapters are computed together. */
  adapter?: string;
  /** For so long after the answer, what the prefix cache has of this prompt is the last thing that others may take. A user can pin a quarter of a model's memory for tokens. Only with cache_prompt. In ms. */
  pin_ms?: number;
  /** A saved session of the client's own. What it has of the beginning of the prompt is not computed again, also after a restart of the server; at the end it is replaced by this prompt and answer. Its name has letters, digits, '.', '_' and '-', beginning with a letter or digit. Requires limit session_bytes. */
  session?: string;
  /** Speculative decoding: guess at most this many tokens at a time, from the prompt, the answer so far and the prediction, and verify them in one step; 0 = off. The answer stays the same. Fewer are guessed if that is faster. Defaults to the server's setting. In tokens. */
  draft_max?: number;
  /** Speculative decoding: a text that much of the answer is expected to repeat, such as the file that it edits. */
  prediction?: Text;
  /** From now on, unload the model after it has been idle for this long; 0 = at once, -1 = never. In ms. */
  keep_alive_ms?: number;
  /** The final item has the settings that the answer was computed with: those of the request, and for the others those of the model's section in the configuration, of the model's file, or built in. */
  report_settings?: boolean;
  /** Scheduling priority. Default: "normal". */
  class?: "interactive" | "normal" | "batch";
  /** Deadline of the whole request, including time in the queue. Defaults to the server's setting. In ms. */
  timeout_ms?: number;
  /** Cancel the stream if no next arrives for this long. Defaults to the server's setting. In ms. */
  lease_ms?: number;
  /** Write the stream to the server's state folder: if the server is stopped, killed or replaced, the generation goes on when it has started again, and next with the same id and cursor returns the same items. Only for models of the registry, and not together with prompt_tokens, prompt_logprobs, context_shift or a sampler that learns (mirostat, adaptive). The stream is kept for the server's durable_age_ms unless lease_ms is given. */
  durable?: boolean;
}

/** Generates text from a prompt or a conversation. Replies at once with a stream; its items are fetched with next. */
export interface GenerateReply {
  /** The stream. */
  id: Id;
  /** The seed in use. */
  seed: number | bigint;
}

/** Identifies the client and reports what the server speaks. May be sent with any v. */
export interface HelloRequest {
  /** Name of the client program, for the log. */
  client?: string;
  /** Version of the client program. */
  version?: string;
  /** Secret of an API key, which authenticates this connection on tcp and tls+tcp. Ignored on the unix socket. */
  key?: string;
}

/** Identifies the client and reports what the server speaks. May be sent with any v. */
export interface HelloReply {
  /** Name of the server program. */
  server: string;
  /** Version of the server program. */
  version: string;
  /** Oldest protocol version that the server speaks. */
  v_min: number;
  /** Newest protocol version that the server speaks. */
  v_max: number;
  /** The server knows all ops and fields whose since is at most this number. */
  revision: number;
  /** Random id that changes with each start of the server. */
  boot: Id;
  /** Role of this client. */
  role: "user" | "admin";
  /** Ops that this client may use, and names of optional features of this server. */
  features: Array<string>;
  /** The limits, as in op limits. */
  limits?: Array<Limit>;
}

/** Returns the metadata of a model file. */
export interface InfoRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
  /** Include the metadata keys of the file. */
  keys?: boolean;
  /** Include what the chat template supports. */
  template_caps?: boolean;
}

/** Returns the metadata of a model file. */
export interface InfoReply {
  /** The model's entry in the registry. */
  model: Model;
  /** Number of elements of all tensors. */
  elements: number;
  /** Size of all tensors. In bytes. */
  weight_bytes: number;
  /** Context length of training; 0 if unknown. In tokens. */
  n_ctx_train?: number;
  /** Number of layers. */
  n_layer?: number;
  /** Embedding width. */
  n_embd?: number;
  /** Size of the vocabulary. In tokens. */
  n_vocab?: number;
  /** The chat template: that of the configuration, or the model's own. */
  chat_template?: Text;
  /** Tensors by type. */
  types: Array<TensorType>;
  /** Metadata keys of the file, if requested. */
  meta?: Array<Meta>;
  /** The loaded instance, if the model is in memory. */
  resident?: Resident;
  /** The sampling parameters of requests that do not set them. */
  defaults?: Array<DefaultValue>;
  /** The system prompt of conversations without one, from the configuration or a Modelfile. */
  system?: Text;
  /** The Modelfile, if the name was made by op create. */
  modelfile?: Text;
  /** What the chat template supports, if requested: system, tools, tool_calls, parallel_tool_calls, tool_results, reasoning, thinking_switch, parts, generation_prompt, strings. */
  template_caps?: Array<string>;
  /** Paths of its files in their order, if it has several. Reported to admins only. */
  files?: Array<string>;
  /** It has a vision tower, so that it reads pictures; of a model that is not in memory: a file of one is configured or beside it. */
  vision?: boolean;
}

/** Adds an API key whose secret only the client knows. Only on the unix socket. */
export interface KeyAddRequest {
  /** Label of the key, unique among all keys. */
  label: string;
  /** SHA-256 of the secret as 64 lower-case hexadecimal digits. The secret must be random, with at least 128 bits. */
  digest: string;
  /** Role of the clients that use the key. Default: "user". */
  role?: "user" | "admin";
  /** Expiry time since 1970-01-01 UTC; 0 = never. In ms. */
  expires_ms?: number;
  /** Requests per minute; 0 = any number. */
  rpm?: number;
  /** Tokens per minute, of prompts and answers; 0 = any number. In tokens. */
  tpm?: number;
  /** Tokens per day (UTC), of prompts and answers; 0 = any number. In tokens. */
  tpd?: number;
  /** Names of the models that the key may use, or aliases; an empty list = all. */
  models?: Array<string>;
}

/** Adds an API key whose secret only the client knows. Only on the unix socket. */
export interface KeyAddReply {
}

/** Removes an API key. Its connections are no longer authenticated, and their streams end unless they have a lease of their own. Only on the unix socket. */
export interface KeyRmRequest {
  /** Label of the key. */
  label: string;
}

/** Removes an API key. Its connections are no longer authenticated, and their streams end unless they have a lease of their own. Only on the unix socket. */
export interface KeyRmReply {
  /** The key existed. */
  found: boolean;
}

/** Changes the quota of an API key, also for clients that are connected; fields that are missing stay as they are. Only on the unix socket. */
export interface KeySetRequest {
  /** Label of the key. */
  label: string;
  /** Requests per minute; 0 = any number. */
  rpm?: number;
  /** Tokens per minute, of prompts and answers; 0 = any number. In tokens. */
  tpm?: number;
  /** Tokens per day (UTC), of prompts and answers; 0 = any number. In tokens. */
  tpd?: number;
  /** Names of the models that the key may use, or aliases; an empty list = all. */
  models?: Array<string>;
}

/** Changes the quota of an API key, also for clients that are connected; fields that are missing stay as they are. Only on the unix socket. */
export interface KeySetReply {
}

/** Lists the API keys, oldest first. Only on the unix socket. */
export interface KeysRequest {
}

/** Lists the API keys, oldest first. Only on the unix socket. */
export interface KeysReply {
  /** The keys. */
  keys: Array<Key>;
}

/** Lists the limits of this server. */
export interface LimitsRequest {
}

/** Lists the limits of this server. */
export interface LimitsReply {
  /** The limits. */
  limits: Array<Limit>;
}

/** Loads a model into memory. This is a job; its stream reports progress and ends when the model is ready. */
export interface LoadRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
  /** Context size of one sequence; 0 = the model's own, or what fits into memory. In tokens. */
  n_ctx?: number;
  /** Maximum number of concurrent sequences (continuous batching); 0 = chosen by the server. */
  n_seq?: number;
  /** Maximum number of tokens in one step; 0 = chosen by the server. In tokens. */
  n_batch?: number;
  /** The backend; auto = the best one available. Default: "auto". */
  backend?: string;
  /** Index of the device within the backend. */
  device?: number;
  /** Threads of a CPU backend; 0 = chosen by the server. */
  threads?: number;
  /** Data type of the KV cache, such as f16; auto = the device's preference. Default: "auto". */
  kv_type?: string;
  /** Data type of the keys in the KV cache; auto = kv_type. Default: "auto". */
  kv_type_k?: string;
  /** Data type of the values in the KV cache; auto = kv_type. Default: "auto". */
  kv_type_v?: string;
  /** Data type of activations between layers. Default: "auto". */
  activations?: "auto" | "f32" | "int8" | "int16";
  /** Maximum memory that the model may use; 0 = all that the server has left. In bytes. */
  memory_limit?: number;
  /** The devices to use, such as cuda0,cuda1; empty = backend and device. */
  devices?: string;
  /** How many of the last layers run on these devices, the others run on the cpu: a number, all, or auto for as many as fit; empty = chosen by the server. */
  gpu_layers?: string;
  /** Shares of the layers for each device, such as 3,1, or tensor or tensor:N: every device has a part of every layer; empty = by free memory. */
  split?: string;
  /** REGEX=DEVICE, separated by commas: operations whose weights match run on that device. */
  override_tensor?: string;
  /** Speculative decoding: name of a smaller model with the same vocabulary, which guesses tokens; nextn = the draft layers of the model itself; auto = those if it has any, otherwise the smallest model in memory that has the same vocabulary and at most a quarter of the weights; empty = none, or that of the configuration. */
  draft_model?: string;
  /** File of the vision tower, which lets the model read pictures; empty = that of the configuration, or the file mmproj*.gguf beside the model. */
  mmproj?: string;
  /** The process of the model's backend. Default: "auto". */
  isolation?: "auto" | "off" | "process";
  /** Threads of a CPU backend for steps of more than 16 tokens; 0 = as threads, or chosen by the server. */
  threads_batch?: number;
  /** Processors that these threads run on, such as 0-7,16 or 0xff; empty = chosen by the server. */
  cpus?: string;
  /** Unload the model after it has been idle for this long; -1 = never. In ms. Default: 300000. */
  keep_alive_ms?: number;
}

/** Loads a model into memory. This is a job; its stream reports progress and ends when the model is ready. */
export interface LoadReply {
  /** The stream of the job. */
  id: Id;
}

/** Lists the models in the registry. */
export interface ModelsRequest {
  /** List only this model, by name or alias. */
  model?: string;
  /** List only names after this one (for paging). */
  after?: string;
  /** Maximum number of rows. Default: 4096. */
  max?: number;
}

/** Lists the models in the registry. */
export interface ModelsReply {
  /** The models, sorted by name. */
  models: Array<Model>;
  /** There are more rows. */
  more?: boolean;
}

/** Fetches the items of a stream after a cursor. Asking again returns the same items. */
export interface NextRequest {
  /** The stream. */
  id: Id;
  /** Number of the last item that the client has received. Items up to it may be forgotten. */
  after?: number;
  /** Maximum time to wait for an item. Defaults to the server's setting. In ms. */
  wait_ms?: number;
  /** Output batching delay: after the first unread item wait this long for more, except at the beginning and the end of the stream; 0 = send each item at once. Defaults to the server's setting. In ms. */
  hold_ms?: number;
  /** Maximum number of items. Default: 256. */
  max?: number;
}

/** Fetches the items of a stream after a cursor. Asking again returns the same items. */
export interface NextReply {
  /** The stream. */
  id: Id;
  /** The items after the cursor, in order. Empty if the wait timed out. */
  items?: Array<Item>;
  /** The next cursor: number of the last item in this reply, or after if there is none. */
  last: number;
  /** The stream has no more items. */
  end?: boolean;
}

/** Pauses a generation after the current step of the model. It computes nothing until op unpause, and then has the answer that it would have had without the pause. It keeps its place among its user's generations and its deadline, must be read as often as its lease says, and is cancelled if it stays paused for longer than the limit pause_max. Its memory can be used by others; what they took is computed again. A durable stream is no longer paused after a restart. */
export interface PauseRequest {
  /** The stream. */
  id: Id;
}

/** Pauses a generation after the current step of the model. It computes nothing until op unpause, and then has the answer that it would have had without the pause. It keeps its place among its user's generations and its deadline, must be read as often as its lease says, and is cancelled if it stays paused for longer than the limit pause_max. Its memory can be used by others; what they took is computed again. A durable stream is no longer paused after a restart. */
export interface PauseReply {
  /** Time after which it is cancelled. Pausing again does not extend it. In ms. */
  left_ms: number;
}

/** Checks that the server is alive. */
export interface PingRequest {
}

/** Checks that the server is alive. */
export interface PingReply {
  /** State of the server. */
  state: "starting" | "ready" | "draining";
  /** Time since the server started. In ms. */
  uptime_ms: number;
}

/** Lists the plugin files that were found. */
export interface PluginsRequest {
  /** Include the factories of each plugin. */
  factories?: boolean;
}

/** Lists the plugin files that were found. */
export interface PluginsReply {
  /** The plugins. */
  plugins: Array<Plugin>;
}

/** Scans the plugin folders again. Models that are loaded afterwards use the plugins found now. */
export interface PluginsReloadRequest {
  /** Accept a change of this file only: an absolute path as plugins reports it, or the name of a file in any plugin folder. Defaults to all files. */
  file?: string;
}

/** Scans the plugin folders again. Models that are loaded afterwards use the plugins found now. */
export interface PluginsReloadReply {
  /** Files that are new or were replaced. */
  added?: Array<string>;
  /** Files that are gone or were replaced. */
  removed?: Array<string>;
  /** Files that cannot be used, with the reason. */
  refused?: Array<Plugin>;
}

/** Lists the models in memory. */
export interface PsRequest {
  /** Also list the generations that run: the client's own, or everybody's for admins. */
  generations?: boolean;
}

/** Lists the models in memory. */
export interface PsReply {
  /** The models in memory. */
  models: Array<Resident>;
  /** With generations: those that run, by model and age. */
  generations?: Array<RunningGeneration>;
}

/** Downloads a model from Hugging Face, a registry or a URL into the server's own store and adds it to the registry. This is a job; its stream ends when the model is registered. What has arrived before an interruption is kept, and the next pull of the same source continues there. */
export interface PullRequest {
  /** A short name of the server's catalogue, hf:USER/REPO[@REVISION][:QUANTISATION or :FILE], ollama:NAME[:TAG], oci:HOST/REPO[:TAG], or a URL. */
  source: string;
  /** The model's name. Defaults to the short name, to REPO:QUANTISATION without -GGUF, to NAME:TAG, or to the name of the file. */
  name?: string;
  /** Expected digest; what was downloaded is rejected if its digest differs. */
  digest?: string;
  /** Replace the model that has this name. */
  replace?: boolean;
  /** Only find the files: the stream reports their size as the total of phase download, and nothing is transferred. */
  dry_run?: boolean;
}

/** Downloads a model from Hugging Face, a registry or a URL into the server's own store and adds it to the registry. This is a job; its stream ends when the model is registered. What has arrived before an interruption is kept, and the next pull of the same source continues there. */
export interface PullReply {
  /** The stream of the job. Op streams reports the model's name. */
  id: Id;
}

/** Writes a consistent copy of the registry into the state folder. Only on the unix socket. */
export interface RegistryBackupRequest {
  /** Name of the file: letters, digits, '.', '_' and '-', ending in .backup. It must not exist. */
  name: string;
}

/** Writes a consistent copy of the registry into the state folder. Only on the unix socket. */
export interface RegistryBackupReply {
  /** Path of the copy. */
  path: string;
  /** Its size. In bytes. */
  size: number;
}

/** Replaces all models, aliases and keys of the registry by those of a copy in the state folder, after checking it. Models in memory stay; clients whose key is not in the copy are disconnected. Only on the unix socket. */
export interface RegistryRestoreRequest {
  /** Name of the file, as for registry_backup. */
  name: string;
}

/** Replaces all models, aliases and keys of the registry by those of a copy in the state folder, after checking it. Models in memory stay; clients whose key is not in the copy are disconnected. Only on the unix socket. */
export interface RegistryRestoreReply {
  /** Models in the registry now. */
  models: number;
  /** Keys in the registry now. */
  keys: number;
}

/** Loads a model again with the current plugins. Running streams finish on the old instance. This is a job. */
export interface ReloadRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
}

/** Loads a model again with the current plugins. Running streams finish on the old instance. This is a job. */
export interface ReloadReply {
  /** The stream of the job. */
  id: Id;
}

/** Generates the answer of an earlier request again: the same prompt, with the model, seed, settings and adapters of that time. Replies like op generate. Only for requests that are kept: those of the same user that ended by themselves, were not durable, and are among the last of the server's limits replay_requests and replay_bytes. It fails if the model now has another digest. Op replay_info tells whether the two answers are the same. */
export interface ReplayRequest {
  /** The stream of the earlier request. */
  id: Id;
}

/** Generates the answer of an earlier request again: the same prompt, with the model, seed, settings and adapters of that time. Replies like op generate. Only for requests that are kept: those of the same user that ended by themselves, were not durable, and are among the last of the server's limits replay_requests and replay_bytes. It fails if the model now has another digest. Op replay_info tells whether the two answers are the same. */
export interface ReplayReply {
  /** The new stream. */
  id: Id;
  /** The seed in use. */
  seed: number | bigint;
}

/** Tells what is kept of a request that can be generated again with op replay. */
export interface ReplayInfoRequest {
  /** Its stream. */
  id: Id;
}

/** Tells what is kept of a request that can be generated again with op replay. */
export interface ReplayInfoReply {
  /** The model as the request named it. */
  model: string;
  /** sha256: and 64 hexadecimal digits of the model's file; empty if it was not known. */
  model_digest?: string;
  /** The seed of the answer. */
  seed: number | bigint;
  /** Length of the prompt. In tokens. */
  n_prompt: number;
  /** Length of the answer. In tokens. */
  n_out: number;
  /** Why the answer ended. */
  finish: "eog" | "stop" | "length" | "context" | "deadline" | "shutdown" | "done";
  /** sha256: and 64 hexadecimal digits of the answer's tokens, 4 bytes each, the lowest first. Equal answers have equal digests. */
  digest: string;
  /** Memory that it takes of the limit replay_bytes. In bytes. */
  bytes: number;
}

/** Scores how well documents answer a query, with the classifier of a reranker. Models without one refuse it. */
export interface RerankRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
  /** The query. */
  query: Text;
  /** The documents. */
  documents: Array<Text>;
  /** Cut documents that are longer than the context allows; otherwise they are an error. */
  truncate?: boolean;
}

/** Scores how well documents answer a query, with the classifier of a reranker. Models without one refuse it. */
export interface RerankReply {
  /** The score of each document, in their order: the first output of the classifier. Higher is better. */
  scores: Array<number>;
  /** Number of tokens of all pairs of query and document. In tokens. */
  n_prompt: number;
}

/** Removes a model or an alias from the registry. A model in memory must be unloaded first. */
export interface RmRequest {
  /** The model or alias. */
  name: string;
}

/** Removes a model or an alias from the registry. A model in memory must be unloaded first. */
export interface RmReply {
  /** The name was an alias. */
  alias: boolean;
  /** Size of the files deleted from the server's own store. In bytes. */
  bytes?: number;
}

/** Copies a saved session, so that two conversations can go on from it. */
export interface SessionForkRequest {
  /** The session: letters, digits, '.', '_' and '-', beginning with a letter or digit. */
  name: string;
  /** Name of the copy. A session of that name is replaced. */
  to: string;
}

/** Copies a saved session, so that two conversations can go on from it. */
export interface SessionForkReply {
  /** Its length. In tokens. */
  n_tokens: number;
  /** Its size. In bytes. */
  bytes: number;
}

/** Reads a piece of the file of a saved session, for session_write of another server. */
export interface SessionReadRequest {
  /** The session: letters, digits, '.', '_' and '-', beginning with a letter or digit. */
  name: string;
  /** The first byte to read. In bytes. */
  offset?: number;
  /** How many bytes to read at most. In bytes. Default: 1048576. */
  max?: number;
}

/** Reads a piece of the file of a saved session, for session_write of another server. */
export interface SessionReadReply {
  /** The bytes; none: the end was reached. */
  data: Text;
  /** Size of the whole file. If it changes between two pieces, the session was saved meanwhile: begin anew. In bytes. */
  bytes: number;
}

/** Removes a saved session. */
export interface SessionRmRequest {
  /** The session: letters, digits, '.', '_' and '-', beginning with a letter or digit. */
  name: string;
}

/** Removes a saved session. */
export interface SessionRmReply {
  /** It existed. */
  found: boolean;
}

/** Writes a piece of the file of a session that was read elsewhere. Pieces arrive in order; the last one checks the file and gives it its name. */
export interface SessionWriteRequest {
  /** The session: letters, digits, '.', '_' and '-', beginning with a letter or digit. */
  name: string;
  /** How many bytes were sent before; 0 begins anew. In bytes. */
  offset: number;
  /** The bytes. */
  data: Text;
  /** The file is complete. A session of that name is replaced. */
  last?: boolean;
}

/** Writes a piece of the file of a session that was read elsewhere. Pieces arrive in order; the last one checks the file and gives it its name. */
export interface SessionWriteReply {
  /** With last: the length of the session. In tokens. */
  n_tokens?: number;
}

/** Lists the client's own saved sessions. */
export interface SessionsRequest {
}

/** Lists the client's own saved sessions. */
export interface SessionsReply {
  /** The sessions by name. */
  sessions: Array<Session>;
  /** Their size. In bytes. */
  bytes: number;
  /** The size that they may have (limit session_bytes). In bytes. */
  max_bytes: number;
}

/** Drains the server, then stops it. */
export interface ShutdownRequest {
  /** Time that running streams are given to finish. Defaults to the server's setting. In ms. */
  drain_ms?: number;
}

/** Drains the server, then stops it. */
export interface ShutdownReply {
  /** Running generations. */
  running: number;
}

/** Returns the server's metrics. */
export interface StatsRequest {
  /** Only metrics of this model. */
  model?: string;
}

/** Returns the server's metrics. */
export interface StatsReply {
  /** The metrics. */
  metrics: Array<Metric>;
}

/** Summarises the state of the server. */
export interface StatusRequest {
}

/** Summarises the state of the server. */
export interface StatusReply {
  /** State of the server. */
  state: "starting" | "ready" | "draining";
  /** Version of the server program. */
  version: string;
  /** Process id of the server. */
  pid: number;
  /** Time since the server started. In ms. */
  uptime_ms: number;
  /** Models in the registry. */
  models: number;
  /** Models in memory. */
  resident: number;
  /** Running generations. */
  running: number;
  /** Queued generations. */
  waiting: number;
  /** Streams of all clients, including ended ones. */
  streams: number;
  /** Open connections. */
  connections: number;
  /** Memory used by the models in memory. In bytes. */
  memory_bytes: number;
  /** Memory that models may use in total. In bytes. */
  memory_limit: number;
  /** What an administrator should know, such as a damaged registry that was replaced. */
  notice?: string;
  /** Addresses at which HTTP is served, as in the configuration: ADDR:PORT, tls:ADDR:PORT and, for clients on this machine, unix:/PATH. */
  http?: Array<string>;
}

/** Lists the client's own streams. */
export interface StreamsRequest {
}

/** Lists the client's own streams. */
export interface StreamsReply {
  /** The streams. */
  streams: Array<Stream>;
}

/** Converts text to tokens. */
export interface TokenizeRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
  /** The text; any bytes. */
  text: Text;
  /** Add the begin and end tokens that the model expects (BOS, EOS). Default: true. */
  add_special?: boolean;
  /** Convert text that spells a control token to that token. */
  parse_special?: boolean;
  /** Include the bytes of each token. */
  pieces?: boolean;
  /** From now on, unload the model after it has been idle for this long; 0 = at once, -1 = never. In ms. */
  keep_alive_ms?: number;
}

/** Converts text to tokens. */
export interface TokenizeReply {
  /** The tokens. */
  tokens: Array<number>;
  /** The bytes of each token, if requested. */
  pieces?: Array<Text>;
}

/** Removes a model from memory once its streams have ended. This is a job. */
export interface UnloadRequest {
  /** The model by name or alias; admins may also give a path. */
  model: string;
  /** Cancel its streams instead of waiting for them. */
  force?: boolean;
}

/** Removes a model from memory once its streams have ended. This is a job. */
export interface UnloadReply {
  /** The stream of the job. */
  id: Id;
}

/** Lets a generation go on that was paused with op pause. */
export interface UnpauseRequest {
  /** The stream. */
  id: Id;
}

/** Lets a generation go on that was paused with op pause. */
export interface UnpauseReply {
  /** It was paused; otherwise nothing has changed. */
  was_paused: boolean;
}

/** Returns what was used per principal, model and day: all rows for admins, otherwise those of the client. Rows are kept for 400 days. */
export interface UsageRequest {
  /** Only this day and later ones, as YYYY-MM-DD (UTC). */
  since?: string;
  /** Only this principal: 'key:' and the label of a key, or 'uid:' and the number of a user of this machine. */
  principal?: string;
  /** Only this model, by name. */
  model?: string;
}

/** Returns what was used per principal, model and day: all rows for admins, otherwise those of the client. Rows are kept for 400 days. */
export interface UsageReply {
  /** The rows, the latest day first. */
  usage: Array<UsageRow>;
  /** There are more rows: ask for fewer days, one principal or one model. */
  more?: boolean;
}

/** All operations: what is sent and what is answered. */
export interface Ops {
  adapter_set: { request: AdapterSetRequest; reply: AdapterSetReply };
  adapters: { request: AdaptersRequest; reply: AdaptersReply };
  add: { request: AddRequest; reply: AddReply };
  alias: { request: AliasRequest; reply: AliasReply };
  apply_template: { request: ApplyTemplateRequest; reply: ApplyTemplateReply };
  cancel: { request: CancelRequest; reply: CancelReply };
  config_reload: { request: ConfigReloadRequest; reply: ConfigReloadReply };
  create: { request: CreateRequest; reply: CreateReply };
  detokenize: { request: DetokenizeRequest; reply: DetokenizeReply };
  devices: { request: DevicesRequest; reply: DevicesReply };
  drain: { request: DrainRequest; reply: DrainReply };
  embed: { request: EmbedRequest; reply: EmbedReply };
  events: { request: EventsRequest; reply: EventsReply };
  generate: { request: GenerateRequest; reply: GenerateReply };
  hello: { request: HelloRequest; reply: HelloReply };
  info: { request: InfoRequest; reply: InfoReply };
  key_add: { request: KeyAddRequest; reply: KeyAddReply };
  key_rm: { request: KeyRmRequest; reply: KeyRmReply };
  key_set: { request: KeySetRequest; reply: KeySetReply };
  keys: { request: KeysRequest; reply: KeysReply };
  limits: { request: LimitsRequest; reply: LimitsReply };
  load: { request: LoadRequest; reply: LoadReply };
  models: { request: ModelsRequest; reply: ModelsReply };
  next: { request: NextRequest; reply: NextReply };
  pause: { request: PauseRequest; reply: PauseReply };
  ping: { request: PingRequest; reply: PingReply };
  plugins: { request: PluginsRequest; reply: PluginsReply };
  plugins_reload: { request: PluginsReloadRequest; reply: PluginsReloadReply };
  ps: { request: PsRequest; reply: PsReply };
  pull: { request: PullRequest; reply: PullReply };
  registry_backup: { request: RegistryBackupRequest; reply: RegistryBackupReply };
  registry_restore: { request: RegistryRestoreRequest; reply: RegistryRestoreReply };
  reload: { request: ReloadRequest; reply: ReloadReply };
  replay: { request: ReplayRequest; reply: ReplayReply };
  replay_info: { request: ReplayInfoRequest; reply: ReplayInfoReply };
  rerank: { request: RerankRequest; reply: RerankReply };
  rm: { request: RmRequest; reply: RmReply };
  session_fork: { request: SessionForkRequest; reply: SessionForkReply };
  session_read: { request: SessionReadRequest; reply: SessionReadReply };
  session_rm: { request: SessionRmRequest; reply: SessionRmReply };
  session_write: { request: SessionWriteRequest; reply: SessionWriteReply };
  sessions: { request: SessionsRequest; reply: SessionsReply };
  shutdown: { request: ShutdownRequest; reply: ShutdownReply };
  stats: { request: StatsRequest; reply: StatsReply };
  status: { request: StatusRequest; reply: StatusReply };
  streams: { request: StreamsRequest; reply: StreamsReply };
  tokenize: { request: TokenizeRequest; reply: TokenizeReply };
  unload: { request: UnloadRequest; reply: UnloadReply };
  unpause: { request: UnpauseRequest; reply: UnpauseReply };
  usage: { request: UsageRequest; reply: UsageReply };
}
