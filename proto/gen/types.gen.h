/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema.  The structs of the messages;
 * proto/proto.h explains bounds and ownership. */
#ifndef LLAMAD_PROTO_GEN_TYPES_GEN_H
#define LLAMAD_PROTO_GEN_TYPES_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/sampler.h"
#include "llamad/status.h"
#include "llamad/types.h"
#include "proto/value.h"

struct lmi_wire_words; /* the words of an enum, see table.h */

/* The operations.  Only names are sent; the numbers are private to a build. */
enum lmi_wire_op {
	LMI_WIRE_OP_NONE = 0,
	LMI_WIRE_OP_ADAPTER_SET = 1,
	LMI_WIRE_OP_ADAPTERS = 2,
	LMI_WIRE_OP_ADD = 3,
	LMI_WIRE_OP_ALIAS = 4,
	LMI_WIRE_OP_APPLY_TEMPLATE = 5,
	LMI_WIRE_OP_CANCEL = 6,
	LMI_WIRE_OP_CONFIG_RELOAD = 7,
	LMI_WIRE_OP_CREATE = 8,
	LMI_WIRE_OP_DETOKENIZE = 9,
	LMI_WIRE_OP_DEVICES = 10,
	LMI_WIRE_OP_DRAIN = 11,
	LMI_WIRE_OP_EMBED = 12,
	LMI_WIRE_OP_EVENTS = 13,
	LMI_WIRE_OP_GENERATE = 14,
	LMI_WIRE_OP_HELLO = 15,
	LMI_WIRE_OP_INFO = 16,
	LMI_WIRE_OP_KEY_ADD = 17,
	LMI_WIRE_OP_KEY_RM = 18,
	LMI_WIRE_OP_KEY_SET = 19,
	LMI_WIRE_OP_KEYS = 20,
	LMI_WIRE_OP_LIMITS = 21,
	LMI_WIRE_OP_LOAD = 22,
	LMI_WIRE_OP_MODELS = 23,
	LMI_WIRE_OP_NEXT = 24,
	LMI_WIRE_OP_PAUSE = 25,
	LMI_WIRE_OP_PING = 26,
	LMI_WIRE_OP_PLUGINS = 27,
	LMI_WIRE_OP_PLUGINS_RELOAD = 28,
	LMI_WIRE_OP_PS = 29,
	LMI_WIRE_OP_PULL = 30,
	LMI_WIRE_OP_REGISTRY_BACKUP = 31,
	LMI_WIRE_OP_REGISTRY_RESTORE = 32,
	LMI_WIRE_OP_RELOAD = 33,
	LMI_WIRE_OP_REPLAY = 34,
	LMI_WIRE_OP_REPLAY_INFO = 35,
	LMI_WIRE_OP_RERANK = 36,
	LMI_WIRE_OP_RM = 37,
	LMI_WIRE_OP_SESSION_FORK = 38,
	LMI_WIRE_OP_SESSION_READ = 39,
	LMI_WIRE_OP_SESSION_RM = 40,
	LMI_WIRE_OP_SESSION_WRITE = 41,
	LMI_WIRE_OP_SESSIONS = 42,
	LMI_WIRE_OP_SHUTDOWN = 43,
	LMI_WIRE_OP_STATS = 44,
	LMI_WIRE_OP_STATUS = 45,
	LMI_WIRE_OP_STREAMS = 46,
	LMI_WIRE_OP_TOKENIZE = 47,
	LMI_WIRE_OP_UNLOAD = 48,
	LMI_WIRE_OP_UNPAUSE = 49,
	LMI_WIRE_OP_USAGE = 50
};
#define LMI_WIRE_N_OP 51

/* What a principal may do. */
enum lmi_wire_role {
	LMI_WIRE_ROLE_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_ROLE_USER = 1, /* Uses models by name */
	LMI_WIRE_ROLE_ADMIN = 2 /* Also manages models, plugins and the server */
};
extern const struct lmi_wire_words lmi_wire_words_role;

/* State of the server. */
enum lmi_wire_server_state {
	LMI_WIRE_SERVER_STATE_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_SERVER_STATE_STARTING = 1, /* Does not accept work yet */
	LMI_WIRE_SERVER_STATE_READY = 2, /* Accepts work */
	LMI_WIRE_SERVER_STATE_DRAINING = 3 /* Finishes its work and accepts no more */
};
extern const struct lmi_wire_words lmi_wire_words_server_state;

/* State of a model. */
enum lmi_wire_model_state {
	LMI_WIRE_MODEL_STATE_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_MODEL_STATE_ABSENT = 1, /* Registered, but not in memory */
	LMI_WIRE_MODEL_STATE_LOADING = 2, /* Being loaded into memory */
	LMI_WIRE_MODEL_STATE_READY = 3, /* In memory */
	LMI_WIRE_MODEL_STATE_DRAINING = 4, /* Finishes its streams and accepts no more */
	LMI_WIRE_MODEL_STATE_UNLOADING = 5, /* Being removed from memory */
	/* The last load failed or the device was lost. The model is loaded again by op load, or
	 * by a request after a pause; after a loss also without a request, when the device can
	 * be opened again. */
	LMI_WIRE_MODEL_STATE_FAILED = 6,
	/* Crashed the server twice and is not loaded automatically. */
	LMI_WIRE_MODEL_STATE_QUARANTINED = 7
};
extern const struct lmi_wire_words lmi_wire_words_model_state;

/* Scheduling priority of a generation. */
enum lmi_wire_class {
	LMI_WIRE_CLASS_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_CLASS_INTERACTIVE = 1, /* Somebody is waiting for the answer; weight 8 */
	LMI_WIRE_CLASS_NORMAL = 2, /* The default priority; weight 4 */
	LMI_WIRE_CLASS_BATCH = 3 /* Nobody is waiting for the answer; weight 1 */
};
extern const struct lmi_wire_words lmi_wire_words_class;

/* What jump-forward decoding appends without running the model where the grammar allows no
 * alternative. */
enum lmi_wire_jump {
	LMI_WIRE_JUMP_UNKNOWN = 0, /* sent by a newer server; never in a request */
	/* A token if it is the only one allowed. The answer is the same as without jump-forward
	 * decoding. */
	LMI_WIRE_JUMP_TOKEN = 1,
	/* Text that must follow, tokenised by the tokenizer. The model might have chosen other
	 * tokens for it, so the rest of the answer may differ. */
	LMI_WIRE_JUMP_TEXT = 2,
	LMI_WIRE_JUMP_OFF = 3 /* Nothing */
};
extern const struct lmi_wire_words lmi_wire_words_jump;

/* Data type of activations between layers. */
enum lmi_wire_activations {
	LMI_WIRE_ACTIVATIONS_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_ACTIVATIONS_AUTO = 1, /* The backend's preference */
	LMI_WIRE_ACTIVATIONS_F32 = 2, /* 32-bit floats, for verification */
	LMI_WIRE_ACTIVATIONS_INT8 = 3, /* Quantised to 8 bits wherever weights are quantised */
	LMI_WIRE_ACTIVATIONS_INT16 = 4 /* Quantised to 16 bits wherever weights are quantised */
};
extern const struct lmi_wire_words lmi_wire_words_activations;

/* In which process a model's backend runs. */
enum lmi_wire_isolation {
	LMI_WIRE_ISOLATION_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_ISOLATION_AUTO = 1, /* As the configuration says */
	LMI_WIRE_ISOLATION_OFF = 2, /* In the server's own */
	/* In one of its own, so that a crash of its plugin ends the model's requests and
	 * nothing else. */
	LMI_WIRE_ISOLATION_PROCESS = 3
};
extern const struct lmi_wire_words lmi_wire_words_isolation;

/* How the vectors of an input's tokens become one. */
enum lmi_wire_pooling {
	LMI_WIRE_POOLING_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_POOLING_AUTO = 1, /* As the model specifies, or mean if it specifies nothing */
	LMI_WIRE_POOLING_NONE = 2, /* They remain, one per token */
	LMI_WIRE_POOLING_MEAN = 3, /* The mean */
	LMI_WIRE_POOLING_CLS = 4, /* The first token's */
	LMI_WIRE_POOLING_LAST = 5, /* The last token's */
	/* The outputs of the model's classifier, which are scores of classes. Only for models
	 * that have one; use it without normalize. */
	LMI_WIRE_POOLING_RANK = 6
};
extern const struct lmi_wire_words lmi_wire_words_pooling;

/* Where a default comes from. */
enum lmi_wire_default_source {
	LMI_WIRE_DEFAULT_SOURCE_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_DEFAULT_SOURCE_CONFIG = 1, /* From the section of the model in the configuration */
	LMI_WIRE_DEFAULT_SOURCE_MODEL = 2, /* From the model's file */
	/* From the server, which has a value for every parameter. */
	LMI_WIRE_DEFAULT_SOURCE_BUILTIN = 3
};
extern const struct lmi_wire_words lmi_wire_words_default_source;

/* Why a stream ended. */
enum lmi_wire_finish {
	LMI_WIRE_FINISH_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_FINISH_EOG = 1, /* The model generated an end-of-generation token */
	LMI_WIRE_FINISH_STOP = 2, /* A stop sequence was found */
	LMI_WIRE_FINISH_LENGTH = 3, /* The maximum number of tokens was reached */
	LMI_WIRE_FINISH_CONTEXT = 4, /* The context is full */
	LMI_WIRE_FINISH_DEADLINE = 5, /* timeout_ms elapsed */
	LMI_WIRE_FINISH_SHUTDOWN = 6, /* The server is shutting down */
	LMI_WIRE_FINISH_DONE = 7 /* The job is done */
};
extern const struct lmi_wire_words lmi_wire_words_finish;

/* Why a stream was cancelled. */
enum lmi_wire_cancel_reason {
	LMI_WIRE_CANCEL_REASON_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_CANCEL_REASON_ASKED = 1, /* By a cancel request */
	LMI_WIRE_CANCEL_REASON_LEASE = 2, /* No next arrived within lease_ms */
	LMI_WIRE_CANCEL_REASON_GONE = 3, /* The client disconnected */
	LMI_WIRE_CANCEL_REASON_SLOW_READER = 4, /* Too much output was left unread */
	LMI_WIRE_CANCEL_REASON_UNLOAD = 5, /* The model was unloaded by force */
	LMI_WIRE_CANCEL_REASON_PAUSED = 6 /* It stayed paused for longer than the limit pause_max */
};
extern const struct lmi_wire_words lmi_wire_words_cancel_reason;

/* What a job is doing. */
enum lmi_wire_phase {
	LMI_WIRE_PHASE_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_PHASE_QUEUED = 1, /* Waiting to start */
	LMI_WIRE_PHASE_HASH = 2, /* Computing the digest of the file; counts bytes */
	LMI_WIRE_PHASE_COPY = 3, /* Copying the file; counts bytes */
	LMI_WIRE_PHASE_CHECK = 4, /* Checking header, tensors and signature; counts steps */
	LMI_WIRE_PHASE_LOAD = 5, /* Loading weights; counts bytes */
	LMI_WIRE_PHASE_WARM = 6, /* Running the first steps; counts steps */
	LMI_WIRE_PHASE_DRAIN = 7, /* Waiting for running streams; counts streams */
	LMI_WIRE_PHASE_UNLOAD = 8, /* Freeing memory; counts steps */
	LMI_WIRE_PHASE_DOWNLOAD = 9 /* Downloading files; counts bytes */
};
extern const struct lmi_wire_words lmi_wire_words_phase;

/* The op that created a stream. */
enum lmi_wire_stream_kind {
	LMI_WIRE_STREAM_KIND_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_STREAM_KIND_GENERATE = 1, /* Op generate */
	LMI_WIRE_STREAM_KIND_ADD = 2, /* Op add */
	LMI_WIRE_STREAM_KIND_LOAD = 3, /* Op load */
	LMI_WIRE_STREAM_KIND_UNLOAD = 4, /* Op unload */
	LMI_WIRE_STREAM_KIND_RELOAD = 5, /* Op reload */
	LMI_WIRE_STREAM_KIND_PULL = 6 /* Op pull */
};
extern const struct lmi_wire_words lmi_wire_words_stream_kind;

/* What has happened. */
enum lmi_wire_event_kind {
	LMI_WIRE_EVENT_KIND_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_EVENT_KIND_LOAD = 1, /* A model was loaded */
	LMI_WIRE_EVENT_KIND_LOAD_FAILED = 2, /* A model could not be loaded */
	LMI_WIRE_EVENT_KIND_EVICT = 3, /* A model makes way for another one */
	LMI_WIRE_EVENT_KIND_UNLOAD = 4, /* A model was unloaded */
	LMI_WIRE_EVENT_KIND_QUEUE = 5, /* A generation waits for others */
	LMI_WIRE_EVENT_KIND_START = 6, /* A generation began to run */
	LMI_WIRE_EVENT_KIND_END = 7 /* A generation ended */
};
extern const struct lmi_wire_words lmi_wire_words_event_kind;

/* State of a stream. */
enum lmi_wire_stream_state {
	LMI_WIRE_STREAM_STATE_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_STREAM_STATE_WAITING = 1, /* Not started */
	LMI_WIRE_STREAM_STATE_RUNNING = 2, /* More items may come */
	LMI_WIRE_STREAM_STATE_ENDED = 3 /* The last item exists */
};
extern const struct lmi_wire_words lmi_wire_words_stream_state;

/* Kind of a metric. */
enum lmi_wire_metric_kind {
	LMI_WIRE_METRIC_KIND_UNKNOWN = 0, /* sent by a newer server; never in a request */
	LMI_WIRE_METRIC_KIND_COUNTER = 1, /* Only increases, from 0 at the start of the server */
	LMI_WIRE_METRIC_KIND_GAUGE = 2 /* Can go up and down */
};
extern const struct lmi_wire_words lmi_wire_words_metric_kind;

/* A picture in a message. */
struct lmi_wire_picture {
	/* A PNG or JPEG file; or its base64 text, also as a data: URI. */
	struct lmd_str data;
	/* The byte of the message's text before which it stands; more than its length = at the
	 * end. (0..16777216; default 0) */
	int64_t at;
};

/* One limit. */
struct lmi_wire_limit {
	/* Its name. */
	struct lmd_str name;
	/* Its value. (>= 0) */
	int64_t value;
	/* Its unit, unless the name implies it. */
	struct lmd_str unit;
};

/* A label of a metric. */
struct lmi_wire_label {
	/* The label's name. */
	struct lmd_str name;
	/* The label's value. */
	struct lmd_str value;
};

/* A model in the registry. */
struct lmi_wire_model {
	/* Its name. */
	struct lmd_str name;
	/* Its aliases. */
	const struct lmd_str *aliases;
	uint32_t n_aliases;
	/* sha256: and 64 hexadecimal digits; empty while unknown. */
	struct lmd_str digest;
	/* Size of its files. (bytes; >= 0) */
	int64_t size;
	/* Its architecture. */
	struct lmd_str arch;
	/* Format of its files. */
	struct lmd_str format;
	/* Path of its first file. Reported to admins only. */
	bool has_path;
	struct lmd_str path;
	/* Its state. */
	enum lmi_wire_model_state state;
	/* Why the state is failed or quarantined. */
	struct lmd_str reason;
	/* When it was added, in seconds since 1970; 0 if unknown. (s; >= 0; default 0) */
	int64_t added;
};

/* An adapter of a model. */
struct lmi_wire_adapter {
	/* Its name. */
	struct lmd_str name;
	/* Its file or folder; empty unless an admin asks. */
	struct lmd_str path;
	/* Multiplies the adapter's own scale. (-1e+06..1e+06) */
	double scale;
	/* It is in the configuration. */
	bool configured;
};

/* Adapters in memory that apply together. */
struct lmi_wire_adapter_slot {
	/* The names of their files with their scales, separated by commas. */
	struct lmd_str files;
	/* Requests that use it. (>= 0) */
	int64_t users;
	/* Memory on each device; 0: it was loaded with the model. (bytes; >= 0) */
	int64_t bytes;
};

/* What of a model is on one device. */
struct lmi_wire_placement {
	/* The device, such as cpu0. */
	struct lmd_str device;
	/* Its first layer; -1 = none. (>= -1) */
	int64_t first_layer;
	/* Its last layer. (>= -1) */
	int64_t last_layer;
	/* Operations of a step. (>= 0) */
	int64_t ops;
	/* Memory of weights, beyond mapped files. (bytes; >= 0) */
	int64_t weight_bytes;
	/* Memory of keys, values and states. (bytes; >= 0) */
	int64_t kv_bytes;
	/* Working memory. (bytes; >= 0) */
	int64_t scratch_bytes;
	/* The process that it is in, if it has one of its own (isolation); otherwise 0. (>= 0;
	 * default 0) */
	int64_t pid;
};

/* Operations that run on another device than they were meant for. */
struct lmi_wire_moved_ops {
	/* The operation. */
	struct lmd_str op;
	/* How many of a step. (>= 0) */
	int64_t n;
	/* The device that it was meant for. */
	struct lmd_str from;
	/* The device that runs it. */
	struct lmd_str to;
	/* Why. */
	struct lmd_str reason;
};

/* A device. */
struct lmi_wire_device {
	/* Backend and index, such as cpu0. */
	struct lmd_str name;
	/* Its backend. */
	struct lmd_str backend;
	/* Its index within the backend. (>= 0) */
	int64_t index;
	/* What it is. */
	struct lmd_str description;
	/* Its memory; 0 = unknown. (bytes; >= 0) */
	int64_t memory_total;
	/* How much of it is free. (bytes; >= 0) */
	int64_t memory_free;
	/* What models take or are about to take, by estimate. (bytes; >= 0) */
	int64_t memory_models;
	/* Models that use it. (>= 0) */
	int64_t models;
	/* idle, in use or lost. */
	struct lmd_str state;
	/* How often it was lost since the server started. (>= 0; default 0) */
	int64_t losses;
	/* Time for which it stays closed because it was lost. (ms; >= 0; default 0) */
	int64_t retry_ms;
	/* queued: steps wait on the device; direct: a call returns when it is complete. */
	struct lmd_str queue;
	/* host_memory, import, sampling, graphs, peer or buckets. */
	const struct lmd_str *features;
	uint32_t n_features;
};

/* A metadata key of a model file. */
struct lmi_wire_meta {
	/* The key. */
	struct lmd_str key;
	/* Data type of the value. */
	struct lmd_str type;
	/* The value as text. Long values are cut. */
	struct lmd_str value;
};

/* The tensors of one type. */
struct lmi_wire_tensor_type {
	/* The type, such as q4_k. */
	struct lmd_str type;
	/* Number of tensors. (>= 0) */
	int64_t tensors;
	/* Number of elements. (>= 0) */
	int64_t elements;
	/* Size of the tensors. (bytes; >= 0) */
	int64_t bytes;
};

/* The value of a parameter in requests that do not set it. */
struct lmi_wire_default_value {
	/* The parameter of op generate. */
	struct lmd_str name;
	/* The value. */
	double value;
	/* Where it comes from. */
	enum lmi_wire_default_source from;
};

/* A value that an answer was computed with. */
struct lmi_wire_setting {
	/* A parameter of op generate. */
	struct lmd_str name;
	/* The value; of a bool, 0 or 1. */
	double value;
};

/* One thing that a plugin provides. */
struct lmi_wire_factory {
	/* backend, arch, tokenizer, sampler or format. */
	struct lmd_str kind;
	/* Its name. */
	struct lmd_str name;
	/* How well it suits this machine; 0 = it cannot run here. (-2147483648..2147483647) */
	int64_t score;
	/* Why the score is 0, or which factory shadows this one. */
	struct lmd_str reason;
};

/* A plugin file that was found. */
struct lmi_wire_plugin {
	/* Its path. */
	struct lmd_str file;
	/* Its name; empty if it could not be read. */
	struct lmd_str name;
	/* Kinds of its factories. */
	const struct lmd_str *kinds;
	uint32_t n_kinds;
	/* Its version. */
	struct lmd_str version;
	/* The ABI version it was built for, such as 1.0. */
	struct lmd_str abi;
	/* loaded, shadowed, refused or retired. */
	struct lmd_str state;
	/* Why it is not loaded. */
	struct lmd_str reason;
	/* Version counter of the file, incremented on each replacement. (>= 0) */
	int64_t generation;
	/* Number of references to it. (>= 0; default 0) */
	int64_t users;
	/* Its factories, if requested. */
	const struct lmi_wire_factory *factories;
	uint32_t n_factories;
};

/* A file beside the one that is infilled. */
struct lmi_wire_infill_file {
	/* Its name. */
	struct lmd_str name;
	/* Its text. */
	struct lmd_str text;
};

/* A token and its log probability. */
struct lmi_wire_token_logprob {
	/* The token's id. */
	lmd_token token;
	/* Natural logarithm of its probability; -9999 if it is lower than that. (-9999..0) */
	double logprob;
	/* Its bytes. */
	struct lmd_str text;
};

/* The embedding of an input or of one of its tokens. */
struct lmi_wire_embedding {
	/* Number of the input, from 0. (>= 0) */
	int64_t input;
	/* Its numbers. */
	const double *vector;
	uint32_t n_vector;
};

/* A stream, as its owner sees it. */
struct lmi_wire_stream {
	/* Its id. */
	struct lmi_wire_id id;
	/* The op that created it. */
	enum lmi_wire_stream_kind kind;
	/* The model it uses. */
	struct lmd_str model;
	/* Its state. */
	enum lmi_wire_stream_state state;
	/* Request id of the request that created it. */
	struct lmd_str rid;
	/* Number of its latest item; 0 if there is none yet. (>= 0) */
	int64_t last;
	/* Time since it was created. (ms; >= 0) */
	int64_t age_ms;
	/* Time without next after which it is cancelled. (ms; >= 0) */
	int64_t lease_ms;
	/* It is paused. */
	bool paused;
};

/* Something that has happened. */
struct lmi_wire_server_event {
	/* Its number. (>= 1) */
	int64_t n;
	/* When it happened, since 1970-01-01 UTC. (ms; >= 0) */
	int64_t at_ms;
	/* What it was. */
	enum lmi_wire_event_kind kind;
	/* The model that it is about. */
	struct lmd_str model;
	/* Whose generation it is: uid:NUMBER or key:LABEL. */
	struct lmd_str principal;
	/* The stream of the generation. */
	bool has_id;
	struct lmi_wire_id id;
	/* queue: how many generations wait before it. (>= 0; default 0) */
	int64_t position;
	/* start and end: length of the prompt. (tokens; >= 0; default 0) */
	int64_t n_prompt;
	/* end: length of the answer. (tokens; >= 0; default 0) */
	int64_t n_out;
	/* The error, why a generation ended, or for which model another one makes way. */
	struct lmd_str text;
};

/* What a principal used of a model on one day. */
struct lmi_wire_usage_row {
	/* The day as YYYY-MM-DD (UTC). */
	struct lmd_str date;
	/* 'key:' and the label of a key, or 'uid:' and the number of a user of this machine. */
	struct lmd_str principal;
	/* The model by name. */
	struct lmd_str model;
	/* Requests: generations, embeddings and rerankings. (>= 0) */
	int64_t n_request;
	/* Tokens of the prompts. (tokens; >= 0) */
	int64_t n_prompt;
	/* How many of n_prompt were in the prefix cache. (tokens; >= 0) */
	int64_t n_cached;
	/* Tokens of the answers. (tokens; >= 0) */
	int64_t n_out;
	/* Time that requests waited after their model was ready. (ms; >= 0) */
	int64_t queue_ms;
	/* Time that requests ran, added up. (ms; >= 0) */
	int64_t run_ms;
	/* Processor time of the threads that tokenise texts, fill in templates and read
	 * grammars. (ms; >= 0) */
	int64_t work_ms;
};

/* A saved session. */
struct lmi_wire_session {
	/* Its name. */
	struct lmd_str name;
	/* Name of the model that it was saved with; empty: its file is damaged. */
	struct lmd_str model;
	/* Its length. (tokens; >= 0) */
	int64_t n_tokens;
	/* Size of its file. (bytes; >= 0) */
	int64_t bytes;
	/* When it was saved, since 1970-01-01 UTC. (ms; >= 0) */
	int64_t changed_ms;
};

/* An API key that authenticates clients over TCP. */
struct lmi_wire_key {
	/* Its label. */
	struct lmd_str label;
	/* Role of the clients that use it. */
	enum lmi_wire_role role;
	/* Creation time since 1970-01-01 UTC. (ms; >= 0) */
	int64_t created_ms;
	/* Expiry time since 1970-01-01 UTC; 0 = never. (ms; >= 0; default 0) */
	int64_t expires_ms;
	/* The key has expired. */
	bool expired;
	/* Requests per minute; 0 = any number. (0..1000000000000; default 0) */
	int64_t rpm;
	/* Tokens per minute, of prompts and answers; 0 = any number. (tokens; 0..1000000000000;
	 * default 0) */
	int64_t tpm;
	/* Tokens per day (UTC), of prompts and answers; 0 = any number. (tokens;
	 * 0..1000000000000; default 0) */
	int64_t tpd;
	/* Names of the models that the key may use, or aliases; an empty list = all. */
	const struct lmd_str *models;
	uint32_t n_models;
};

/* Why a request failed. */
struct lmi_wire_error {
	/* The kind of error. */
	enum lmd_status code;
	/* Error message that names the object, the value and the bound. */
	struct lmd_str text;
	/* Do not retry before this much time has passed. (ms; >= 0) */
	bool has_retry_ms;
	int64_t retry_ms;
	/* This connection is not authenticated. Send hello with a valid key, then repeat the
	 * request. */
	bool hello;
};

/* One message of a conversation. */
struct lmi_wire_chat_message {
	/* Role of the author: system, developer, user, assistant, tool or function. */
	struct lmd_str role;
	/* Text of the message. */
	struct lmd_str content;
	/* The assistant's reasoning before this message. */
	bool has_reasoning;
	struct lmd_str reasoning;
	/* Name of the tool or of the author. */
	bool has_name;
	struct lmd_str name;
	/* Tool calls of the assistant, as a JSON array. */
	bool has_tool_calls;
	struct lmd_str tool_calls;
	/* The tool call that a tool's message answers. */
	bool has_tool_call_id;
	struct lmd_str tool_call_id;
	/* Pictures in the text, in order. The model needs a vision tower. */
	const struct lmi_wire_picture *pictures;
	uint32_t n_pictures;
};

/* One metric of the server. */
struct lmi_wire_metric {
	/* Its name, as on the metrics page. */
	struct lmd_str name;
	/* Counter or gauge. */
	enum lmi_wire_metric_kind kind;
	/* Its value. */
	double value;
	/* Its labels. */
	const struct lmi_wire_label *labels;
	uint32_t n_labels;
};

/* A model that is loaded, or being loaded, or will be loaded when its device can be opened
 * again. */
struct lmi_wire_resident {
	/* Its name or path. */
	struct lmd_str model;
	/* Its state. */
	enum lmi_wire_model_state state;
	/* The backend that runs it. */
	struct lmd_str backend;
	/* Index of the device within the backend. (0..65535) */
	int64_t device;
	/* Context size of one sequence. (tokens; >= 0) */
	int64_t n_ctx;
	/* Maximum number of concurrent sequences. (>= 0) */
	int64_t n_seq;
	/* Running generations. (>= 0) */
	int64_t active;
	/* Queued generations. (>= 0) */
	int64_t waiting;
	/* Memory of the weights. (bytes; >= 0) */
	int64_t weight_bytes;
	/* Memory of the KV cache. (bytes; >= 0) */
	int64_t kv_bytes;
	/* Free pages and slots of the KV cache whose contents later prompts can still use
	 * (prefix caching). (>= 0; default 0) */
	int64_t cached;
	/* Pages of tokens that requests have pinned (pin_ms). (>= 0; default 0) */
	int64_t pinned;
	/* Steps that took longer than target_itl while running generations waited for the
	 * prompt of another request. (>= 0; default 0) */
	int64_t late_steps;
	/* Device that chooses tokens if a request has only samplers that it knows; empty = the
	 * host does. */
	struct lmd_str sampling;
	/* Working memory. (bytes; >= 0) */
	int64_t scratch_bytes;
	/* Time since it became ready. (ms; >= 0) */
	int64_t loaded_ms;
	/* Time since it last had work; 0 while it has work. (ms; >= 0) */
	int64_t idle_ms;
	/* Idle time after which it is unloaded; -1 = never. (ms; >= -1) */
	int64_t keep_alive_ms;
	/* What runs on which device. */
	const struct lmi_wire_placement *placement;
	uint32_t n_placement;
	/* Names of its adapters, which requests can choose. */
	const struct lmd_str *adapters;
	uint32_t n_adapters;
	/* Operations that run on another device than the others of their layers. */
	const struct lmi_wire_moved_ops *moved;
	uint32_t n_moved;
	/* Time until a model whose device was lost is loaded again; 0: nothing is to be done,
	 * or it is being done. (ms; >= 0; default 0) */
	int64_t retry_ms;
	/* Why the state is failed. */
	struct lmd_str reason;
};

/* A generation that runs. */
struct lmi_wire_running_generation {
	/* The model that runs it. */
	struct lmd_str model;
	/* Grows from generation to generation. (>= 0) */
	int64_t number;
	/* Length of its prompt. (tokens; >= 0) */
	int64_t n_prompt;
	/* Length of its answer so far; 0: its prompt is being computed. (tokens; >= 0) */
	int64_t n_out;
	/* Its seed. (>= 0) */
	int64_t seed;
	/* Tokens are guessed ahead (speculative decoding). */
	bool speculative;
	/* As in the final item of a generation with report_settings. */
	const struct lmi_wire_setting *settings;
	uint32_t n_settings;
};

/* An item of a stream. */
enum lmi_wire_item_kind {
	LMI_WIRE_ITEM_UNKNOWN = 0, /* sent by a newer server: only n is known */
	/* A generated token, with the text that has become available since the previous item. */
	LMI_WIRE_ITEM_TOKEN = 1,
	/* A token of the prompt. Sent only with prompt_tokens or prompt_logprobs, before the
	 * answer. */
	LMI_WIRE_ITEM_PROMPT_TOKEN = 2,
	LMI_WIRE_ITEM_TEXT = 3, /* More text that does not belong to a token */
	LMI_WIRE_ITEM_REASONING = 4, /* More of the model's reasoning. Sent only with parse */
	LMI_WIRE_ITEM_CALL = 5, /* A tool call begins; its arguments follow. Sent only with parse */
	/* More of a tool call's arguments. The pieces together are a JSON object unless
	 * call_end reports otherwise. */
	LMI_WIRE_ITEM_ARGUMENTS = 6,
	LMI_WIRE_ITEM_CALL_END = 7, /* A tool call has ended */
	LMI_WIRE_ITEM_PROGRESS = 8, /* Progress of a job. Only the latest one is kept */
	LMI_WIRE_ITEM_DONE = 9, /* The stream ended normally. Final */
	LMI_WIRE_ITEM_ERROR = 10, /* The stream failed. Final */
	LMI_WIRE_ITEM_CANCELLED = 11 /* The stream was cancelled. Final */
};
#define LMI_WIRE_N_ITEM 12

struct lmi_wire_item {
	enum lmi_wire_item_kind kind;
	/* Number of the item. (>= 1) */
	int64_t n;
	union {
		struct {
			/* The token's id. */
			lmd_token token;
			/* Bytes of the answer. A multi-byte UTF-8 character is not split if the
			 * tokens complete it. */
			struct lmd_str text;
			/* With logprobs: the log probabilities of this token and then of the
			 * most likely tokens in descending order, which may include it again. */
			const struct lmi_wire_token_logprob *logprobs;
			uint32_t n_logprobs;
		} token;
		struct {
			/* The token's id. */
			lmd_token token;
			/* Its bytes. */
			struct lmd_str text;
			/* With prompt_logprobs: as for token; empty for the first token. */
			const struct lmi_wire_token_logprob *logprobs;
			uint32_t n_logprobs;
		} prompt_token;
		struct {
			/* Bytes of the answer. */
			struct lmd_str text;
		} text;
		struct {
			/* Bytes of the reasoning. */
			struct lmd_str text;
		} reasoning;
		struct {
			/* Number of the tool call within the answer, from 0. (>= 0) */
			int64_t call;
			/* Name of the tool. */
			struct lmd_str name;
			/* The id that the model gave the call or, if it gave none, nine letters
			 * and digits. */
			struct lmd_str id;
		} call;
		struct {
			/* Number of the tool call. (>= 0) */
			int64_t call;
			/* A piece of JSON. */
			struct lmd_str text;
		} arguments;
		struct {
			/* Number of the tool call. (>= 0) */
			int64_t call;
			/* The arguments are complete and valid JSON. */
			bool complete;
		} call_end;
		struct {
			/* What the job is doing. */
			enum lmi_wire_phase phase;
			/* Amount of work done. (>= 0) */
			int64_t done;
			/* Total amount of work; 0 if unknown. (>= 0; default 0) */
			int64_t total;
		} progress;
		struct {
			/* Why it ended. */
			enum lmi_wire_finish finish;
			/* Length of the prompt. (tokens; >= 0; default 0) */
			int64_t n_prompt;
			/* Length of the answer. (tokens; >= 0; default 0) */
			int64_t n_out;
			/* Time from the first step to the first token. (ns; >= 0; default 0) */
			int64_t prompt_ns;
			/* Time from the first token to the end. (ns; >= 0; default 0) */
			int64_t out_ns;
			/* Tokens of the answer that needed no step of their own because the
			 * grammar allowed no alternative (jump-forward decoding). (tokens; >=
			 * 0; default 0) */
			int64_t n_forced;
			/* Tokens of the prompt that were not computed again, because they were
			 * in the prefix cache. (tokens; >= 0; default 0) */
			int64_t n_cached;
			/* Speculative decoding: tokens that were guessed and verified. (tokens;
			 * >= 0; default 0) */
			int64_t n_drafted;
			/* How many of n_drafted were right; they are part of the answer.
			 * (tokens; >= 0; default 0) */
			int64_t n_accepted;
			/* Tokens of the answer that are reasoning; 0 if the answer was not
			 * parsed. (tokens; >= 0; default 0) */
			int64_t n_reasoning;
			/* How often the context was full and tokens were dropped from its
			 * middle (context_shift). (>= 0; default 0) */
			int64_t n_shift;
			/* Prefix cache: the first token of the prompt at which it differs from
			 * all prompts that are remembered; n_prompt if it does not. Tokens
			 * before it and after n_cached had been computed, but are no longer in
			 * memory. (tokens; >= 0; default 0) */
			int64_t prefix_broke_at;
			/* Tokens of the prompt that pin_ms keeps in the prefix cache: whole
			 * pages, as far as the user's share reaches. (tokens; >= 0; default 0) */
			int64_t n_pinned;
			/* Length of the session that was saved; 0: none was. (tokens; >= 0;
			 * default 0) */
			int64_t n_saved;
			/* Why the session of the request was not saved. */
			bool has_session_error;
			struct lmd_str session_error;
			/* With report_settings: the values in use of the sampling parameters,
			 * unless the request has a chain, and of n, context_shift, n_keep and
			 * n_discard. */
			const struct lmi_wire_setting *settings;
			uint32_t n_settings;
		} done;
		struct {
			/* The kind of error. */
			enum lmd_status code;
			/* Error message that names the object, the value and the bound. */
			struct lmd_str text;
		} error;
		struct {
			/* Why it was cancelled. */
			enum lmi_wire_cancel_reason reason;
		} cancelled;
	} u;
};

/* Gives an adapter a name that requests for a model can use, removes a name, or sets the
 * adapters of requests that name none. Holds until the server ends; those of the configuration
 * stay. */
struct lmi_wire_req_adapter_set {
	/* The model by name or alias. */
	struct lmd_str model;
	/* The name; empty = no name changes. */
	struct lmd_str name;
	/* The file or PEFT folder of the adapter, an absolute path; empty = the name is
	 * removed. */
	struct lmd_str path;
	/* Multiplies the adapter's own scale. (-1e+06..1e+06; default 1) */
	double scale;
	/* The adapters of requests that name none, as in op generate; empty = those of the
	 * configuration. */
	bool has_chosen;
	struct lmd_str chosen;
};

/* Gives an adapter a name that requests for a model can use, removes a name, or sets the
 * adapters of requests that name none. Holds until the server ends; those of the configuration
 * stay. */
struct lmi_wire_rep_adapter_set {
	/* The name existed. */
	bool found;
};

/* Lists the adapters of a model that have a name, without those of its folder, and what its
 * slots have in memory. */
struct lmi_wire_req_adapters {
	/* The model by name or alias. */
	struct lmd_str model;
};

/* Lists the adapters of a model that have a name, without those of its folder, and what its
 * slots have in memory. */
struct lmi_wire_rep_adapters {
	/* The adapters in the order of their numbers: those of the configuration, then those of
	 * op adapter_set. */
	const struct lmi_wire_adapter *adapters;
	uint32_t n_adapters;
	/* The adapters of requests that name none: those that op adapter_set chose, or else the
	 * key adapter of the configuration. */
	struct lmd_str chosen;
	/* Further names stand for files in a folder. */
	bool folder;
	/* What the loaded model has in memory. */
	const struct lmi_wire_adapter_slot *slots;
	uint32_t n_slots;
	/* How many were put into the running model. (>= 0; default 0) */
	int64_t loaded;
	/* How many made room for others. (>= 0; default 0) */
	int64_t evicted;
};

/* Adds a model file on the server to the registry. This is a job; its stream ends when the
 * model is registered. */
struct lmi_wire_req_add {
	/* The model's name. */
	struct lmd_str name;
	/* A file or folder below one of the server's model folders. */
	struct lmd_str path;
	/* Copy the files into the server's own store. */
	bool copy;
	/* Expected digest; the file is rejected if its digest differs. */
	bool has_digest;
	struct lmd_str digest;
	/* Replace the model that has this name. */
	bool replace;
};

/* Adds a model file on the server to the registry. This is a job; its stream ends when the
 * model is registered. */
struct lmi_wire_rep_add {
	/* The stream of the job. */
	struct lmi_wire_id id;
};

/* Gives a model another name. An existing alias is moved to the model. */
struct lmi_wire_req_alias {
	/* The additional name. */
	struct lmd_str alias;
	/* The model. */
	struct lmd_str model;
};

/* Gives a model another name. An existing alias is moved to the model. */
struct lmi_wire_rep_alias {
	/* The model that the alias named before. */
	bool has_before;
	struct lmd_str before;
};

/* Turns a conversation into the prompt that op generate would give the model. */
struct lmi_wire_req_apply_template {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
	/* The conversation. If the last message is the assistant's, it is the beginning of the
	 * answer. */
	const struct lmi_wire_chat_message *messages;
	uint32_t n_messages;
	/* Chat template to use in place of the model's own, as in op generate. */
	bool has_template;
	struct lmd_str template;
	/* Additional variables for the template, as a JSON object. */
	bool has_template_args;
	struct lmd_str template_args;
	/* Tools that the template presents to the model, as a JSON array. */
	bool has_tools;
	struct lmd_str tools;
	/* Add the tokens that the model expects at the beginning of a prompt (BOS). (default
	 * true) */
	bool add_special;
	/* Include the tokens of the prompt; not together with pictures, which are no tokens. */
	bool tokens;
};

/* Turns a conversation into the prompt that op generate would give the model. */
struct lmi_wire_rep_apply_template {
	/* The prompt. Text that spells a control token is a control token only where the
	 * template wrote it. A picture is shown as <picture>. */
	struct lmd_str prompt;
	/* Length of the prompt, in which each row of a picture counts as a token. (tokens; >=
	 * 0) */
	int64_t n_prompt;
	/* Its tokens, if requested. */
	const lmd_token *tokens;
	uint32_t n_tokens;
};

/* Cancels a stream within one step of the model. A stream that has already ended is forgotten. */
struct lmi_wire_req_cancel {
	/* The stream. */
	struct lmi_wire_id id;
};

/* Cancels a stream within one step of the model. A stream that has already ended is forgotten. */
struct lmi_wire_rep_cancel {
	/* The stream had already ended. */
	bool ended;
};

/* Reads the configuration again. Either all of it takes effect or, on an error, none of it. */
struct lmi_wire_req_config_reload {
	char none; /* no fields */
};

/* Reads the configuration again. Either all of it takes effect or, on an error, none of it. */
struct lmi_wire_rep_config_reload {
	/* Keys whose values changed. */
	const struct lmd_str *changed;
	uint32_t n_changed;
	/* Keys whose new values take effect only after a restart. */
	const struct lmd_str *restart;
	uint32_t n_restart;
};

/* Makes a name for a model with a system prompt, a template, parameters and messages of its
 * own, which a Modelfile describes. An alias of that name, or what was created by it, is
 * replaced. */
struct lmi_wire_req_create {
	/* The new name. */
	struct lmd_str name;
	/* The Modelfile; FROM names a model of the registry. */
	struct lmd_str modelfile;
};

/* Makes a name for a model with a system prompt, a template, parameters and messages of its
 * own, which a Modelfile describes. An alias of that name, or what was created by it, is
 * replaced. */
struct lmi_wire_rep_create {
	/* The model that FROM names, without aliases. */
	struct lmd_str model;
};

/* Converts tokens to text. */
struct lmi_wire_req_detokenize {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
	/* The tokens. */
	const lmd_token *tokens;
	uint32_t n_tokens;
	/* Include the text of control tokens. (default true) */
	bool special;
};

/* Converts tokens to text. */
struct lmi_wire_rep_detokenize {
	/* The text. It is not necessarily valid UTF-8. */
	struct lmd_str text;
};

/* Lists the devices that models can run on. */
struct lmi_wire_req_devices {
	char none; /* no fields */
};

/* Lists the devices that models can run on. */
struct lmi_wire_rep_devices {
	/* The devices of all backends. */
	const struct lmi_wire_device *devices;
	uint32_t n_devices;
};

/* Stops accepting work and finishes the running generations, or accepts work again. */
struct lmi_wire_req_drain {
	/* False to accept work again. (default true) */
	bool on;
};

/* Stops accepting work and finishes the running generations, or accepts work again. */
struct lmi_wire_rep_drain {
	/* Running generations. (>= 0) */
	int64_t running;
	/* Queued generations. They fail when draining starts. (>= 0) */
	int64_t waiting;
};

/* Computes embeddings: vectors that represent the meaning of texts. */
struct lmi_wire_req_embed {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
	/* The texts. */
	bool has_inputs;
	const struct lmd_str *inputs;
	uint32_t n_inputs;
	/* A single input as tokens, used unchanged. */
	bool has_tokens;
	const lmd_token *tokens;
	uint32_t n_tokens;
	/* How the vectors of an input's tokens become one. (default auto) */
	enum lmi_wire_pooling pooling;
	/* Scale each vector to the Euclidean length 1. (default true) */
	bool normalize;
	/* Keep only this many numbers of each vector, for models that were trained for it; 0 =
	 * all. (0..1048576; default 0) */
	int64_t dimensions;
	/* Cut inputs that are longer than the context; otherwise they are an error. */
	bool truncate;
	/* From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
	 * never. (ms; -1..86400000) */
	bool has_keep_alive_ms;
	int64_t keep_alive_ms;
};

/* Computes embeddings: vectors that represent the meaning of texts. */
struct lmi_wire_rep_embed {
	/* The vectors, in the order of the inputs: one per input, or with the pooling none one
	 * per token. */
	const struct lmi_wire_embedding *embeddings;
	uint32_t n_embeddings;
	/* Number of tokens of all inputs. (tokens; >= 0) */
	int64_t n_prompt;
};

/* Fetches what has happened since a cursor: loads, unloads and evictions of models, and
 * generations that waited, began and ended. Asking again returns the same events as long as the
 * server keeps them. A user sees models that the user may use, and the user's own generations;
 * an administrator sees all. */
struct lmi_wire_req_events {
	/* Number of the last event that the client has received. Numbers begin at 1 when the
	 * server starts. (>= 0; default 0) */
	int64_t after;
	/* Maximum time to wait for an event. (ms; 0..600000; default 0) */
	int64_t wait_ms;
	/* Maximum number of events. (1..4096; default 256) */
	int64_t max;
};

/* Fetches what has happened since a cursor: loads, unloads and evictions of models, and
 * generations that waited, began and ended. Asking again returns the same events as long as the
 * server keeps them. A user sees models that the user may use, and the user's own generations;
 * an administrator sees all. */
struct lmi_wire_rep_events {
	/* The events after the cursor, the oldest first. Empty if the wait timed out. */
	const struct lmi_wire_server_event *events;
	uint32_t n_events;
	/* The next cursor. (>= 0) */
	int64_t last;
	/* Events after the cursor that the server no longer has, including those that the
	 * client may not see. (>= 0; default 0) */
	int64_t lost;
};

/* Generates text from a prompt or a conversation. Replies at once with a stream; its items are
 * fetched with next. */
struct lmi_wire_req_generate {
	/* The model by name or alias; admins may also give a path. It is loaded if it is not in
	 * memory. */
	struct lmd_str model;
	/* The prompt. If the model has a chat template, this is a user's message, unless raw is
	 * set; otherwise it is the text to continue. */
	bool has_prompt;
	struct lmd_str prompt;
	/* The prompt as tokens, used unchanged. */
	bool has_tokens;
	const lmd_token *tokens;
	uint32_t n_tokens;
	/* Infilling: the text after the gap; prompt is the text before it. Only for models with
	 * tokens for it. */
	bool has_suffix;
	struct lmd_str suffix;
	/* Infilling: other files, which the model sees first. Only with suffix. */
	const struct lmi_wire_infill_file *infill_files;
	uint32_t n_infill_files;
	/* A conversation. If the last message is the assistant's, the model continues it. */
	bool has_messages;
	const struct lmi_wire_chat_message *messages;
	uint32_t n_messages;
	/* Use the prompt as plain text even if the model has a chat template. */
	bool raw;
	/* Chat template to use in place of the model's own: the name of one of the model's
	 * variants or of a built-in template, or the text of a template if it contains a {. */
	bool has_template;
	struct lmd_str template;
	/* Additional variables for the template, as a JSON object. */
	bool has_template_args;
	struct lmd_str template_args;
	/* Tools for tool calling that the template presents to the model, as a JSON array. */
	bool has_tools;
	struct lmd_str tools;
	/* The answer must be calls of this tool; an asterisk = of any of the tools. The
	 * arguments match the schemas of their tools. The calls are written in the format of
	 * the model, or as JSON if it has none whose text can be constrained. Requires tools
	 * and parse. Not together with grammar, json_schema, regex or structural_tag. */
	bool has_required_call;
	struct lmd_str required_call;
	/* With required_call: allow several calls. (default true) */
	bool parallel_calls;
	/* Parse the answer: items distinguish text, reasoning and tool calls. */
	bool parse;
	/* How the model marks reasoning and tool calls: a name from llamactl debug parse
	 * --list. Defaults to the format that the chat template uses. Only with parse. */
	bool has_parse_format;
	struct lmd_str parse_format;
	/* Add the tokens that the model expects at the beginning of a prompt (BOS). (default
	 * true) */
	bool add_special;
	/* Convert text that spells a control token in the prompt to that token. */
	bool parse_special;
	/* Maximum length of the answer; -1 = until the context is full. Defaults to the
	 * server's setting. (tokens; -1..1073741824) */
	bool has_n;
	int64_t n;
	/* When the context is full, drop tokens from its middle and go on, instead of ending
	 * the answer with the reason context. The rest is computed again, as if the prompt had
	 * been so. An answer without a limit then ends at the server's. Defaults to the
	 * preset's value, or false. */
	bool has_context_shift;
	bool context_shift;
	/* With context_shift: how many tokens at the beginning stay, not counting a BOS token,
	 * which always does; -1 = the whole prompt. All but four tokens of the context can
	 * stay. Defaults to the preset's value, or 0. (tokens; -1..2097152) */
	bool has_n_keep;
	int64_t n_keep;
	/* With context_shift: how many tokens after those are dropped at a time; 0 = half of
	 * them. (tokens; 0..2097152; default 0) */
	int64_t n_discard;
	/* Passages of the prompt of at least so many tokens that the prefix cache knows at
	 * other positions, because something before them was edited, are not computed: their
	 * rows are moved to the new positions. That is an approximation. 0 = off. Refused for
	 * models whose rows cannot be moved, and with durable. Defaults to the preset's value,
	 * or 0. (tokens; 0..2097152) */
	bool has_cache_reuse;
	int64_t cache_reuse;
	/* Stop sequences. The answer ends before the first of them. */
	const struct lmd_str *stop;
	uint32_t n_stop;
	/* Tokens that end the answer, which is what precedes them. */
	const lmd_token *stop_tokens;
	uint32_t n_stop_tokens;
	/* The answer does not end by a stop token or an end-of-generation token before this
	 * length, unless the grammar allows nothing else. (tokens; 0..1073741824; default 0) */
	int64_t min_tokens;
	/* Grammar in GBNF that constrains the answer (structured output). */
	bool has_grammar;
	struct lmd_str grammar;
	/* JSON schema that constrains the answer (structured output); {} allows any JSON. Not
	 * together with grammar. */
	bool has_json_schema;
	struct lmd_str json_schema;
	/* Regular expression that all of the answer matches (structured output). Not together
	 * with grammar or json_schema. */
	bool has_regex;
	struct lmd_str regex;
	/* Structural tag that constrains parts of the answer, as JSON (structured output). Not
	 * together with grammar, json_schema or regex. */
	bool has_structural_tag;
	struct lmd_str structural_tag;
	/* The grammar applies only after the answer has matched one of these regular
	 * expressions. */
	const struct lmd_str *grammar_triggers;
	uint32_t n_grammar_triggers;
	/* Jump-forward decoding: what to append without running the model where the grammar
	 * allows no alternative. (default token) */
	enum lmi_wire_jump jump;
	/* Token healing: tokens at the end of the prompt that could be the start of longer
	 * tokens are removed, and the model generates their text again in tokens of its choice.
	 * That text is not part of the answer. */
	bool heal;
	/* Continue after end-of-generation tokens. */
	bool ignore_eog;
	/* Include the text of control tokens in the answer. */
	bool special;
	/* Report the log probability of each token, and those of this many most likely tokens.
	 * Then jump-forward decoding is off. (0..32) */
	bool has_logprobs;
	int64_t logprobs;
	/* The log probabilities are those of the tokens that the samplers left, and not the
	 * model's own. Only with logprobs. */
	bool sampled_probs;
	/* Send the tokens of the prompt as items before the answer. */
	bool prompt_tokens;
	/* Like prompt_tokens, each with its log probability and those of this many most likely
	 * tokens. The prompt is then computed separately. (0..32) */
	bool has_prompt_logprobs;
	int64_t prompt_logprobs;
	/* Random seed. By default the server chooses one and reports it. (>= 0) */
	bool has_seed;
	int64_t seed;
	/* The sampler chain, in order. The sampling parameters below are then ignored. */
	bool has_chain;
	const struct lmi_wire_sampler *chain;
	uint32_t n_chain;
	/* Order of the samplers: default, temperature-first, letters such as edskypmxt, or
	 * names separated by commas. */
	bool has_order;
	struct lmd_str order;
	/* Temperature; 0 = greedy, always the most likely token. Defaults to the value of the
	 * configuration or of the model, or 0.8. (0..5) */
	bool has_temp;
	double temp;
	/* Sample from the K most likely tokens; 0 or less = all. Defaults to the value of the
	 * configuration or of the model, or 40. (-1..2147483647) */
	bool has_top_k;
	int64_t top_k;
	/* Sample from the most likely tokens whose probabilities add up to this value; 1 = all.
	 * Defaults to the value of the configuration or of the model, or 0.95. (0..1) */
	bool has_top_p;
	double top_p;
	/* Drop tokens less likely than this fraction of the most likely token's probability; 0
	 * = off. Defaults to the value of the configuration or of the model, or 0.05. (0..1) */
	bool has_min_p;
	double min_p;
	/* Locally typical sampling: keep the most typical tokens whose probabilities add up to
	 * this value; 1 = off. Defaults to the value of the configuration or of the model, or
	 * 1. (0..1) */
	bool has_typical;
	double typical;
	/* Keep tokens whose logits are within this many standard deviations of the highest
	 * logit; 0 or less = off. Defaults to the value of the configuration or of the model,
	 * or -1. (-1..100) */
	bool has_top_n_sigma;
	double top_n_sigma;
	/* Minimum number of tokens that typical, top_p, min_p and xtc keep. Defaults to the
	 * value of the configuration or of the model, or 0. (0..2147483647) */
	bool has_min_keep;
	int64_t min_keep;
	/* Number of recent tokens that the repetition penalties look at; 0 = off, -1 = the
	 * whole context. Defaults to the value of the configuration or of the model, or 64.
	 * (tokens; -1..2147483647) */
	bool has_repeat_last_n;
	int64_t repeat_last_n;
	/* Repetition penalty: divides positive logits of recent tokens and multiplies negative
	 * ones; 1 = off. Defaults to the value of the configuration or of the model, or 1.
	 * (0.01..100) */
	bool has_repeat_penalty;
	double repeat_penalty;
	/* Subtracted from a recent token's logit for each time it occurred; 0 = off. Defaults
	 * to the value of the configuration or of the model, or 0. (-100..100) */
	bool has_frequency_penalty;
	double frequency_penalty;
	/* Subtracted once from the logit of each recent token; 0 = off. Defaults to the value
	 * of the configuration or of the model, or 0. (-100..100) */
	bool has_presence_penalty;
	double presence_penalty;
	/* Dynamic temperature: the entropy moves the temperature by at most this much in either
	 * direction; 0 = off. Defaults to the value of the configuration or of the model, or 0.
	 * (0..5) */
	bool has_dynatemp_range;
	double dynatemp_range;
	/* Dynamic temperature: exponent of the normalised entropy. Defaults to the value of the
	 * configuration or of the model, or 1. (0..100) */
	bool has_dynatemp_exponent;
	double dynatemp_exponent;
	/* XTC: probability with which the most likely tokens are removed; 0 = off. Defaults to
	 * the value of the configuration or of the model, or 0. (0..1) */
	bool has_xtc_probability;
	double xtc_probability;
	/* XTC: only tokens at least this likely are removed. Defaults to the value of the
	 * configuration or of the model, or 0.1. (0..1) */
	bool has_xtc_threshold;
	double xtc_threshold;
	/* DRY: strength of the penalty on repeated sequences; 0 = off. Defaults to the value of
	 * the configuration or of the model, or 0. (0..100) */
	bool has_dry_multiplier;
	double dry_multiplier;
	/* DRY: base of the penalty, which grows exponentially with the length of the
	 * repetition. Defaults to the value of the configuration or of the model, or 1.75.
	 * (0..100) */
	bool has_dry_base;
	double dry_base;
	/* DRY: repeated sequences up to this length are not penalised. Defaults to the value of
	 * the configuration or of the model, or 2. (tokens; 0..2147483647) */
	bool has_dry_allowed_length;
	int64_t dry_allowed_length;
	/* DRY: number of recent tokens to search for repetitions; 0 = off, -1 = the whole
	 * context. Defaults to the value of the configuration or of the model, or 64. (tokens;
	 * -1..2147483647) */
	bool has_dry_last_n;
	int64_t dry_last_n;
	/* DRY: texts that end a repeated sequence. Defaults to newline, colon, double quote and
	 * asterisk. */
	bool has_dry_breakers;
	const struct lmd_str *dry_breakers;
	uint32_t n_dry_breakers;
	/* Mirostat: version 1 or 2, which then chooses the token; 0 = off. Defaults to the
	 * value of the configuration or of the model, or 0. (0..2) */
	bool has_mirostat;
	int64_t mirostat;
	/* Mirostat: target surprise of a token in bits. Defaults to the value of the
	 * configuration or of the model, or 5. (0..100) */
	bool has_mirostat_tau;
	double mirostat_tau;
	/* Mirostat: learning rate. Defaults to the value of the configuration or of the model,
	 * or 0.1. (0..100) */
	bool has_mirostat_eta;
	double mirostat_eta;
	/* Values added to the logits of given tokens; -inf forbids a token. */
	const struct lmd_bias *logit_bias;
	uint32_t n_logit_bias;
	/* Tokens that are never sampled. Defaults to those that the model's file names; an
	 * empty list allows all. */
	bool has_suppress_tokens;
	const lmd_token *suppress_tokens;
	uint32_t n_suppress_tokens;
	/* Take the beginning of the prompt from the prefix cache if it was computed before, and
	 * let later requests find this one's. If false, the whole prompt is computed and
	 * nothing of it is found later. (default true) */
	bool cache_prompt;
	/* The adapters (LoRA) of the model that the answer is computed with, at most 8, as
	 * NAME[:SCALE] separated by commas; empty = none. A name is one of the server's
	 * configuration or of its folder of adapters, or a number in the list; SCALE multiplies
	 * the adapter's own. Defaults to those of the preset. An adapter that is not in memory
	 * is loaded first. Requests with different adapters are computed together. */
	bool has_adapter;
	struct lmd_str adapter;
	/* For so long after the answer, what the prefix cache has of this prompt is the last
	 * thing that others may take. A user can pin a quarter of a model's memory for tokens.
	 * Only with cache_prompt. (ms; 0..86400000; default 0) */
	int64_t pin_ms;
	/* A saved session of the client's own. What it has of the beginning of the prompt is
	 * not computed again, also after a restart of the server; at the end it is replaced by
	 * this prompt and answer. Its name has letters, digits, '.', '_' and '-', beginning
	 * with a letter or digit. Requires limit session_bytes. */
	bool has_session;
	struct lmd_str session;
	/* Speculative decoding: guess at most this many tokens at a time, from the prompt, the
	 * answer so far and the prediction, and verify them in one step; 0 = off. The answer
	 * stays the same. Fewer are guessed if that is faster. Defaults to the server's
	 * setting. (tokens; 0..15) */
	bool has_draft_max;
	int64_t draft_max;
	/* Speculative decoding: a text that much of the answer is expected to repeat, such as
	 * the file that it edits. */
	bool has_prediction;
	struct lmd_str prediction;
	/* From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
	 * never. (ms; -1..86400000) */
	bool has_keep_alive_ms;
	int64_t keep_alive_ms;
	/* The final item has the settings that the answer was computed with: those of the
	 * request, and for the others those of the model's section in the configuration, of the
	 * model's file, or built in. */
	bool report_settings;
	/* Scheduling priority. (default normal) */
	enum lmi_wire_class class;
	/* Deadline of the whole request, including time in the queue. Defaults to the server's
	 * setting. (ms; 1..86400000) */
	bool has_timeout_ms;
	int64_t timeout_ms;
	/* Cancel the stream if no next arrives for this long. Defaults to the server's setting.
	 * (ms; 100..600000) */
	bool has_lease_ms;
	int64_t lease_ms;
	/* Write the stream to the server's state folder: if the server is stopped, killed or
	 * replaced, the generation goes on when it has started again, and next with the same id
	 * and cursor returns the same items. Only for models of the registry, and not together
	 * with prompt_tokens, prompt_logprobs, context_shift or a sampler that learns
	 * (mirostat, adaptive). The stream is kept for the server's durable_age_ms unless
	 * lease_ms is given. */
	bool durable;
};

/* Generates text from a prompt or a conversation. Replies at once with a stream; its items are
 * fetched with next. */
struct lmi_wire_rep_generate {
	/* The stream. */
	struct lmi_wire_id id;
	/* The seed in use. (>= 0) */
	int64_t seed;
};

/* Identifies the client and reports what the server speaks. May be sent with any v. */
struct lmi_wire_req_hello {
	/* Name of the client program, for the log. */
	struct lmd_str client;
	/* Version of the client program. */
	struct lmd_str version;
	/* Secret of an API key, which authenticates this connection on tcp and tls+tcp. Ignored
	 * on the unix socket. */
	struct lmd_str key;
};

/* Identifies the client and reports what the server speaks. May be sent with any v. */
struct lmi_wire_rep_hello {
	/* Name of the server program. */
	struct lmd_str server;
	/* Version of the server program. */
	struct lmd_str version;
	/* Oldest protocol version that the server speaks. (1..65535) */
	int64_t v_min;
	/* Newest protocol version that the server speaks. (1..65535) */
	int64_t v_max;
	/* The server knows all ops and fields whose since is at most this number. (1..65535) */
	int64_t revision;
	/* Random id that changes with each start of the server. */
	struct lmi_wire_id boot;
	/* Role of this client. */
	enum lmi_wire_role role;
	/* Ops that this client may use, and names of optional features of this server. */
	const struct lmd_str *features;
	uint32_t n_features;
	/* The limits, as in op limits. */
	const struct lmi_wire_limit *limits;
	uint32_t n_limits;
};

/* Returns the metadata of a model file. */
struct lmi_wire_req_info {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
	/* Include the metadata keys of the file. */
	bool keys;
	/* Include what the chat template supports. */
	bool template_caps;
};

/* Returns the metadata of a model file. */
struct lmi_wire_rep_info {
	/* The model's entry in the registry. */
	struct lmi_wire_model model;
	/* Number of elements of all tensors. (>= 0) */
	int64_t elements;
	/* Size of all tensors. (bytes; >= 0) */
	int64_t weight_bytes;
	/* Context length of training; 0 if unknown. (tokens; >= 0; default 0) */
	int64_t n_ctx_train;
	/* Number of layers. (>= 0; default 0) */
	int64_t n_layer;
	/* Embedding width. (>= 0; default 0) */
	int64_t n_embd;
	/* Size of the vocabulary. (tokens; >= 0; default 0) */
	int64_t n_vocab;
	/* The chat template: that of the configuration, or the model's own. */
	bool has_chat_template;
	struct lmd_str chat_template;
	/* Tensors by type. */
	const struct lmi_wire_tensor_type *types;
	uint32_t n_types;
	/* Metadata keys of the file, if requested. */
	const struct lmi_wire_meta *meta;
	uint32_t n_meta;
	/* The loaded instance, if the model is in memory. */
	bool has_resident;
	struct lmi_wire_resident resident;
	/* The sampling parameters of requests that do not set them. */
	const struct lmi_wire_default_value *defaults;
	uint32_t n_defaults;
	/* The system prompt of conversations without one, from the configuration or a
	 * Modelfile. */
	bool has_system;
	struct lmd_str system;
	/* The Modelfile, if the name was made by op create. */
	bool has_modelfile;
	struct lmd_str modelfile;
	/* What the chat template supports, if requested: system, tools, tool_calls,
	 * parallel_tool_calls, tool_results, reasoning, thinking_switch, parts,
	 * generation_prompt, strings. */
	const struct lmd_str *template_caps;
	uint32_t n_template_caps;
	/* Paths of its files in their order, if it has several. Reported to admins only. */
	const struct lmd_str *files;
	uint32_t n_files;
	/* It has a vision tower, so that it reads pictures; of a model that is not in memory: a
	 * file of one is configured or beside it. */
	bool vision;
};

/* Adds an API key whose secret only the client knows. Only on the unix socket. */
struct lmi_wire_req_key_add {
	/* Label of the key, unique among all keys. */
	struct lmd_str label;
	/* SHA-256 of the secret as 64 lower-case hexadecimal digits. The secret must be random,
	 * with at least 128 bits. */
	struct lmd_str digest;
	/* Role of the clients that use the key. (default user) */
	enum lmi_wire_role role;
	/* Expiry time since 1970-01-01 UTC; 0 = never. (ms; 0..9000000000000; default 0) */
	int64_t expires_ms;
	/* Requests per minute; 0 = any number. (0..1000000000000; default 0) */
	int64_t rpm;
	/* Tokens per minute, of prompts and answers; 0 = any number. (tokens; 0..1000000000000;
	 * default 0) */
	int64_t tpm;
	/* Tokens per day (UTC), of prompts and answers; 0 = any number. (tokens;
	 * 0..1000000000000; default 0) */
	int64_t tpd;
	/* Names of the models that the key may use, or aliases; an empty list = all. */
	const struct lmd_str *models;
	uint32_t n_models;
};

/* Adds an API key whose secret only the client knows. Only on the unix socket. */
struct lmi_wire_rep_key_add {
	char none; /* no fields */
};

/* Removes an API key. Its connections are no longer authenticated, and their streams end unless
 * they have a lease of their own. Only on the unix socket. */
struct lmi_wire_req_key_rm {
	/* Label of the key. */
	struct lmd_str label;
};

/* Removes an API key. Its connections are no longer authenticated, and their streams end unless
 * they have a lease of their own. Only on the unix socket. */
struct lmi_wire_rep_key_rm {
	/* The key existed. */
	bool found;
};

/* Changes the quota of an API key, also for clients that are connected; fields that are missing
 * stay as they are. Only on the unix socket. */
struct lmi_wire_req_key_set {
	/* Label of the key. */
	struct lmd_str label;
	/* Requests per minute; 0 = any number. (0..1000000000000) */
	bool has_rpm;
	int64_t rpm;
	/* Tokens per minute, of prompts and answers; 0 = any number. (tokens; 0..1000000000000) */
	bool has_tpm;
	int64_t tpm;
	/* Tokens per day (UTC), of prompts and answers; 0 = any number. (tokens;
	 * 0..1000000000000) */
	bool has_tpd;
	int64_t tpd;
	/* Names of the models that the key may use, or aliases; an empty list = all. */
	bool has_models;
	const struct lmd_str *models;
	uint32_t n_models;
};

/* Changes the quota of an API key, also for clients that are connected; fields that are missing
 * stay as they are. Only on the unix socket. */
struct lmi_wire_rep_key_set {
	char none; /* no fields */
};

/* Lists the API keys, oldest first. Only on the unix socket. */
struct lmi_wire_req_keys {
	char none; /* no fields */
};

/* Lists the API keys, oldest first. Only on the unix socket. */
struct lmi_wire_rep_keys {
	/* The keys. */
	const struct lmi_wire_key *keys;
	uint32_t n_keys;
};

/* Lists the limits of this server. */
struct lmi_wire_req_limits {
	char none; /* no fields */
};

/* Lists the limits of this server. */
struct lmi_wire_rep_limits {
	/* The limits. */
	const struct lmi_wire_limit *limits;
	uint32_t n_limits;
};

/* Loads a model into memory. This is a job; its stream reports progress and ends when the model
 * is ready. */
struct lmi_wire_req_load {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
	/* Context size of one sequence; 0 = the model's own, or what fits into memory. (tokens;
	 * 0..1073741824; default 0) */
	int64_t n_ctx;
	/* Maximum number of concurrent sequences (continuous batching); 0 = chosen by the
	 * server. (0..4096; default 0) */
	int64_t n_seq;
	/* Maximum number of tokens in one step; 0 = chosen by the server. (tokens; 0..65536;
	 * default 0) */
	int64_t n_batch;
	/* The backend; auto = the best one available. (default auto) */
	struct lmd_str backend;
	/* Index of the device within the backend. (0..65535; default 0) */
	int64_t device;
	/* Threads of a CPU backend; 0 = chosen by the server. (0..4096; default 0) */
	int64_t threads;
	/* Data type of the KV cache, such as f16; auto = the device's preference. (default
	 * auto) */
	struct lmd_str kv_type;
	/* Data type of the keys in the KV cache; auto = kv_type. (default auto) */
	struct lmd_str kv_type_k;
	/* Data type of the values in the KV cache; auto = kv_type. (default auto) */
	struct lmd_str kv_type_v;
	/* Data type of activations between layers. (default auto) */
	enum lmi_wire_activations activations;
	/* Maximum memory that the model may use; 0 = all that the server has left. (bytes; >=
	 * 0; default 0) */
	int64_t memory_limit;
	/* The devices to use, such as cuda0,cuda1; empty = backend and device. */
	struct lmd_str devices;
	/* How many of the last layers run on these devices, the others run on the cpu: a
	 * number, all, or auto for as many as fit; empty = chosen by the server. */
	struct lmd_str gpu_layers;
	/* Shares of the layers for each device, such as 3,1, or tensor or tensor:N: every
	 * device has a part of every layer; empty = by free memory. */
	struct lmd_str split;
	/* REGEX=DEVICE, separated by commas: operations whose weights match run on that device. */
	struct lmd_str override_tensor;
	/* Speculative decoding: name of a smaller model with the same vocabulary, which guesses
	 * tokens; nextn = the draft layers of the model itself; auto = those if it has any,
	 * otherwise the smallest model in memory that has the same vocabulary and at most a
	 * quarter of the weights; empty = none, or that of the configuration. */
	struct lmd_str draft_model;
	/* File of the vision tower, which lets the model read pictures; empty = that of the
	 * configuration, or the file mmproj*.gguf beside the model. */
	struct lmd_str mmproj;
	/* The process of the model's backend. (default auto) */
	enum lmi_wire_isolation isolation;
	/* Threads of a CPU backend for steps of more than 16 tokens; 0 = as threads, or chosen
	 * by the server. (0..4096; default 0) */
	int64_t threads_batch;
	/* Processors that these threads run on, such as 0-7,16 or 0xff; empty = chosen by the
	 * server. */
	struct lmd_str cpus;
	/* Unload the model after it has been idle for this long; -1 = never. (ms; -1..86400000;
	 * default 300000) */
	int64_t keep_alive_ms;
};

/* Loads a model into memory. This is a job; its stream reports progress and ends when the model
 * is ready. */
struct lmi_wire_rep_load {
	/* The stream of the job. */
	struct lmi_wire_id id;
};

/* Lists the models in the registry. */
struct lmi_wire_req_models {
	/* List only this model, by name or alias. */
	bool has_model;
	struct lmd_str model;
	/* List only names after this one (for paging). */
	struct lmd_str after;
	/* Maximum number of rows. (1..4096; default 4096) */
	int64_t max;
};

/* Lists the models in the registry. */
struct lmi_wire_rep_models {
	/* The models, sorted by name. */
	const struct lmi_wire_model *models;
	uint32_t n_models;
	/* There are more rows. */
	bool more;
};

/* Fetches the items of a stream after a cursor. Asking again returns the same items. */
struct lmi_wire_req_next {
	/* The stream. */
	struct lmi_wire_id id;
	/* Number of the last item that the client has received. Items up to it may be
	 * forgotten. (>= 0; default 0) */
	int64_t after;
	/* Maximum time to wait for an item. Defaults to the server's setting. (ms; 0..600000) */
	bool has_wait_ms;
	int64_t wait_ms;
	/* Output batching delay: after the first unread item wait this long for more, except at
	 * the beginning and the end of the stream; 0 = send each item at once. Defaults to the
	 * server's setting. (ms; 0..10000) */
	bool has_hold_ms;
	int64_t hold_ms;
	/* Maximum number of items. (1..4096; default 256) */
	int64_t max;
};

/* Fetches the items of a stream after a cursor. Asking again returns the same items. */
struct lmi_wire_rep_next {
	/* The stream. */
	struct lmi_wire_id id;
	/* The items after the cursor, in order. Empty if the wait timed out. */
	const struct lmi_wire_item *items;
	uint32_t n_items;
	/* The next cursor: number of the last item in this reply, or after if there is none.
	 * (>= 0) */
	int64_t last;
	/* The stream has no more items. */
	bool end;
};

/* Pauses a generation after the current step of the model. It computes nothing until op
 * unpause, and then has the answer that it would have had without the pause. It keeps its place
 * among its user's generations and its deadline, must be read as often as its lease says, and
 * is cancelled if it stays paused for longer than the limit pause_max. Its memory can be used
 * by others; what they took is computed again. A durable stream is no longer paused after a
 * restart. */
struct lmi_wire_req_pause {
	/* The stream. */
	struct lmi_wire_id id;
};

/* Pauses a generation after the current step of the model. It computes nothing until op
 * unpause, and then has the answer that it would have had without the pause. It keeps its place
 * among its user's generations and its deadline, must be read as often as its lease says, and
 * is cancelled if it stays paused for longer than the limit pause_max. Its memory can be used
 * by others; what they took is computed again. A durable stream is no longer paused after a
 * restart. */
struct lmi_wire_rep_pause {
	/* Time after which it is cancelled. Pausing again does not extend it. (ms; >= 0) */
	int64_t left_ms;
};

/* Checks that the server is alive. */
struct lmi_wire_req_ping {
	char none; /* no fields */
};

/* Checks that the server is alive. */
struct lmi_wire_rep_ping {
	/* State of the server. */
	enum lmi_wire_server_state state;
	/* Time since the server started. (ms; >= 0) */
	int64_t uptime_ms;
};

/* Lists the plugin files that were found. */
struct lmi_wire_req_plugins {
	/* Include the factories of each plugin. */
	bool factories;
};

/* Lists the plugin files that were found. */
struct lmi_wire_rep_plugins {
	/* The plugins. */
	const struct lmi_wire_plugin *plugins;
	uint32_t n_plugins;
};

/* Scans the plugin folders again. Models that are loaded afterwards use the plugins found now. */
struct lmi_wire_req_plugins_reload {
	/* Accept a change of this file only: an absolute path as plugins reports it, or the
	 * name of a file in any plugin folder. Defaults to all files. */
	bool has_file;
	struct lmd_str file;
};

/* Scans the plugin folders again. Models that are loaded afterwards use the plugins found now. */
struct lmi_wire_rep_plugins_reload {
	/* Files that are new or were replaced. */
	const struct lmd_str *added;
	uint32_t n_added;
	/* Files that are gone or were replaced. */
	const struct lmd_str *removed;
	uint32_t n_removed;
	/* Files that cannot be used, with the reason. */
	const struct lmi_wire_plugin *refused;
	uint32_t n_refused;
};

/* Lists the models in memory. */
struct lmi_wire_req_ps {
	/* Also list the generations that run: the client's own, or everybody's for admins. */
	bool generations;
};

/* Lists the models in memory. */
struct lmi_wire_rep_ps {
	/* The models in memory. */
	const struct lmi_wire_resident *models;
	uint32_t n_models;
	/* With generations: those that run, by model and age. */
	const struct lmi_wire_running_generation *generations;
	uint32_t n_generations;
};

/* Downloads a model from Hugging Face, a registry or a URL into the server's own store and adds
 * it to the registry. This is a job; its stream ends when the model is registered. What has
 * arrived before an interruption is kept, and the next pull of the same source continues there. */
struct lmi_wire_req_pull {
	/* A short name of the server's catalogue, hf:USER/REPO[@REVISION][:QUANTISATION or
	 * :FILE], ollama:NAME[:TAG], oci:HOST/REPO[:TAG], or a URL. */
	struct lmd_str source;
	/* The model's name. Defaults to the short name, to REPO:QUANTISATION without -GGUF, to
	 * NAME:TAG, or to the name of the file. */
	bool has_name;
	struct lmd_str name;
	/* Expected digest; what was downloaded is rejected if its digest differs. */
	bool has_digest;
	struct lmd_str digest;
	/* Replace the model that has this name. */
	bool replace;
	/* Only find the files: the stream reports their size as the total of phase download,
	 * and nothing is transferred. */
	bool dry_run;
};

/* Downloads a model from Hugging Face, a registry or a URL into the server's own store and adds
 * it to the registry. This is a job; its stream ends when the model is registered. What has
 * arrived before an interruption is kept, and the next pull of the same source continues there. */
struct lmi_wire_rep_pull {
	/* The stream of the job. Op streams reports the model's name. */
	struct lmi_wire_id id;
};

/* Writes a consistent copy of the registry into the state folder. Only on the unix socket. */
struct lmi_wire_req_registry_backup {
	/* Name of the file: letters, digits, '.', '_' and '-', ending in .backup. It must not
	 * exist. */
	struct lmd_str name;
};

/* Writes a consistent copy of the registry into the state folder. Only on the unix socket. */
struct lmi_wire_rep_registry_backup {
	/* Path of the copy. */
	struct lmd_str path;
	/* Its size. (bytes; >= 0) */
	int64_t size;
};

/* Replaces all models, aliases and keys of the registry by those of a copy in the state folder,
 * after checking it. Models in memory stay; clients whose key is not in the copy are
 * disconnected. Only on the unix socket. */
struct lmi_wire_req_registry_restore {
	/* Name of the file, as for registry_backup. */
	struct lmd_str name;
};

/* Replaces all models, aliases and keys of the registry by those of a copy in the state folder,
 * after checking it. Models in memory stay; clients whose key is not in the copy are
 * disconnected. Only on the unix socket. */
struct lmi_wire_rep_registry_restore {
	/* Models in the registry now. (>= 0) */
	int64_t models;
	/* Keys in the registry now. (>= 0) */
	int64_t keys;
};

/* Loads a model again with the current plugins. Running streams finish on the old instance.
 * This is a job. */
struct lmi_wire_req_reload {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
};

/* Loads a model again with the current plugins. Running streams finish on the old instance.
 * This is a job. */
struct lmi_wire_rep_reload {
	/* The stream of the job. */
	struct lmi_wire_id id;
};

/* Generates the answer of an earlier request again: the same prompt, with the model, seed,
 * settings and adapters of that time. Replies like op generate. Only for requests that are
 * kept: those of the same user that ended by themselves, were not durable, and are among the
 * last of the server's limits replay_requests and replay_bytes. It fails if the model now has
 * another digest. Op replay_info tells whether the two answers are the same. */
struct lmi_wire_req_replay {
	/* The stream of the earlier request. */
	struct lmi_wire_id id;
};

/* Generates the answer of an earlier request again: the same prompt, with the model, seed,
 * settings and adapters of that time. Replies like op generate. Only for requests that are
 * kept: those of the same user that ended by themselves, were not durable, and are among the
 * last of the server's limits replay_requests and replay_bytes. It fails if the model now has
 * another digest. Op replay_info tells whether the two answers are the same. */
struct lmi_wire_rep_replay {
	/* The new stream. */
	struct lmi_wire_id id;
	/* The seed in use. (>= 0) */
	int64_t seed;
};

/* Tells what is kept of a request that can be generated again with op replay. */
struct lmi_wire_req_replay_info {
	/* Its stream. */
	struct lmi_wire_id id;
};

/* Tells what is kept of a request that can be generated again with op replay. */
struct lmi_wire_rep_replay_info {
	/* The model as the request named it. */
	struct lmd_str model;
	/* sha256: and 64 hexadecimal digits of the model's file; empty if it was not known. */
	struct lmd_str model_digest;
	/* The seed of the answer. (>= 0) */
	int64_t seed;
	/* Length of the prompt. (tokens; >= 0) */
	int64_t n_prompt;
	/* Length of the answer. (tokens; >= 0) */
	int64_t n_out;
	/* Why the answer ended. */
	enum lmi_wire_finish finish;
	/* sha256: and 64 hexadecimal digits of the answer's tokens, 4 bytes each, the lowest
	 * first. Equal answers have equal digests. */
	struct lmd_str digest;
	/* Memory that it takes of the limit replay_bytes. (bytes; >= 0) */
	int64_t bytes;
};

/* Scores how well documents answer a query, with the classifier of a reranker. Models without
 * one refuse it. */
struct lmi_wire_req_rerank {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
	/* The query. */
	struct lmd_str query;
	/* The documents. */
	const struct lmd_str *documents;
	uint32_t n_documents;
	/* Cut documents that are longer than the context allows; otherwise they are an error. */
	bool truncate;
};

/* Scores how well documents answer a query, with the classifier of a reranker. Models without
 * one refuse it. */
struct lmi_wire_rep_rerank {
	/* The score of each document, in their order: the first output of the classifier.
	 * Higher is better. */
	const double *scores;
	uint32_t n_scores;
	/* Number of tokens of all pairs of query and document. (tokens; >= 0) */
	int64_t n_prompt;
};

/* Removes a model or an alias from the registry. A model in memory must be unloaded first. */
struct lmi_wire_req_rm {
	/* The model or alias. */
	struct lmd_str name;
};

/* Removes a model or an alias from the registry. A model in memory must be unloaded first. */
struct lmi_wire_rep_rm {
	/* The name was an alias. */
	bool alias;
	/* Size of the files deleted from the server's own store. (bytes; >= 0; default 0) */
	int64_t bytes;
};

/* Copies a saved session, so that two conversations can go on from it. */
struct lmi_wire_req_session_fork {
	/* The session: letters, digits, '.', '_' and '-', beginning with a letter or digit. */
	struct lmd_str name;
	/* Name of the copy. A session of that name is replaced. */
	struct lmd_str to;
};

/* Copies a saved session, so that two conversations can go on from it. */
struct lmi_wire_rep_session_fork {
	/* Its length. (tokens; >= 0) */
	int64_t n_tokens;
	/* Its size. (bytes; >= 0) */
	int64_t bytes;
};

/* Reads a piece of the file of a saved session, for session_write of another server. */
struct lmi_wire_req_session_read {
	/* The session: letters, digits, '.', '_' and '-', beginning with a letter or digit. */
	struct lmd_str name;
	/* The first byte to read. (bytes; >= 0; default 0) */
	int64_t offset;
	/* How many bytes to read at most. (bytes; 1..4194304; default 1048576) */
	int64_t max;
};

/* Reads a piece of the file of a saved session, for session_write of another server. */
struct lmi_wire_rep_session_read {
	/* The bytes; none: the end was reached. */
	struct lmd_str data;
	/* Size of the whole file. If it changes between two pieces, the session was saved
	 * meanwhile: begin anew. (bytes; >= 0) */
	int64_t bytes;
};

/* Removes a saved session. */
struct lmi_wire_req_session_rm {
	/* The session: letters, digits, '.', '_' and '-', beginning with a letter or digit. */
	struct lmd_str name;
};

/* Removes a saved session. */
struct lmi_wire_rep_session_rm {
	/* It existed. */
	bool found;
};

/* Writes a piece of the file of a session that was read elsewhere. Pieces arrive in order; the
 * last one checks the file and gives it its name. */
struct lmi_wire_req_session_write {
	/* The session: letters, digits, '.', '_' and '-', beginning with a letter or digit. */
	struct lmd_str name;
	/* How many bytes were sent before; 0 begins anew. (bytes; >= 0) */
	int64_t offset;
	/* The bytes. */
	struct lmd_str data;
	/* The file is complete. A session of that name is replaced. */
	bool last;
};

/* Writes a piece of the file of a session that was read elsewhere. Pieces arrive in order; the
 * last one checks the file and gives it its name. */
struct lmi_wire_rep_session_write {
	/* With last: the length of the session. (tokens; >= 0; default 0) */
	int64_t n_tokens;
};

/* Lists the client's own saved sessions. */
struct lmi_wire_req_sessions {
	char none; /* no fields */
};

/* Lists the client's own saved sessions. */
struct lmi_wire_rep_sessions {
	/* The sessions by name. */
	const struct lmi_wire_session *sessions;
	uint32_t n_sessions;
	/* Their size. (bytes; >= 0) */
	int64_t bytes;
	/* The size that they may have (limit session_bytes). (bytes; >= 0) */
	int64_t max_bytes;
};

/* Drains the server, then stops it. */
struct lmi_wire_req_shutdown {
	/* Time that running streams are given to finish. Defaults to the server's setting. (ms;
	 * 0..3600000) */
	bool has_drain_ms;
	int64_t drain_ms;
};

/* Drains the server, then stops it. */
struct lmi_wire_rep_shutdown {
	/* Running generations. (>= 0) */
	int64_t running;
};

/* Returns the server's metrics. */
struct lmi_wire_req_stats {
	/* Only metrics of this model. */
	bool has_model;
	struct lmd_str model;
};

/* Returns the server's metrics. */
struct lmi_wire_rep_stats {
	/* The metrics. */
	const struct lmi_wire_metric *metrics;
	uint32_t n_metrics;
};

/* Summarises the state of the server. */
struct lmi_wire_req_status {
	char none; /* no fields */
};

/* Summarises the state of the server. */
struct lmi_wire_rep_status {
	/* State of the server. */
	enum lmi_wire_server_state state;
	/* Version of the server program. */
	struct lmd_str version;
	/* Process id of the server. (>= 0) */
	int64_t pid;
	/* Time since the server started. (ms; >= 0) */
	int64_t uptime_ms;
	/* Models in the registry. (>= 0) */
	int64_t models;
	/* Models in memory. (>= 0) */
	int64_t resident;
	/* Running generations. (>= 0) */
	int64_t running;
	/* Queued generations. (>= 0) */
	int64_t waiting;
	/* Streams of all clients, including ended ones. (>= 0) */
	int64_t streams;
	/* Open connections. (>= 0) */
	int64_t connections;
	/* Memory used by the models in memory. (bytes; >= 0) */
	int64_t memory_bytes;
	/* Memory that models may use in total. (bytes; >= 0) */
	int64_t memory_limit;
	/* What an administrator should know, such as a damaged registry that was replaced. */
	bool has_notice;
	struct lmd_str notice;
	/* Addresses at which HTTP is served, as in the configuration: ADDR:PORT, tls:ADDR:PORT
	 * and, for clients on this machine, unix:/PATH. */
	const struct lmd_str *http;
	uint32_t n_http;
};

/* Lists the client's own streams. */
struct lmi_wire_req_streams {
	char none; /* no fields */
};

/* Lists the client's own streams. */
struct lmi_wire_rep_streams {
	/* The streams. */
	const struct lmi_wire_stream *streams;
	uint32_t n_streams;
};

/* Converts text to tokens. */
struct lmi_wire_req_tokenize {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
	/* The text; any bytes. */
	struct lmd_str text;
	/* Add the begin and end tokens that the model expects (BOS, EOS). (default true) */
	bool add_special;
	/* Convert text that spells a control token to that token. */
	bool parse_special;
	/* Include the bytes of each token. */
	bool pieces;
	/* From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
	 * never. (ms; -1..86400000) */
	bool has_keep_alive_ms;
	int64_t keep_alive_ms;
};

/* Converts text to tokens. */
struct lmi_wire_rep_tokenize {
	/* The tokens. */
	const lmd_token *tokens;
	uint32_t n_tokens;
	/* The bytes of each token, if requested. */
	const struct lmd_str *pieces;
	uint32_t n_pieces;
};

/* Removes a model from memory once its streams have ended. This is a job. */
struct lmi_wire_req_unload {
	/* The model by name or alias; admins may also give a path. */
	struct lmd_str model;
	/* Cancel its streams instead of waiting for them. */
	bool force;
};

/* Removes a model from memory once its streams have ended. This is a job. */
struct lmi_wire_rep_unload {
	/* The stream of the job. */
	struct lmi_wire_id id;
};

/* Lets a generation go on that was paused with op pause. */
struct lmi_wire_req_unpause {
	/* The stream. */
	struct lmi_wire_id id;
};

/* Lets a generation go on that was paused with op pause. */
struct lmi_wire_rep_unpause {
	/* It was paused; otherwise nothing has changed. */
	bool was_paused;
};

/* Returns what was used per principal, model and day: all rows for admins, otherwise those of
 * the client. Rows are kept for 400 days. */
struct lmi_wire_req_usage {
	/* Only this day and later ones, as YYYY-MM-DD (UTC). */
	bool has_since;
	struct lmd_str since;
	/* Only this principal: 'key:' and the label of a key, or 'uid:' and the number of a
	 * user of this machine. */
	bool has_principal;
	struct lmd_str principal;
	/* Only this model, by name. */
	bool has_model;
	struct lmd_str model;
};

/* Returns what was used per principal, model and day: all rows for admins, otherwise those of
 * the client. Rows are kept for 400 days. */
struct lmi_wire_rep_usage {
	/* The rows, the latest day first. */
	const struct lmi_wire_usage_row *usage;
	uint32_t n_usage;
	/* There are more rows: ask for fewer days, one principal or one model. */
	bool more;
};

union lmi_wire_reqs {
	struct lmi_wire_req_adapter_set adapter_set;
	struct lmi_wire_req_adapters adapters;
	struct lmi_wire_req_add add;
	struct lmi_wire_req_alias alias;
	struct lmi_wire_req_apply_template apply_template;
	struct lmi_wire_req_cancel cancel;
	struct lmi_wire_req_config_reload config_reload;
	struct lmi_wire_req_create create;
	struct lmi_wire_req_detokenize detokenize;
	struct lmi_wire_req_devices devices;
	struct lmi_wire_req_drain drain;
	struct lmi_wire_req_embed embed;
	struct lmi_wire_req_events events;
	struct lmi_wire_req_generate generate;
	struct lmi_wire_req_hello hello;
	struct lmi_wire_req_info info;
	struct lmi_wire_req_key_add key_add;
	struct lmi_wire_req_key_rm key_rm;
	struct lmi_wire_req_key_set key_set;
	struct lmi_wire_req_keys keys;
	struct lmi_wire_req_limits limits;
	struct lmi_wire_req_load load;
	struct lmi_wire_req_models models;
	struct lmi_wire_req_next next;
	struct lmi_wire_req_pause pause;
	struct lmi_wire_req_ping ping;
	struct lmi_wire_req_plugins plugins;
	struct lmi_wire_req_plugins_reload plugins_reload;
	struct lmi_wire_req_ps ps;
	struct lmi_wire_req_pull pull;
	struct lmi_wire_req_registry_backup registry_backup;
	struct lmi_wire_req_registry_restore registry_restore;
	struct lmi_wire_req_reload reload;
	struct lmi_wire_req_replay replay;
	struct lmi_wire_req_replay_info replay_info;
	struct lmi_wire_req_rerank rerank;
	struct lmi_wire_req_rm rm;
	struct lmi_wire_req_session_fork session_fork;
	struct lmi_wire_req_session_read session_read;
	struct lmi_wire_req_session_rm session_rm;
	struct lmi_wire_req_session_write session_write;
	struct lmi_wire_req_sessions sessions;
	struct lmi_wire_req_shutdown shutdown;
	struct lmi_wire_req_stats stats;
	struct lmi_wire_req_status status;
	struct lmi_wire_req_streams streams;
	struct lmi_wire_req_tokenize tokenize;
	struct lmi_wire_req_unload unload;
	struct lmi_wire_req_unpause unpause;
	struct lmi_wire_req_usage usage;
};

union lmi_wire_reps {
	struct lmi_wire_rep_adapter_set adapter_set;
	struct lmi_wire_rep_adapters adapters;
	struct lmi_wire_rep_add add;
	struct lmi_wire_rep_alias alias;
	struct lmi_wire_rep_apply_template apply_template;
	struct lmi_wire_rep_cancel cancel;
	struct lmi_wire_rep_config_reload config_reload;
	struct lmi_wire_rep_create create;
	struct lmi_wire_rep_detokenize detokenize;
	struct lmi_wire_rep_devices devices;
	struct lmi_wire_rep_drain drain;
	struct lmi_wire_rep_embed embed;
	struct lmi_wire_rep_events events;
	struct lmi_wire_rep_generate generate;
	struct lmi_wire_rep_hello hello;
	struct lmi_wire_rep_info info;
	struct lmi_wire_rep_key_add key_add;
	struct lmi_wire_rep_key_rm key_rm;
	struct lmi_wire_rep_key_set key_set;
	struct lmi_wire_rep_keys keys;
	struct lmi_wire_rep_limits limits;
	struct lmi_wire_rep_load load;
	struct lmi_wire_rep_models models;
	struct lmi_wire_rep_next next;
	struct lmi_wire_rep_pause pause;
	struct lmi_wire_rep_ping ping;
	struct lmi_wire_rep_plugins plugins;
	struct lmi_wire_rep_plugins_reload plugins_reload;
	struct lmi_wire_rep_ps ps;
	struct lmi_wire_rep_pull pull;
	struct lmi_wire_rep_registry_backup registry_backup;
	struct lmi_wire_rep_registry_restore registry_restore;
	struct lmi_wire_rep_reload reload;
	struct lmi_wire_rep_replay replay;
	struct lmi_wire_rep_replay_info replay_info;
	struct lmi_wire_rep_rerank rerank;
	struct lmi_wire_rep_rm rm;
	struct lmi_wire_rep_session_fork session_fork;
	struct lmi_wire_rep_session_read session_read;
	struct lmi_wire_rep_session_rm session_rm;
	struct lmi_wire_rep_session_write session_write;
	struct lmi_wire_rep_sessions sessions;
	struct lmi_wire_rep_shutdown shutdown;
	struct lmi_wire_rep_stats stats;
	struct lmi_wire_rep_status status;
	struct lmi_wire_rep_streams streams;
	struct lmi_wire_rep_tokenize tokenize;
	struct lmi_wire_rep_unload unload;
	struct lmi_wire_rep_unpause unpause;
	struct lmi_wire_rep_usage usage;
};

#endif /* LLAMAD_PROTO_GEN_TYPES_GEN_H */
