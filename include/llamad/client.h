/* SPDX-License-Identifier: MIT
 *
 * client.h - talk to a running llamad from C (library llamad-client).
 *
 * A client is a connection.  Requests are answered once; what takes long (an answer, a load)
 * is a stream of numbered items, fetched with lmd_stream_next and never lost: after a broken
 * connection the same call connects again and goes on behind the last item.
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
 * Threads: a client may be used by many threads at a time; a stream by one, but for
 * lmd_stream_cancel.  Errors are those of status.h; LMD_IO: nobody answers there; LMD_BUSY: try
 * again later.  Sentences of the server come through as they are.
 *
 * A program that was compiled with an older header works with a newer library: structs begin with
 * their size and grow at their end. */
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

/* Zero and NULL stand for the defaults. */
struct lmd_client_opts {
	uint32_t struct_size;
	uint32_t connect_ms; /* wait so long for a connection; 0 = 5000 */
	uint32_t call_ms;    /* wait so long for the answer of a request; 0 = 30000 */
	const char *url;     /* "ipc:///run/llamad/llamad.sock", "tcp://host:port", "tls+tcp://...";
			      * NULL = lmd_client_default_url */
	const char *key;     /* for tcp and tls+tcp: secret of a key that the server knows */
	const char *ca_file; /* tls+tcp: certificates that are trusted; NULL = the system's */
	const char *name;    /* of the program, for the server's log */
};

/* opts NULL: all defaults.  Connects and says hello, with the key; so does each connection that
 * is made again later.  LMD_IO: nobody listens there, or its certificate is not trusted;
 * LMD_DENIED: the key is missing, wrong or has expired; LMD_BUSY: too many wrong keys came from
 * this address. */
LMD_EXPORT enum lmd_status lmd_client_open(struct lmd_client **out,
					   const struct lmd_client_opts *opts,
					   struct lmd_error *err);
/* Streams of it must be closed before.  NULL allowed. */
LMD_EXPORT void lmd_client_close(struct lmd_client *c);

/* Writes the URL of the local server's socket: /run/llamad/llamad.sock if it is there, else
 * $XDG_RUNTIME_DIR/llamad/llamad.sock, else (where that variable is not set) /tmp/llamad-UID/llamad.sock,
 * for root /run/llamad/llamad.sock.
 * LMD_INVALID: it does not fit into size bytes, or /tmp/llamad-UID is not a folder of mode 0700 that
 * belongs to this user. */
LMD_EXPORT enum lmd_status lmd_client_default_url(char *out, size_t size, struct lmd_error *err);

struct lmd_server {
	uint32_t struct_size;
	bool admin;		/* may change models, plugins and the server */
	const char *version;	/* strings live as long as the client */
	const char *url;
};
LMD_EXPORT void lmd_client_server(const struct lmd_client *c, struct lmd_server *out);

/* ---- any request ---- */

/* Sends op with the members of a JSON object (NULL: none) and gives the members of the answer as
 * a JSON object; docs/protocol.md lists ops and members.  *reply is freed with
 * lmd_client_free.  Requests that change something get a request id if they carry none, so
 * that a repetition after a broken connection changes nothing twice. */
LMD_EXPORT enum lmd_status lmd_client_call(struct lmd_client *c, const char *op,
					   const char *members, char **reply,
					   struct lmd_error *err);
LMD_EXPORT void lmd_client_free(void *p);

/* ---- generation ---- */

#define LMD_GEN_PARSE_SPECIAL 1u /* text of control tokens in the prompt becomes those tokens */
#define LMD_GEN_NO_SPECIAL    2u /* add no begin tokens to the prompt */
#define LMD_GEN_IGNORE_EOG    4u /* go on after tokens that end an answer */
#define LMD_GEN_SHOW_SPECIAL  8u /* control tokens are part of the text */
#define LMD_GEN_GREEDY	      16u /* the likeliest token always: temp 0 */
#define LMD_GEN_SEED	      32u /* seed counts */
#define LMD_GEN_RAW	      64u /* the prompt is plain text, also for a model with a chat template */
#define LMD_GEN_PARSE	      128u /* items tell text, thoughts and calls of tools apart */

/* What is zero or NULL is the server's default. */
struct lmd_generate {
	uint32_t struct_size;
	uint32_t flags;		 /* LMD_GEN_* */
	const char *model;	 /* name or alias */
	const char *prompt;	 /* bytes; either this or tokens.  Said to a model with a chat
				  * template, continued by another one or with LMD_GEN_RAW */
	size_t n_prompt;	 /* 0 = up to the terminating zero */
	const lmd_token *tokens; /* [n_tokens] */
	size_t n_tokens;
	int64_t n_predict;	 /* tokens at most; < 0: until the context is full */
	uint64_t seed;		 /* with LMD_GEN_SEED */
	double temp;
	int32_t top_k;
	double top_p, min_p;
	double repeat_penalty, frequency_penalty, presence_penalty;
	const char *const *stops; /* [n_stops] */
	size_t n_stops;
	uint32_t hold_ms;	  /* gather items so long before they are sent; UINT32_MAX: not at
				   * all */
	uint32_t lease_ms;	  /* the server ends it when nobody fetches for so long */
	const char *more;	  /* further members of op generate as a JSON object; they win.
				   * `messages` there stands for the prompt, which is NULL then */
};

LMD_EXPORT enum lmd_status lmd_client_generate(struct lmd_client *c, const struct lmd_generate *g,
					       struct lmd_stream **out, struct lmd_error *err);

/* ---- streams ---- */

enum lmd_item_kind {
	LMD_ITEM_NONE = 0,     /* no item came in time; the stream goes on */
	LMD_ITEM_TOKEN = 1,    /* token, and the text that it makes visible (maybe none) */
	LMD_ITEM_TEXT = 2,     /* text alone */
	LMD_ITEM_PROGRESS = 3, /* phase, done, total */
	LMD_ITEM_DONE = 4,     /* finish and the counts; nothing comes after it */
	/* With LMD_GEN_PARSE; TOKEN and TEXT are then what is said, and markers are left out. */
	LMD_ITEM_THOUGHT = 5,   /* text: what the model thinks */
	LMD_ITEM_CALL = 6,      /* of a tool: call, name, id; its arguments follow */
	LMD_ITEM_ARGUMENTS = 7, /* call; text: more of the arguments, together a JSON object */
	LMD_ITEM_CALL_END = 8   /* call, complete */
};

struct lmd_item {
	uint64_t number; /* from 1 without gaps: the cursor behind this item; NONE: that of the last
			  * item */
	uint32_t kind;	 /* enum lmd_item_kind */
	lmd_token token;
	const char *text; /* [n_text] bytes, valid until the next call on the stream */
	size_t n_text;
	union {
		const char *phase; /* "load", ... */
		const char *name;  /* CALL: the tool; valid as text is */
	};
	union {
		uint64_t done;
		uint64_t call; /* number of the call in its answer, from 0 */
	};
	union {
		uint64_t total;	   /* 0: not known */
		uint64_t complete; /* CALL_END: 1, the arguments are whole and JSON; else 0 */
		uint64_t n_forced; /* DONE: of n_out, tokens without a step of their own, since the
				    * grammar left no choice */
	};
	union {
		const char *finish; /* "eog", "stop", "length", "context", "done" */
		const char *id;	    /* CALL: by which a tool's message names it; valid as text is */
	};
	uint64_t n_prompt, n_out, prompt_ns, out_ns;
};

/* A load, an add ... : op, members as in lmd_client_call; for ops whose answer is a stream. */
LMD_EXPORT enum lmd_status lmd_client_start(struct lmd_client *c, const char *op,
					    const char *members, struct lmd_stream **out,
					    struct lmd_error *err);
/* A stream that was started before, perhaps by another process of the same user: `id` as
 * lmd_stream_id gave it, `after` the number of the last item seen (0: from the first that is
 * kept). */
LMD_EXPORT enum lmd_status lmd_client_resume(struct lmd_client *c, const char *id, uint64_t after,
					     struct lmd_stream **out, struct lmd_error *err);

/* The next item, or one of the kind LMD_ITEM_NONE when none came within timeout_ms (-1 = wait for
 * ever): the stream goes on, and the caller may ask again.  LMD_CANCELLED: somebody cancelled the
 * stream.  Any other status: it failed, and err says why; LMD_TIMEOUT, too, is an error of the
 * server (a limit was reached) or says that the server does not answer. */
LMD_EXPORT enum lmd_status lmd_stream_next(struct lmd_stream *s, struct lmd_item *out,
					   int timeout_ms, struct lmd_error *err);
/* Ends the work after the step that runs now; any thread.  Items that were made can be fetched. */
LMD_EXPORT enum lmd_status lmd_stream_cancel(struct lmd_stream *s, struct lmd_error *err);
/* 32 hexadecimal digits; lives as long as the stream. */
LMD_EXPORT const char *lmd_stream_id(const struct lmd_stream *s);
/* Cancels what is not at its end, and frees.  NULL allowed. */
LMD_EXPORT void lmd_stream_close(struct lmd_stream *s);
/* Frees without cancelling: the stream can be resumed until its lease is over. */
LMD_EXPORT void lmd_stream_leave(struct lmd_stream *s);

LMD_END_DECLS

#endif /* LLAMAD_CLIENT_H */
