/* SPDX-License-Identifier: MIT
 *
 * client.h - the C client of llamad.
 *
 * A client is a connection to a server, or the engine in this process: the library llamad has both,
 * the library llamad-client connects to servers only.  A request has one reply; an operation that
 * takes time (a generation, a load) is a stream of numbered items, which lmd_stream_next fetches.
 * No item is lost: if the connection breaks, the same call reconnects and continues after the last
 * item.
 *
 *     struct lmd_client *c;
 *     struct lmd_stream *s;
 *     struct lmd_item it;
 *     struct lmd_generate g = {.struct_size = sizeof(g), .model = "smollm2", .prompt = "Once"};
 *
 *     st = lmd_client_open(&c, NULL, &err);
 *     st = lmd_client_generate(c, &g, &s, &err);
 *     while ((st = lmd_stream_next(s, &it, -1, &err)) == LMD_OK && it.kind != LMD_ITEM_DONE)
 *             fwrite(it.text, 1, it.n_text, stdout);
 *     lmd_stream_close(s);
 *     lmd_client_close(c);
 *
 * Threads: many threads may share a client.  A stream may be used by one thread at a time, except
 * that lmd_stream_cancel may be called from any thread.  Errors are those of status.h: LMD_IO means
 * that the server cannot be reached, LMD_BUSY that the request may be retried later.  Error
 * messages of the server are passed on unchanged.
 *
 * A program compiled with an older header works with a newer library: structs begin with their size
 * and grow only at their end. */
#ifndef LLAMAD_CLIENT_H
#define LLAMAD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/status.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

struct lmd_client;
struct lmd_stream;

/* ---- connection ---- */

/* The engine in this process.  Zero and NULL mean the default. */
struct lmd_engine_opts {
	uint32_t struct_size;
	uint32_t n_thread;    /* compute threads; 0 = one per processor that they may use */
	uint32_t n_ctx;	      /* context length of a generation in tokens; 0 = the model's, or what
			       * fits in memory */
	uint32_t n_seq;	      /* generations of a model at a time; 0 = 1.  If it is above 1, the
			       * next generation reuses the common prefix of the latest one */
	const char *backend;  /* name; NULL = the best available */
	uint32_t device;      /* number of the backend's device */
	uint32_t log_level;   /* 0 = errors, 1 = warnings, 2 = information; to standard error */
	const char *kv_type;  /* type of the KV cache, such as "q8_0"; NULL = the backend's choice */
	uint64_t memory_limit; /* bytes of a model; 0 = the machine's available memory */
	const char *const *plugin_dirs; /* [n_plugin_dirs] searched before the default folders */
	uint32_t n_plugin_dirs;
	const char *kv_type_k, *kv_type_v; /* types of keys and of values; NULL = kv_type */
	const char *config; /* file of llamad.conf(5) whose sections [model PATH] apply to requests for
			     * the model of that path; NULL = none */
	uint32_t n_thread_batch; /* compute threads for steps of more than 16 tokens, such as prompts;
				  * 0 = n_thread */
};

/* Zero and NULL mean the default. */
struct lmd_client_opts {
	uint32_t struct_size;
	uint32_t connect_ms; /* maximum time to connect in ms; 0 = 5000 */
	uint32_t call_ms;    /* maximum time to wait for a reply in ms; 0 = 30000 */
	const char *url;     /* "ipc:///run/llamad/llamad.sock", "tcp://host:port", "tls+tcp://...",
			      * "embedded:"; NULL = lmd_client_default_url */
	const char *key;     /* for tcp and tls+tcp: secret of an API key */
	const char *ca_file; /* for tls+tcp: trusted certificates; NULL = the system's */
	const char *name;    /* name of the program, for the server's log */
	const struct lmd_engine_opts *engine; /* for "embedded:"; NULL = the defaults */
};

/* Connects and authenticates; later reconnects do the same.  opts may be NULL for the defaults.
 * The url "embedded:" opens the engine in this process: models are named by the paths of their
 * files, a generation has no deadline and its stream no lease, and models stay in memory until they
 * are unloaded or the client is closed.  A process may open any number of them.  What a request
 * needs is done while one of the client's threads waits for a reply or an item.
 * LMD_UNSUPPORTED: the program is linked with the library llamad-client, which has no engine.
 * LMD_IO: the server cannot be reached, or its certificate is not trusted; LMD_DENIED: the key is
 * missing, wrong or has expired; LMD_BUSY: too many wrong keys came from this address. */
LMD_EXPORT enum lmd_status lmd_client_open(struct lmd_client **out,
					   const struct lmd_client_opts *opts,
					   struct lmd_error *err);
/* Closes the connection.  The client's streams must be closed before.  NULL allowed. */
LMD_EXPORT void lmd_client_close(struct lmd_client *c);

/* Writes the default address: /run/llamad/llamad.sock if it exists, otherwise
 * $XDG_RUNTIME_DIR/llamad/llamad.sock or, if that variable is not set, /run/llamad/llamad.sock for
 * root and /tmp/llamad-UID/llamad.sock for other users.
 * Returns LMD_INVALID if the address does not fit into size bytes, or if /tmp/llamad-UID is not a
 * folder of mode 0700 that belongs to this user. */
LMD_EXPORT enum lmd_status lmd_client_default_url(char *out, size_t size, struct lmd_error *err);

struct lmd_server {
	uint32_t struct_size;
	bool admin;		/* the client may manage models, plugins and the server */
	const char *version;	/* strings are valid as long as the client */
	const char *url;
};
LMD_EXPORT void lmd_client_server(const struct lmd_client *c, struct lmd_server *out);

/* ---- any request ---- */

/* Sends op with the members of a JSON object (NULL: none) and returns the reply as a JSON object;
 * docs/protocol.md lists ops and members.  Free *reply with lmd_client_free.  A request that is not
 * idempotent gets a request id if it has none, so that it can be repeated safely after a connection
 * broke. */
LMD_EXPORT enum lmd_status lmd_client_call(struct lmd_client *c, const char *op,
					   const char *members, char **reply,
					   struct lmd_error *err);
LMD_EXPORT void lmd_client_free(void *p);

/* ---- generation ---- */

#define LMD_GEN_PARSE_SPECIAL 1u  /* convert text that spells a control token in the prompt */
#define LMD_GEN_NO_SPECIAL    2u  /* do not add begin tokens (BOS) to the prompt */
#define LMD_GEN_IGNORE_EOG    4u  /* continue after end-of-generation tokens */
#define LMD_GEN_SHOW_SPECIAL  8u  /* include the text of control tokens in the answer */
#define LMD_GEN_GREEDY	      16u /* greedy decoding (temp 0) */
#define LMD_GEN_SEED	      32u /* use seed */
#define LMD_GEN_RAW	      64u /* plain text prompt even if the model has a chat template */
#define LMD_GEN_PARSE	      128u /* items distinguish text, reasoning and tool calls */
/* the stream goes on after the server was stopped, killed or replaced; lmd_stream_next waits up to a
 * minute for it to be back */
#define LMD_GEN_DURABLE	      256u

/* Zero and NULL mean the server's default. */
struct lmd_generate {
	uint32_t struct_size;
	uint32_t flags;		 /* LMD_GEN_* */
	const char *model;	 /* name or alias */
	const char *prompt;	 /* any bytes; a user's message if the model has a chat template,
				  * unless LMD_GEN_RAW; otherwise the text to continue */
	size_t n_prompt;	 /* length in bytes; 0 = up to the terminating zero */
	const lmd_token *tokens; /* [n_tokens], in place of prompt */
	size_t n_tokens;
	int64_t n_predict;	 /* maximum number of tokens; < 0: until the context is full */
	uint64_t seed;		 /* random seed, with LMD_GEN_SEED */
	double temp;
	int32_t top_k;
	double top_p, min_p;
	double repeat_penalty, frequency_penalty, presence_penalty;
	const char *const *stops; /* [n_stops] stop sequences */
	size_t n_stops;
	uint32_t hold_ms;	  /* output batching delay in ms; UINT32_MAX = none */
	uint32_t lease_ms;	  /* the stream is cancelled if it is not read for this long */
	const char *more;	  /* more members of op generate as a JSON object; they override
				   * the above.  If it has `messages`, prompt must be NULL */
};

LMD_EXPORT enum lmd_status lmd_client_generate(struct lmd_client *c, const struct lmd_generate *g,
					       struct lmd_stream **out, struct lmd_error *err);

/* ---- streams ---- */

enum lmd_item_kind {
	LMD_ITEM_NONE = 0,     /* no item arrived in time; the stream continues */
	LMD_ITEM_TOKEN = 1,    /* token, and text that has become available (may be empty) */
	LMD_ITEM_TEXT = 2,     /* text without a token */
	LMD_ITEM_PROGRESS = 3, /* phase, done, total */
	LMD_ITEM_DONE = 4,     /* finish and the counts; the last item */
	/* Only with LMD_GEN_PARSE; TOKEN and TEXT then carry the content, without markers. */
	LMD_ITEM_REASONING = 5, /* text: more of the model's reasoning */
	LMD_ITEM_CALL = 6,	/* a tool call: call, name, id; its arguments follow */
	LMD_ITEM_ARGUMENTS = 7, /* call; text: more of the arguments, together a JSON object */
	LMD_ITEM_CALL_END = 8,	/* call, complete */
	LMD_ITEM_PROMPT_TOKEN = 9 /* with prompt_logprobs: token of the prompt, and its text */
};
#define LMD_ITEM_THOUGHT LMD_ITEM_REASONING /* deprecated name */

/* A token and the natural logarithm of its probability, at least -9999. */
struct lmd_token_logprob {
	lmd_token token;
	double logprob;
	const char *text; /* [n_text] its bytes, valid as long as the item's text */
	size_t n_text;
};

struct lmd_item {
	uint64_t number; /* from 1 without gaps, also the cursor after this item; NONE: number of
			  * the last item */
	uint32_t kind;	 /* enum lmd_item_kind */
	union {
		lmd_token token;
		uint32_t n_accepted; /* DONE: the part of n_drafted that was right */
	};
	/* [n_text] bytes, valid until the next call on the stream; DONE: why the session that the
	 * request named was not saved, if it was not */
	const char *text;
	size_t n_text;
	union {
		const char *phase; /* "load", ... */
		const char *name;  /* CALL: name of the tool; valid as long as text */
		/* TOKEN and PROMPT_TOKEN, with logprobs or prompt_logprobs in the request: [n_logprobs]
		 * the token itself, then the most likely tokens in descending order.  Valid as long
		 * as text. */
		const struct lmd_token_logprob *logprobs;
		uint32_t n_drafted; /* DONE: tokens that were guessed and verified (speculative
				     * decoding) */
	};
	union {
		uint64_t done;
		uint64_t call; /* number of the tool call within the answer, from 0 */
		uint64_t n_logprobs; /* TOKEN, PROMPT_TOKEN; 0: none */
		uint64_t n_cached; /* DONE: the part of n_prompt that was in the prefix cache */
	};
	union {
		uint64_t total;	   /* 0 = unknown */
		uint64_t complete; /* CALL_END: 1 if the arguments are complete and valid JSON,
				    * otherwise 0 */
		uint64_t n_forced; /* DONE: the part of n_out that needed no step because the
				    * grammar allowed no alternative (jump-forward decoding) */
	};
	union {
		const char *finish; /* "eog", "stop", "length", "context", "done" */
		const char *id;	    /* CALL: id, which the tool's message repeats; valid as long
				     * as text */
	};
	uint64_t n_prompt, n_out, prompt_ns, out_ns;
};

/* Starts a job such as load or add: like lmd_client_call for ops whose reply is a stream. */
LMD_EXPORT enum lmd_status lmd_client_start(struct lmd_client *c, const char *op,
					    const char *members, struct lmd_stream **out,
					    struct lmd_error *err);
/* Resumes a stream, which another process of the same user may have started.  id: from
 * lmd_stream_id; after: number of the last item received (0: begin with the first item kept). */
LMD_EXPORT enum lmd_status lmd_client_resume(struct lmd_client *c, const char *id, uint64_t after,
					     struct lmd_stream **out, struct lmd_error *err);

/* Returns the next item, or one of the kind LMD_ITEM_NONE if none arrived within timeout_ms (-1 =
 * wait without limit); the stream then continues, and the function may be called again.
 * LMD_CANCELLED: the stream was cancelled.  Any other status: the stream failed, see err.
 * LMD_TIMEOUT is an error as well: a limit of the server was reached, or the server does not
 * respond. */
LMD_EXPORT enum lmd_status lmd_stream_next(struct lmd_stream *s, struct lmd_item *out,
					   int timeout_ms, struct lmd_error *err);
/* Cancels the stream after the current step.  Remaining items can still be fetched.  Any thread. */
LMD_EXPORT enum lmd_status lmd_stream_cancel(struct lmd_stream *s, struct lmd_error *err);
/* Returns 32 hexadecimal digits, valid as long as the stream. */
LMD_EXPORT const char *lmd_stream_id(const struct lmd_stream *s);
/* Frees the stream and cancels it unless it has ended.  NULL allowed. */
LMD_EXPORT void lmd_stream_close(struct lmd_stream *s);
/* Frees the stream without cancelling it: it can be resumed until its lease expires. */
LMD_EXPORT void lmd_stream_leave(struct lmd_stream *s);

LMD_END_DECLS

#endif /* LLAMAD_CLIENT_H */
