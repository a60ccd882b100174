/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema.  Structs of the messages: bounds, and who owns
 * what, are explained in proto/proto.h. */
#ifndef LLAMAD_PROTO_GEN_TYPES_GEN_H
#define LLAMAD_PROTO_GEN_TYPES_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/sampler.h"
#include "llamad/status.h"
#include "llamad/types.h"
#include "proto/value.h"

struct lmi_wire_words; /* words of an enum, table.h */

/* What is asked for.  The numbers stay inside of a build; names travel. */
enum lmi_wire_op {
	LMI_WIRE_OP_NONE = 0,
	LMI_WIRE_OP_ADD = 1,
	LMI_WIRE_OP_ALIAS = 2,
	LMI_WIRE_OP_CANCEL = 3,
	LMI_WIRE_OP_CONFIG_RELOAD = 4,
	LMI_WIRE_OP_DETOKENIZE = 5,
	LMI_WIRE_OP_DRAIN = 6,
	LMI_WIRE_OP_GENERATE = 7,
	LMI_WIRE_OP_HELLO = 8,
	LMI_WIRE_OP_INFO = 9,
	LMI_WIRE_OP_KEY_ADD = 10,
	LMI_WIRE_OP_KEY_RM = 11,
	LMI_WIRE_OP_KEYS = 12,
	LMI_WIRE_OP_LIMITS = 13,
	LMI_WIRE_OP_LOAD = 14,
	LMI_WIRE_OP_MODELS = 15,
	LMI_WIRE_OP_NEXT = 16,
	LMI_WIRE_OP_PING = 17,
	LMI_WIRE_OP_PLUGINS = 18,
	LMI_WIRE_OP_PLUGINS_RELOAD = 19,
	LMI_WIRE_OP_PS = 20,
	LMI_WIRE_OP_RELOAD = 21,
	LMI_WIRE_OP_RM = 22,
	LMI_WIRE_OP_SHUTDOWN = 23,
	LMI_WIRE_OP_STATS = 24,
	LMI_WIRE_OP_STATUS = 25,
	LMI_WIRE_OP_STREAMS = 26,
	LMI_WIRE_OP_TOKENIZE = 27,
	LMI_WIRE_OP_UNLOAD = 28
};
#define LMI_WIRE_N_OP 29

/* What a principal may do. */
enum lmi_wire_role {
	LMI_WIRE_ROLE_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_ROLE_USER = 1, /* Uses models by name */
	LMI_WIRE_ROLE_ADMIN = 2 /* Also manages models, plugins and the server */
};
extern const struct lmi_wire_words lmi_wire_words_role;

/* State of the server. */
enum lmi_wire_server_state {
	LMI_WIRE_SERVER_STATE_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_SERVER_STATE_STARTING = 1, /* It takes no work yet */
	LMI_WIRE_SERVER_STATE_READY = 2, /* It takes work */
	LMI_WIRE_SERVER_STATE_DRAINING = 3 /* It finishes its work and takes no more */
};
extern const struct lmi_wire_words lmi_wire_words_server_state;

/* State of a model. */
enum lmi_wire_model_state {
	LMI_WIRE_MODEL_STATE_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_MODEL_STATE_ABSENT = 1, /* Known and not in memory */
	LMI_WIRE_MODEL_STATE_LOADING = 2, /* On its way into memory */
	LMI_WIRE_MODEL_STATE_READY = 3, /* In memory */
	LMI_WIRE_MODEL_STATE_DRAINING = 4, /* It finishes its streams and takes no more */
	LMI_WIRE_MODEL_STATE_UNLOADING = 5, /* On its way out of memory */
	LMI_WIRE_MODEL_STATE_FAILED = 6, /* The last load failed, or the device was lost; it is loaded again by op load, or by a request after a pause */
	LMI_WIRE_MODEL_STATE_QUARANTINED = 7 /* It took the server down twice and is not loaded by itself */
};
extern const struct lmi_wire_words lmi_wire_words_model_state;

/* How urgent a generation is. */
enum lmi_wire_class {
	LMI_WIRE_CLASS_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_CLASS_INTERACTIVE = 1, /* Somebody waits; weight 8 */
	LMI_WIRE_CLASS_NORMAL = 2, /* Weight 4 */
	LMI_WIRE_CLASS_BATCH = 3 /* Nobody waits; weight 1 */
};
extern const struct lmi_wire_words lmi_wire_words_class;

/* What of an answer is taken without asking the model, since the grammar leaves no choice. */
enum lmi_wire_jump {
	LMI_WIRE_JUMP_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_JUMP_TOKEN = 1, /* A token when no other is allowed; the answer is the same as without */
	LMI_WIRE_JUMP_TEXT = 2, /* Text that must come, in the tokens that the tokenizer has for it; a model that would have spelled it otherwise is not asked, so what follows may differ */
	LMI_WIRE_JUMP_OFF = 3 /* Nothing */
};
extern const struct lmi_wire_words lmi_wire_words_jump;

/* Numbers between layers. */
enum lmi_wire_activations {
	LMI_WIRE_ACTIVATIONS_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_ACTIVATIONS_AUTO = 1, /* What the backend likes */
	LMI_WIRE_ACTIVATIONS_F32 = 2, /* Floats, for checks */
	LMI_WIRE_ACTIVATIONS_INT8 = 3 /* Quantised to 8 bits where weights are quantised */
};
extern const struct lmi_wire_words lmi_wire_words_activations;

/* Why a stream is done. */
enum lmi_wire_finish {
	LMI_WIRE_FINISH_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_FINISH_EOG = 1, /* The model ended its answer */
	LMI_WIRE_FINISH_STOP = 2, /* A stop text */
	LMI_WIRE_FINISH_LENGTH = 3, /* As many tokens as asked for */
	LMI_WIRE_FINISH_CONTEXT = 4, /* The context is full */
	LMI_WIRE_FINISH_DEADLINE = 5, /* timeout_ms is over */
	LMI_WIRE_FINISH_SHUTDOWN = 6, /* The server stops */
	LMI_WIRE_FINISH_DONE = 7 /* A job is done */
};
extern const struct lmi_wire_words lmi_wire_words_finish;

/* Who cancelled a stream. */
enum lmi_wire_cancel_reason {
	LMI_WIRE_CANCEL_REASON_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_CANCEL_REASON_ASKED = 1, /* A cancel request */
	LMI_WIRE_CANCEL_REASON_LEASE = 2, /* No next came in time */
	LMI_WIRE_CANCEL_REASON_GONE = 3, /* The client's connection ended */
	LMI_WIRE_CANCEL_REASON_SLOW_READER = 4, /* Too much lay unread */
	LMI_WIRE_CANCEL_REASON_UNLOAD = 5 /* The model was unloaded by force */
};
extern const struct lmi_wire_words lmi_wire_words_cancel_reason;

/* What a job is doing. */
enum lmi_wire_phase {
	LMI_WIRE_PHASE_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_PHASE_QUEUED = 1, /* It waits for its turn */
	LMI_WIRE_PHASE_HASH = 2, /* Digest of the file; bytes */
	LMI_WIRE_PHASE_COPY = 3, /* Copy of the file; bytes */
	LMI_WIRE_PHASE_CHECK = 4, /* Header, tensors and signature; steps */
	LMI_WIRE_PHASE_LOAD = 5, /* Weights; bytes */
	LMI_WIRE_PHASE_WARM = 6, /* First steps; steps */
	LMI_WIRE_PHASE_DRAIN = 7, /* Streams that still run; streams */
	LMI_WIRE_PHASE_UNLOAD = 8 /* Memory is given back; steps */
};
extern const struct lmi_wire_words lmi_wire_words_phase;

/* What made a stream. */
enum lmi_wire_stream_kind {
	LMI_WIRE_STREAM_KIND_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_STREAM_KIND_GENERATE = 1, /* Op generate */
	LMI_WIRE_STREAM_KIND_ADD = 2, /* Op add */
	LMI_WIRE_STREAM_KIND_LOAD = 3, /* Op load */
	LMI_WIRE_STREAM_KIND_UNLOAD = 4, /* Op unload */
	LMI_WIRE_STREAM_KIND_RELOAD = 5 /* Op reload */
};
extern const struct lmi_wire_words lmi_wire_words_stream_kind;

/* State of a stream. */
enum lmi_wire_stream_state {
	LMI_WIRE_STREAM_STATE_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_STREAM_STATE_WAITING = 1, /* Not begun */
	LMI_WIRE_STREAM_STATE_RUNNING = 2, /* Items may come */
	LMI_WIRE_STREAM_STATE_ENDED = 3 /* Its last item exists */
};
extern const struct lmi_wire_words lmi_wire_words_stream_state;

/* How a metric moves. */
enum lmi_wire_metric_kind {
	LMI_WIRE_METRIC_KIND_UNKNOWN = 0, /* of a newer server; never in a request */
	LMI_WIRE_METRIC_KIND_COUNTER = 1, /* Only up, from 0 at the start of the server */
	LMI_WIRE_METRIC_KIND_GAUGE = 2 /* Up and down */
};
extern const struct lmi_wire_words lmi_wire_words_metric_kind;

/* One message of a conversation. */
struct lmi_wire_chat_message {
	/* Who speaks: system, developer, user, assistant, tool or function. */
	struct lmd_str role;
	/* What is said. */
	struct lmd_str content;
	/* What an assistant thought before. */
	bool has_reasoning;
	struct lmd_str reasoning;
	/* Name of the tool, or of who speaks. */
	bool has_name;
	struct lmd_str name;
	/* Calls of an assistant, a JSON array. */
	bool has_tool_calls;
	struct lmd_str tool_calls;
	/* The call that a tool answers. */
	bool has_tool_call_id;
	struct lmd_str tool_call_id;
};

/* One bound. */
struct lmi_wire_limit {
	/* Its name. */
	struct lmd_str name;
	/* Its value. (>= 0) */
	int64_t value;
	/* What is counted, where the name does not say. */
	struct lmd_str unit;
};

/* A name with a value. */
struct lmi_wire_label {
	/* The name. */
	struct lmd_str name;
	/* The value. */
	struct lmd_str value;
};

/* A model of the registry. */
struct lmi_wire_model {
	/* Its name. */
	struct lmd_str name;
	/* Its other names. */
	const struct lmd_str *aliases;
	uint32_t n_aliases;
	/* sha256: and 64 hexadecimal digits; empty while it is not known. */
	struct lmd_str digest;
	/* Length of its files. (bytes; >= 0) */
	int64_t size;
	/* Its architecture. */
	struct lmd_str arch;
	/* Format of its files. */
	struct lmd_str format;
	/* Its first file; for admins. */
	bool has_path;
	struct lmd_str path;
	/* Its state. */
	enum lmi_wire_model_state state;
	/* Why the state is failed or quarantined. */
	struct lmd_str reason;
};

/* A model that has a place in memory. */
struct lmi_wire_resident {
	/* Its name, or its path. */
	struct lmd_str model;
	/* Its state. */
	enum lmi_wire_model_state state;
	/* The backend that runs it. */
	struct lmd_str backend;
	/* Number of the backend's device. (0..65535) */
	int64_t device;
	/* Context of one session. (tokens; >= 0) */
	int64_t n_ctx;
	/* Sessions at a time. (>= 0) */
	int64_t n_seq;
	/* Generations that run. (>= 0) */
	int64_t active;
	/* Generations that wait. (>= 0) */
	int64_t waiting;
	/* Memory of the weights. (bytes; >= 0) */
	int64_t weight_bytes;
	/* Memory of the sessions. (bytes; >= 0) */
	int64_t kv_bytes;
	/* Working memory. (bytes; >= 0) */
	int64_t scratch_bytes;
	/* Time since it became ready. (ms; >= 0) */
	int64_t loaded_ms;
	/* Time since it last had work; 0 while it has. (ms; >= 0) */
	int64_t idle_ms;
	/* It is unloaded after being idle so long; -1: never. (ms; >= -1) */
	int64_t keep_alive_ms;
};

/* A key of a model file. */
struct lmi_wire_meta {
	/* The key. */
	struct lmd_str key;
	/* Type of the value. */
	struct lmd_str type;
	/* The value as text; long ones are cut. */
	struct lmd_str value;
};

/* The tensors of one type. */
struct lmi_wire_tensor_type {
	/* The type, as q4_k. */
	struct lmd_str type;
	/* How many. (>= 0) */
	int64_t tensors;
	/* Their elements. (>= 0) */
	int64_t elements;
	/* Their size. (bytes; >= 0) */
	int64_t bytes;
};

/* One thing that a plugin offers. */
struct lmi_wire_factory {
	/* backend, arch, tokenizer or sampler. */
	struct lmd_str kind;
	/* Its name. */
	struct lmd_str name;
	/* How well it runs here; 0: not at all. (-2147483648..2147483647) */
	int64_t score;
	/* Why the score is 0, or by what it is shadowed. */
	struct lmd_str reason;
};

/* A plugin file that was found. */
struct lmi_wire_plugin {
	/* Its path. */
	struct lmd_str file;
	/* Its name; empty when it could not be read. */
	struct lmd_str name;
	/* What it offers. */
	const struct lmd_str *kinds;
	uint32_t n_kinds;
	/* Its version. */
	struct lmd_str version;
	/* The ABI it was built for, as 1.0. */
	struct lmd_str abi;
	/* loaded, shadowed, refused or retired. */
	struct lmd_str state;
	/* Why it is not loaded. */
	struct lmd_str reason;
	/* Counts the versions of the file. (>= 0) */
	int64_t generation;
	/* References on it. (>= 0; default 0) */
	int64_t users;
	/* What it offers, one by one; when asked for. */
	const struct lmi_wire_factory *factories;
	uint32_t n_factories;
};

/* A stream as its owner sees it. */
struct lmi_wire_stream {
	/* Its id. */
	struct lmi_wire_id id;
	/* What made it. */
	enum lmi_wire_stream_kind kind;
	/* The model it works with. */
	struct lmd_str model;
	/* Its state. */
	enum lmi_wire_stream_state state;
	/* Request id of the request that made it. */
	struct lmd_str rid;
	/* Number of its latest item; 0: none yet. (>= 0) */
	int64_t last;
	/* Time since it was made. (ms; >= 0) */
	int64_t age_ms;
	/* Time without next after which it is cancelled. (ms; >= 0) */
	int64_t lease_ms;
};

/* A key by which clients are known over TCP. */
struct lmi_wire_key {
	/* What it is called. */
	struct lmd_str label;
	/* What its clients may do. */
	enum lmi_wire_role role;
	/* When it was made, counted from 1970-01-01 UTC. (ms; >= 0) */
	int64_t created_ms;
	/* Until when it is good, counted likewise; 0: until it is removed. (ms; >= 0; default
	 * 0) */
	int64_t expires_ms;
	/* That is over. */
	bool expired;
};

/* Why a request was refused. */
struct lmi_wire_error {
	/* The kind of failure. */
	enum lmd_status code;
	/* A sentence that names the thing, the value and the bound. */
	struct lmd_str text;
	/* A repetition before that time is pointless. (ms; >= 0) */
	bool has_retry_ms;
	int64_t retry_ms;
	/* This connection has said no hello with a valid key: to do that, and then to ask
	 * again, is the answer. */
	bool hello;
};

/* One number of the server. */
struct lmi_wire_metric {
	/* Its name, as on the metrics page. */
	struct lmd_str name;
	/* How it moves. */
	enum lmi_wire_metric_kind kind;
	/* Its value. */
	double value;
	/* What it is about. */
	const struct lmi_wire_label *labels;
	uint32_t n_labels;
};

/* An item of a stream. */
enum lmi_wire_item_kind {
	LMI_WIRE_ITEM_UNKNOWN = 0, /* of a newer server: only n is known */
	LMI_WIRE_ITEM_TOKEN = 1, /* A generated token, and the text that can be shown since the last one */
	LMI_WIRE_ITEM_TEXT = 2, /* More text, without a token */
	LMI_WIRE_ITEM_THOUGHT = 3, /* More of what the model thinks; with parse */
	LMI_WIRE_ITEM_CALL = 4, /* The model calls a tool; its arguments follow. With parse */
	LMI_WIRE_ITEM_ARGUMENTS = 5, /* More of the arguments of a call; together they are a JSON object, unless call_end says otherwise */
	LMI_WIRE_ITEM_CALL_END = 6, /* The call is over */
	LMI_WIRE_ITEM_PROGRESS = 7, /* How far a job is; only the latest one is kept */
	LMI_WIRE_ITEM_DONE = 8, /* The stream came to its end; the last one */
	LMI_WIRE_ITEM_ERROR = 9, /* The stream failed; the last one */
	LMI_WIRE_ITEM_CANCELLED = 10 /* The stream was cancelled; the last one */
};
#define LMI_WIRE_N_ITEM 11

struct lmi_wire_item {
	enum lmi_wire_item_kind kind;
	/* Number of the item. (>= 1) */
	int64_t n;
	union {
		struct {
			/* Its id. */
			lmd_token token;
			/* Bytes of the answer; whole UTF-8 characters as far as the tokens make
			 * them. */
			struct lmd_str text;
		} token;
		struct {
			/* Bytes of the answer. */
			struct lmd_str text;
		} text;
		struct {
			/* Bytes of the thought. */
			struct lmd_str text;
		} thought;
		struct {
			/* Counts the calls of the answer, from 0. (>= 0) */
			int64_t call;
			/* The tool. */
			struct lmd_str name;
			/* What the model calls this call, or, where it does not, nine letters
			 * and digits. */
			struct lmd_str id;
		} call;
		struct {
			/* The call. (>= 0) */
			int64_t call;
			/* A piece of JSON. */
			struct lmd_str text;
		} arguments;
		struct {
			/* The call. (>= 0) */
			int64_t call;
			/* Its arguments are whole, and JSON. */
			bool complete;
		} call_end;
		struct {
			/* What is being done. */
			enum lmi_wire_phase phase;
			/* How much of it is done. (>= 0) */
			int64_t done;
			/* How much it is; 0: not known. (>= 0; default 0) */
			int64_t total;
		} progress;
		struct {
			/* Why. */
			enum lmi_wire_finish finish;
			/* Length of the prompt. (tokens; >= 0; default 0) */
			int64_t n_prompt;
			/* Length of the answer. (tokens; >= 0; default 0) */
			int64_t n_out;
			/* From the first step to the first token. (ns; >= 0; default 0) */
			int64_t prompt_ns;
			/* From there to the end. (ns; >= 0; default 0) */
			int64_t out_ns;
			/* Tokens of the answer that took no step of their own, since the
			 * grammar left no choice. (tokens; >= 0; default 0) */
			int64_t n_forced;
		} done;
		struct {
			/* The kind of failure. */
			enum lmd_status code;
			/* A sentence that names the thing, the value and the bound. */
			struct lmd_str text;
		} error;
		struct {
			/* By whom. */
			enum lmi_wire_cancel_reason reason;
		} cancelled;
	} u;
};

/* Puts a model file of the server into the registry; a job, whose stream ends when the row is
 * there. */
struct lmi_req_add {
	/* Its name from now on. */
	struct lmd_str name;
	/* A file or folder below the server's model folders. */
	struct lmd_str path;
	/* Copy it into the server's own store. */
	bool copy;
	/* Refuse the file unless this is its digest. */
	bool has_digest;
	struct lmd_str digest;
	/* Put it in the place of the model of that name. */
	bool replace;
};

/* Puts a model file of the server into the registry; a job, whose stream ends when the row is
 * there. */
struct lmi_rep_add {
	/* The job's stream. */
	struct lmi_wire_id id;
};

/* Gives a model another name; an alias that exists moves to the model. */
struct lmi_req_alias {
	/* The other name. */
	struct lmd_str alias;
	/* The model. */
	struct lmd_str model;
};

/* Gives a model another name; an alias that exists moves to the model. */
struct lmi_rep_alias {
	/* The model that had it. */
	bool has_before;
	struct lmd_str before;
};

/* Ends a stream within one step; one that has ended is forgotten. */
struct lmi_req_cancel {
	/* The stream. */
	struct lmi_wire_id id;
};

/* Ends a stream within one step; one that has ended is forgotten. */
struct lmi_rep_cancel {
	/* It had ended already. */
	bool ended;
};

/* Reads the configuration again and applies it as a whole, or refuses it as a whole. */
struct lmi_req_config_reload {
	char none; /* no fields */
};

/* Reads the configuration again and applies it as a whole, or refuses it as a whole. */
struct lmi_rep_config_reload {
	/* Keys that have new values. */
	const struct lmd_str *changed;
	uint32_t n_changed;
	/* Keys whose new values count after a restart. */
	const struct lmd_str *restart;
	uint32_t n_restart;
};

/* Turns tokens into text. */
struct lmi_req_detokenize {
	/* The model, by name or alias, or for admins by path. */
	struct lmd_str model;
	/* The tokens. */
	const lmd_token *tokens;
	uint32_t n_tokens;
	/* Control tokens are written out. (default true) */
	bool special;
};

/* Turns tokens into text. */
struct lmi_rep_detokenize {
	/* The text; its bytes need not be UTF-8. */
	struct lmd_str text;
};

/* Takes no more work and finishes what runs, or takes work again. */
struct lmi_req_drain {
	/* False: take work again. (default true) */
	bool on;
};

/* Takes no more work and finishes what runs, or takes work again. */
struct lmi_rep_drain {
	/* Generations that run. (>= 0) */
	int64_t running;
	/* Generations that wait; they are refused when it drains. (>= 0) */
	int64_t waiting;
};

/* Continues a prompt; answers a stream at once, whose items are fetched with next. */
struct lmi_req_generate {
	/* The model, by name or alias, or for admins by path; it is loaded when it is not in
	 * memory. */
	struct lmd_str model;
	/* What a user says to the model, when the model has a chat template; what is continued,
	 * when it has none, or with raw. */
	bool has_prompt;
	struct lmd_str prompt;
	/* What is continued, as tokens; taken as they are. */
	bool has_tokens;
	const lmd_token *tokens;
	uint32_t n_tokens;
	/* A conversation; an assistant's message at its end is the beginning of the answer. */
	bool has_messages;
	const struct lmi_wire_chat_message *messages;
	uint32_t n_messages;
	/* The prompt is plain text, also for models with a chat template. */
	bool raw;
	/* Instead of the model's own chat template: the name of a variant of it or of a
	 * built-in one, or, with a { in it, the text of a template. */
	bool has_template;
	struct lmd_str template;
	/* Further variables of the template, a JSON object. */
	bool has_template_args;
	struct lmd_str template_args;
	/* Tools that the template tells the model about, a JSON array. */
	bool has_tools;
	struct lmd_str tools;
	/* The items tell what the answer consists of: text, thoughts, and calls of tools. */
	bool parse;
	/* How the model writes thoughts and calls: a name that llamactl debug parse --list
	 * prints; without it what its chat template says. With parse. */
	bool has_parse_format;
	struct lmd_str parse_format;
	/* Add the begin tokens that the model wants to the prompt. (default true) */
	bool add_special;
	/* Text of control tokens in the prompt becomes those tokens. */
	bool parse_special;
	/* Length of the answer at most; -1: until the context is full; without it the server's
	 * default. (tokens; -1..1073741824) */
	bool has_n;
	int64_t n;
	/* The answer ends before the first of these texts. */
	const struct lmd_str *stop;
	uint32_t n_stop;
	/* A grammar in GBNF that the answer follows. */
	bool has_grammar;
	struct lmd_str grammar;
	/* A JSON schema that the answer follows; {}: any JSON. Not with grammar. */
	bool has_json_schema;
	struct lmd_str json_schema;
	/* The grammar counts only from where the answer matches one of these regular
	 * expressions. */
	const struct lmd_str *grammar_triggers;
	uint32_t n_grammar_triggers;
	/* What is taken without asking the model where the grammar leaves no choice. (default
	 * token) */
	enum lmi_wire_jump jump;
	/* Tokens at the end of the prompt that begin longer ones are taken back, and the model
	 * begins with their text in whichever tokens; the answer comes without that text. */
	bool heal;
	/* Go on after tokens that end an answer. */
	bool ignore_eog;
	/* Text of control tokens is part of the answer. */
	bool special;
	/* Of the random choices; without it the server takes one and tells it. (>= 0) */
	bool has_seed;
	int64_t seed;
	/* The samplers in their order; then none of the parameters below counts. */
	bool has_chain;
	const struct lmi_wire_sampler *chain;
	uint32_t n_chain;
	/* Order of the samplers: default, temperature-first, letters as edskypmxt, or names
	 * with commas. */
	bool has_order;
	struct lmd_str order;
	/* Temperature; 0 takes the likeliest token. (0..5; default 0.8) */
	double temp;
	/* Only so many of the likeliest tokens; 0 or less: all. (-1..2147483647; default 40) */
	int64_t top_k;
	/* Only the likeliest tokens that make up this probability; 1: all. (0..1; default 0.95) */
	double top_p;
	/* Only tokens with this share of the best one's probability; 0: all. (0..1; default
	 * 0.05) */
	double min_p;
	/* Only the most typical tokens that make up this probability; 1: all. (0..1; default 1) */
	double typical;
	/* Only tokens whose logit lies within so many deviations of the best; 0 or less: all.
	 * (-1..100; default -1) */
	double top_n_sigma;
	/* Tokens that top_p, min_p, typical and xtc leave at least. (0..2147483647; default 0) */
	int64_t min_keep;
	/* Window of the penalties; 0: off, -1: the context. (tokens; -1..2147483647; default
	 * 64) */
	int64_t repeat_last_n;
	/* Divides the logits of tokens in the window; 1: off. (0.01..100; default 1) */
	double repeat_penalty;
	/* Taken from a token's logit for each time it stands in the window. (-100..100; default
	 * 0) */
	double frequency_penalty;
	/* Taken from it once if it stands in the window. (-100..100; default 0) */
	double presence_penalty;
	/* The temperature moves by so much with the entropy; 0: off. (0..5; default 0) */
	double dynatemp_range;
	/* How the entropy counts there. (0..100; default 1) */
	double dynatemp_exponent;
	/* How often the likeliest tokens are left out; 0: off. (0..1; default 0) */
	double xtc_probability;
	/* The probability from which on a token is likely there. (0..1; default 0.1) */
	double xtc_threshold;
	/* Strength of the penalty on repeated sequences; 0: off. (0..100; default 0) */
	double dry_multiplier;
	/* Its base. (0..100; default 1.75) */
	double dry_base;
	/* Repetitions up to this length are free. (tokens; 0..2147483647; default 2) */
	int64_t dry_allowed_length;
	/* Its window; -1: the context. (tokens; -1..2147483647; default 64) */
	int64_t dry_last_n;
	/* Texts that end a sequence; without it newline, colon, quote and asterisk. */
	bool has_dry_breakers;
	const struct lmd_str *dry_breakers;
	uint32_t n_dry_breakers;
	/* Version of mirostat; 0: off. (0..2; default 0) */
	int64_t mirostat;
	/* The surprise it aims at. (0..100; default 5) */
	double mirostat_tau;
	/* How fast it learns. (0..100; default 0.1) */
	double mirostat_eta;
	/* Added to the logits of tokens. */
	const struct lmd_bias *logit_bias;
	uint32_t n_logit_bias;
	/* How urgent it is. (default normal) */
	enum lmi_wire_class class;
	/* Deadline of the whole, waiting included; without it the server's default. (ms;
	 * 1..86400000) */
	bool has_timeout_ms;
	int64_t timeout_ms;
	/* It is cancelled when no next came for so long; without it the server's default. (ms;
	 * 100..600000) */
	bool has_lease_ms;
	int64_t lease_ms;
};

/* Continues a prompt; answers a stream at once, whose items are fetched with next. */
struct lmi_rep_generate {
	/* The stream. */
	struct lmi_wire_id id;
	/* The seed that is used. (>= 0) */
	int64_t seed;
};

/* Says who the client is and learns what the server speaks; may be sent with any v. */
struct lmi_req_hello {
	/* Name of the program, for the log. */
	struct lmd_str client;
	/* Version of the program. */
	struct lmd_str version;
	/* Secret of a key: says on tcp and tls+tcp who the client is, and counts for this
	 * connection. On the unix socket it is passed over. */
	struct lmd_str key;
};

/* Says who the client is and learns what the server speaks; may be sent with any v. */
struct lmi_rep_hello {
	/* Name of the server's program. */
	struct lmd_str server;
	/* Version of the server's program. */
	struct lmd_str version;
	/* Oldest protocol version that it speaks. (1..65535) */
	int64_t v_min;
	/* Newest protocol version that it speaks. (1..65535) */
	int64_t v_max;
	/* It knows all ops and fields up to this since. (1..65535) */
	int64_t revision;
	/* Another one after each start of the server. */
	struct lmi_wire_id boot;
	/* What this client may do. */
	enum lmi_wire_role role;
	/* Ops that this client may use, and words for optional parts of this server. */
	const struct lmd_str *features;
	uint32_t n_features;
	/* As op limits. */
	const struct lmi_wire_limit *limits;
	uint32_t n_limits;
};

/* Tells what a model file says. */
struct lmi_req_info {
	/* The model, by name or alias, or for admins by path. */
	struct lmd_str model;
	/* Also the keys of the file. */
	bool keys;
};

/* Tells what a model file says. */
struct lmi_rep_info {
	/* Its row of the registry. */
	struct lmi_wire_model model;
	/* Elements of all tensors. (>= 0) */
	int64_t elements;
	/* Size of all tensors. (bytes; >= 0) */
	int64_t weight_bytes;
	/* Context it was trained for; 0: not known. (tokens; >= 0; default 0) */
	int64_t n_ctx_train;
	/* Layers. (>= 0; default 0) */
	int64_t n_layer;
	/* Width of a row. (>= 0; default 0) */
	int64_t n_embd;
	/* Size of the vocabulary. (tokens; >= 0; default 0) */
	int64_t n_vocab;
	/* Its own chat template. */
	bool has_chat_template;
	struct lmd_str chat_template;
	/* Tensors by type. */
	const struct lmi_wire_tensor_type *types;
	uint32_t n_types;
	/* Keys of the file, when asked for. */
	const struct lmi_wire_meta *meta;
	uint32_t n_meta;
	/* Its place in memory, when it has one. */
	bool has_resident;
	struct lmi_wire_resident resident;
};

/* Makes a key of which the client alone knows the secret; on the unix socket only. */
struct lmi_req_key_add {
	/* What the key is called; no other one has that label. */
	struct lmd_str label;
	/* SHA-256 of the secret in 64 lower-case hexadecimal digits; the secret is at random
	 * and has at least 128 bits. */
	struct lmd_str digest;
	/* What its clients may do. (default user) */
	enum lmi_wire_role role;
	/* It is good until then, counted from 1970-01-01 UTC; 0: until it is removed. (ms;
	 * 0..9000000000000; default 0) */
	int64_t expires_ms;
};

/* Makes a key of which the client alone knows the secret; on the unix socket only. */
struct lmi_rep_key_add {
	char none; /* no fields */
};

/* Removes a key: its clients are strangers from then on, and their streams end unless they have
 * a lease of their own; on the unix socket only. */
struct lmi_req_key_rm {
	/* What the key is called. */
	struct lmd_str label;
};

/* Removes a key: its clients are strangers from then on, and their streams end unless they have
 * a lease of their own; on the unix socket only. */
struct lmi_rep_key_rm {
	/* There was one. */
	bool found;
};

/* Lists the keys, the oldest first; on the unix socket only. */
struct lmi_req_keys {
	char none; /* no fields */
};

/* Lists the keys, the oldest first; on the unix socket only. */
struct lmi_rep_keys {
	/* One row each. */
	const struct lmi_wire_key *keys;
	uint32_t n_keys;
};

/* Lists the bounds of this server. */
struct lmi_req_limits {
	char none; /* no fields */
};

/* Lists the bounds of this server. */
struct lmi_rep_limits {
	/* One row each. */
	const struct lmi_wire_limit *limits;
	uint32_t n_limits;
};

/* Brings a model into memory; a job, whose stream tells the progress and ends when the model is
 * ready. */
struct lmi_req_load {
	/* The model, by name or alias, or for admins by path. */
	struct lmd_str model;
	/* Context of one session; 0: the model's, or what memory holds. (tokens; 0..1073741824;
	 * default 0) */
	int64_t n_ctx;
	/* Sessions at a time; 0: the server's choice. (0..4096; default 0) */
	int64_t n_seq;
	/* Tokens of one step; 0: the server's choice. (tokens; 0..65536; default 0) */
	int64_t n_batch;
	/* The backend; auto: the best there is. (default auto) */
	struct lmd_str backend;
	/* Number of the backend's device. (0..65535; default 0) */
	int64_t device;
	/* Threads of a CPU backend; 0: the server's choice. (0..4096; default 0) */
	int64_t threads;
	/* Type of the cache, as f16; auto: what the device likes. (default auto) */
	struct lmd_str kv_type;
	/* Numbers between layers. (default auto) */
	enum lmi_wire_activations activations;
	/* Memory that it may take; 0: what the server has left. (bytes; >= 0; default 0) */
	int64_t memory_limit;
	/* Unload it after being idle so long; -1: never. (ms; -1..86400000; default 300000) */
	int64_t keep_alive_ms;
};

/* Brings a model into memory; a job, whose stream tells the progress and ends when the model is
 * ready. */
struct lmi_rep_load {
	/* The job's stream. */
	struct lmi_wire_id id;
};

/* Lists the registry. */
struct lmi_req_models {
	/* Only this one, by name or alias. */
	bool has_model;
	struct lmd_str model;
	/* Only names behind this one, for the next page. */
	struct lmd_str after;
	/* Rows at most. (1..4096; default 4096) */
	int64_t max;
};

/* Lists the registry. */
struct lmi_rep_models {
	/* One row each, by name. */
	const struct lmi_wire_model *models;
	uint32_t n_models;
	/* There are further rows. */
	bool more;
};

/* Fetches the items of a stream behind a cursor; asking again gives the same items. */
struct lmi_req_next {
	/* The stream. */
	struct lmi_wire_id id;
	/* Number of the last item that the client has; what lies before is forgotten. (>= 0;
	 * default 0) */
	int64_t after;
	/* Wait so long for an item; without it the server's default. (ms; 0..600000) */
	bool has_wait_ms;
	int64_t wait_ms;
	/* Gather items so long since the first unseen one, except at the start and the end of
	 * the stream; 0: each alone; without it the server's default. (ms; 0..10000) */
	bool has_hold_ms;
	int64_t hold_ms;
	/* Items at most. (1..4096; default 256) */
	int64_t max;
};

/* Fetches the items of a stream behind a cursor; asking again gives the same items. */
struct lmi_rep_next {
	/* The stream. */
	struct lmi_wire_id id;
	/* What lies behind the cursor, in order; none when the time is over. */
	const struct lmi_wire_item *items;
	uint32_t n_items;
	/* The next cursor: number of the last item here, or after. (>= 0) */
	int64_t last;
	/* Nothing comes behind it. */
	bool end;
};

/* Asks whether the server is there. */
struct lmi_req_ping {
	char none; /* no fields */
};

/* Asks whether the server is there. */
struct lmi_rep_ping {
	/* State of the server. */
	enum lmi_wire_server_state state;
	/* Time since its start. (ms; >= 0) */
	int64_t uptime_ms;
};

/* Lists the plugins that were found. */
struct lmi_req_plugins {
	/* Also what each offers, one by one. */
	bool factories;
};

/* Lists the plugins that were found. */
struct lmi_rep_plugins {
	/* One row each. */
	const struct lmi_wire_plugin *plugins;
	uint32_t n_plugins;
};

/* Looks at the plugin folders again; what is loaded after it uses what is there now. */
struct lmi_req_plugins_reload {
	char none; /* no fields */
};

/* Looks at the plugin folders again; what is loaded after it uses what is there now. */
struct lmi_rep_plugins_reload {
	/* Files that are new or were replaced. */
	const struct lmd_str *added;
	uint32_t n_added;
	/* Files that are gone or were replaced. */
	const struct lmd_str *removed;
	uint32_t n_removed;
	/* Files that are there and not usable, with the reason. */
	const struct lmi_wire_plugin *refused;
	uint32_t n_refused;
};

/* Lists the models in memory. */
struct lmi_req_ps {
	char none; /* no fields */
};

/* Lists the models in memory. */
struct lmi_rep_ps {
	/* One row each. */
	const struct lmi_wire_resident *models;
	uint32_t n_models;
};

/* Loads a model anew, with plugins as they are now; running streams end with the old one; a
 * job. */
struct lmi_req_reload {
	/* The model, by name or alias, or for admins by path. */
	struct lmd_str model;
};

/* Loads a model anew, with plugins as they are now; running streams end with the old one; a
 * job. */
struct lmi_rep_reload {
	/* The job's stream. */
	struct lmi_wire_id id;
};

/* Takes a model or an alias out of the registry; a model in memory must be unloaded first. */
struct lmi_req_rm {
	/* The model or the alias. */
	struct lmd_str name;
};

/* Takes a model or an alias out of the registry; a model in memory must be unloaded first. */
struct lmi_rep_rm {
	/* It was an alias. */
	bool alias;
	/* What was deleted from the server's own store. (bytes; >= 0; default 0) */
	int64_t bytes;
};

/* Drains, then ends the server. */
struct lmi_req_shutdown {
	/* Streams that run longer are ended; without it the configured time. (ms; 0..3600000) */
	bool has_drain_ms;
	int64_t drain_ms;
};

/* Drains, then ends the server. */
struct lmi_rep_shutdown {
	/* Generations that run. (>= 0) */
	int64_t running;
};

/* Lists the numbers of the metrics page. */
struct lmi_req_stats {
	/* Only those of this model. */
	bool has_model;
	struct lmd_str model;
};

/* Lists the numbers of the metrics page. */
struct lmi_rep_stats {
	/* One row each. */
	const struct lmi_wire_metric *metrics;
	uint32_t n_metrics;
};

/* Tells the state of the server in a few numbers. */
struct lmi_req_status {
	char none; /* no fields */
};

/* Tells the state of the server in a few numbers. */
struct lmi_rep_status {
	/* State of the server. */
	enum lmi_wire_server_state state;
	/* Version of the server's program. */
	struct lmd_str version;
	/* Its process. (>= 0) */
	int64_t pid;
	/* Time since its start. (ms; >= 0) */
	int64_t uptime_ms;
	/* Models of the registry. (>= 0) */
	int64_t models;
	/* Models in memory. (>= 0) */
	int64_t resident;
	/* Generations that run. (>= 0) */
	int64_t running;
	/* Generations that wait. (>= 0) */
	int64_t waiting;
	/* Streams of all clients, ended ones included. (>= 0) */
	int64_t streams;
	/* Connections. (>= 0) */
	int64_t connections;
	/* Memory that the models in memory take. (bytes; >= 0) */
	int64_t memory_bytes;
	/* Memory that they may take. (bytes; >= 0) */
	int64_t memory_limit;
};

/* Lists the client's own streams. */
struct lmi_req_streams {
	char none; /* no fields */
};

/* Lists the client's own streams. */
struct lmi_rep_streams {
	/* One row each. */
	const struct lmi_wire_stream *streams;
	uint32_t n_streams;
};

/* Turns text into tokens. */
struct lmi_req_tokenize {
	/* The model, by name or alias, or for admins by path. */
	struct lmd_str model;
	/* The text; any bytes. */
	struct lmd_str text;
	/* Add the begin and end tokens that the model wants. (default true) */
	bool add_special;
	/* Text of control tokens becomes those tokens. */
	bool parse_special;
	/* Also the bytes of each token. */
	bool pieces;
};

/* Turns text into tokens. */
struct lmi_rep_tokenize {
	/* The tokens. */
	const lmd_token *tokens;
	uint32_t n_tokens;
	/* Bytes of each token, when asked for. */
	const struct lmd_str *pieces;
	uint32_t n_pieces;
};

/* Takes a model out of memory when its streams have ended; a job. */
struct lmi_req_unload {
	/* The model, by name or alias, or for admins by path. */
	struct lmd_str model;
	/* Cancel its streams instead of waiting for them. */
	bool force;
};

/* Takes a model out of memory when its streams have ended; a job. */
struct lmi_rep_unload {
	/* The job's stream. */
	struct lmi_wire_id id;
};

union lmi_reqs {
	struct lmi_req_add add;
	struct lmi_req_alias alias;
	struct lmi_req_cancel cancel;
	struct lmi_req_config_reload config_reload;
	struct lmi_req_detokenize detokenize;
	struct lmi_req_drain drain;
	struct lmi_req_generate generate;
	struct lmi_req_hello hello;
	struct lmi_req_info info;
	struct lmi_req_key_add key_add;
	struct lmi_req_key_rm key_rm;
	struct lmi_req_keys keys;
	struct lmi_req_limits limits;
	struct lmi_req_load load;
	struct lmi_req_models models;
	struct lmi_req_next next;
	struct lmi_req_ping ping;
	struct lmi_req_plugins plugins;
	struct lmi_req_plugins_reload plugins_reload;
	struct lmi_req_ps ps;
	struct lmi_req_reload reload;
	struct lmi_req_rm rm;
	struct lmi_req_shutdown shutdown;
	struct lmi_req_stats stats;
	struct lmi_req_status status;
	struct lmi_req_streams streams;
	struct lmi_req_tokenize tokenize;
	struct lmi_req_unload unload;
};

union lmi_reps {
	struct lmi_rep_add add;
	struct lmi_rep_alias alias;
	struct lmi_rep_cancel cancel;
	struct lmi_rep_config_reload config_reload;
	struct lmi_rep_detokenize detokenize;
	struct lmi_rep_drain drain;
	struct lmi_rep_generate generate;
	struct lmi_rep_hello hello;
	struct lmi_rep_info info;
	struct lmi_rep_key_add key_add;
	struct lmi_rep_key_rm key_rm;
	struct lmi_rep_keys keys;
	struct lmi_rep_limits limits;
	struct lmi_rep_load load;
	struct lmi_rep_models models;
	struct lmi_rep_next next;
	struct lmi_rep_ping ping;
	struct lmi_rep_plugins plugins;
	struct lmi_rep_plugins_reload plugins_reload;
	struct lmi_rep_ps ps;
	struct lmi_rep_reload reload;
	struct lmi_rep_rm rm;
	struct lmi_rep_shutdown shutdown;
	struct lmi_rep_stats stats;
	struct lmi_rep_status status;
	struct lmi_rep_streams streams;
	struct lmi_rep_tokenize tokenize;
	struct lmi_rep_unload unload;
};

#endif /* LLAMAD_PROTO_GEN_TYPES_GEN_H */
