/* SPDX-License-Identifier: MIT
 *
 * durable.h - durable streams: generations that go on after the daemon was stopped, killed or
 * replaced.
 *
 * Each has a file in the folder journal_dir, whose records (journal.h) are its request, what was
 * decided before it ran, its tokens, and its end.  An event of the engine becomes a record first.
 * Records are written by the queue `journals`, all that have come since the last write at once. Tokens
 * wait for that as long as no reader needs them, at most hold_default.  They become items of the stream
 * after write(2) has returned: what a client has seen is in the file.
 * Nothing is synced to the disk, so that a crash of the machine may lose the latest tokens.
 *
 * At the next start the records become the items of a stream with the same id, by the same function
 * that makes them items of a running one.  Unless the last record is an end, the generation runs
 * again: the engine is given all tokens but the last, which it computes once more, as a check.
 *
 * All functions belong to the service's thread. */
#ifndef LLAMAD_SERVICE_DURABLE_H
#define LLAMAD_SERVICE_DURABLE_H

#include "core/base/jobs.h"
#include "core/engine/engine.h"
#include "core/engine/sample.h"
#include "core/text/tokenizer.h"
#include "service/journal.h"
#include "service/stream.h"
#include "service/stream_writer.h"
#include "store/store.h"

/* Time after which a client asks a daemon again that is being stopped. */
#define LMI_SVC_DURABLE_RETRY_MS 1000u
#define LMI_SVC_DURABLE_SUSPENDED                                                                  \
	"llamad is being stopped; the stream goes on at its next start: ask again with the same "  \
	"cursor"

struct lmi_answer_format;
struct lmi_svc_answer_stream;
struct lmi_svc_generation;
struct lmi_svc_model_record;

struct lmi_svc_durable {
	struct lmi_svc_stream_writer writer; /* of the stream once its generation has ended */
	struct lmi_service *svc;
	struct lmi_svc_durable *prev, *next;
	struct lmi_svc_stream *stream;         /* NULL: it was dropped */
	struct lmi_svc_generation *generation; /* NULL: it has ended */
	struct lmi_svc_owner owner;
	bool has_share; /* the owner is no administrator */
	/* of an earlier run, for a subscriber (durable_push.h) */
	struct lmi_svc_principal principal;
	uint64_t seed;
	char *note; /* [n_note]; NULL: none */
	size_t n_note;
	char digest[LMI_STORE_DIGEST_HEX]; /* of the model */
	/* what the generation needs to go on; from the record START on */
	bool started;
	struct lmi_sampler_scalars sampling;
	char *adapter;			  /* "": none */
	struct lmi_text_token_buf prompt; /* before token healing */
	const struct lmi_answer_format *format; /* NULL: the answer is not parsed */
	bool thinks; /* the answer starts inside the reasoning */
	struct lmi_svc_answer_stream *answer;   /* with format */
	struct lmi_text_token_buf taken;  /* tokens of the answer that are items */
	uint32_t n_text;                  /* TEXT records after the last of them */
	/* what the generation computes once more */
	bool again;
	lmd_token again_token;
	uint32_t again_text;
	/* how it goes */
	bool ending;    /* END was added */
	bool ended;     /* and is an item */
	bool was_read;  /* and was sent */
	bool full;      /* the stream has no room for more items */
	bool failed;    /* the file is of no use */
	bool suspended; /* the daemon is being stopped */
	/* the file */
	char *path;
	int fd;         /* -1: not open; used by the job while it runs */
	uint64_t at;    /* offset of the first byte of `records` */
	uint64_t submitted_ns; /* when records were last submitted to be written */
	uint64_t bytes; /* of the file and `records` */
	struct lmi_wire_buf records; /* to be written */
	struct lmi_wire_buf scratch;
	/* the job: writes `writing` at the offset writing_at, or closes and removes the file */
	struct lmi_job job;
	bool job_runs, closes, removes;
	uint64_t writing_at;
	struct lmi_wire_buf writing;
	struct lmd_error err;
};

/* ---- durable.c: what becomes of a stream ---- */

/* Checks that one more may begin, and makes room for it.  Returns LMD_UNSUPPORTED if there are none, LMD_BUSY if there are
 * too many, LMD_INVALID if the request asks for what is not recorded. */
enum lmd_status lmi_svc_durable_admit(struct lmi_service *svc,
				      const struct lmi_svc_principal *principal,
				      const struct lmi_wire_req_generate *q, struct lmd_error *err);
/* Makes the stream of the generation durable.  Its request is answered when that was written. */
enum lmd_status lmi_svc_durable_begin(struct lmi_svc_generation *g,
				      const struct lmi_svc_model_record *record,
				      struct lmd_error *err);
/* Returns LMD_NOTFOUND if it was begun with another model. */
enum lmd_status lmi_svc_durable_check_model(const struct lmi_svc_durable *d,
					    const struct lmi_svc_model_record *record,
					    struct lmd_error *err);
/* Records what was decided, after the prompt was encoded. */
enum lmd_status lmi_svc_durable_start(struct lmi_svc_generation *g, struct lmd_error *err);
/* Records a token or text; on failure the generation is stopped. */
void lmi_svc_durable_event(struct lmi_svc_generation *g, uint64_t now,
			   const struct lmi_engine_event *ev);
/* The generation that writes to the stream ends.  Returns false if the stream should end now, true if
 * it does when that was written, or after the next start of the daemon. */
bool lmi_svc_durable_end(struct lmi_svc_durable *d, uint64_t now, const struct lmi_svc_end *end);
/* The end was sent to a reader: the stream need not be kept for long. */
void lmi_svc_durable_set_read(struct lmi_svc_durable *d);
/* The generation is freed. */
void lmi_svc_durable_leave(struct lmi_svc_generation *g);
/* The stream is dropped: its file is removed, unless the daemon is being stopped. */
void lmi_svc_durable_drop(struct lmi_svc_stream *s);

/* Submits what is to be written now. */
void lmi_svc_durables_tick(struct lmi_service *svc, uint64_t now);
/* Returns when something is to be written that may wait until then. */
uint64_t lmi_svc_durables_deadline(const struct lmi_service *svc);
/* Gives up the streams of API keys that no longer exist. */
void lmi_svc_durables_check_keys(struct lmi_service *svc, uint64_t now);

/* ---- durable_file.c ---- */

/* Returns NULL if out of memory; the stream has it from then on. */
struct lmi_svc_durable *lmi_svc_durable_create(struct lmi_svc_stream *s,
					       struct lmi_service *svc,
					       const struct lmi_svc_principal *principal);
/* Adds a record, which the next tick writes. */
enum lmd_status lmi_svc_durable_put(struct lmi_svc_durable *d,
				    const struct lmi_svc_journal_record *r, struct lmd_error *err);
/* Writes, or closes, unless the job runs already. */
void lmi_svc_durable_submit(struct lmi_svc_durable *d);
void lmi_svc_durable_destroy(struct lmi_svc_durable *d);

/* ---- durable_items.c ---- */

/* Makes the records of a part of the file items.  Returns the offset after the last whole record. */
size_t lmi_svc_durable_deliver(struct lmi_svc_durable *d, uint64_t now, const char *part, size_t n,
			       uint64_t base);
/* The file cannot be written any more: ends the stream with the error. */
void lmi_svc_durable_fail(struct lmi_svc_durable *d, uint64_t now, const struct lmd_error *err);
/* Takes over what the record says. */
enum lmd_status lmi_svc_durable_take_start(struct lmi_svc_durable *d,
					   const struct lmi_svc_journal_start *r,
					   struct lmd_error *err);

/* ---- durable_recover.c ---- */

/* Continues the streams of an earlier run.  Files that are damaged from the start, too old, of
 * removed keys, or more than LMI_SVC_DURABLE_MAX are removed; those that cannot be read now stay for
 * the next start.  The log says why. */
void lmi_svc_durables_recover(struct lmi_service *svc, uint64_t now);

#endif /* LLAMAD_SERVICE_DURABLE_H */
