/* SPDX-License-Identifier: MIT
 *
 * output.h - the items of a stream, kept until its reader has received them.
 *
 * Items are numbered from 1 without gaps.  The final item comes last and needs no memory, so that
 * the end can always be reported.  A reader has a cursor, the number of the last item it has.
 * Reading again with the same cursor returns the same items; items before the cursor are dropped.
 *
 * Pure: no clock, no thread. */
#ifndef LLAMAD_SERVICE_OUTPUT_H
#define LLAMAD_SERVICE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

struct lmi_wire_setting; /* proto */

enum lmi_svc_item_kind {
	LMI_SVC_ITEM_TOKEN,     /* a token, with the text available since the previous one */
	LMI_SVC_ITEM_PROMPT_TOKEN, /* a token of the prompt, with its text */
	LMI_SVC_ITEM_TEXT,      /* more text */
	LMI_SVC_ITEM_REASONING, /* more of the reasoning */
	LMI_SVC_ITEM_CALL,      /* a tool call: text is n_name bytes of its name, then its id */
	LMI_SVC_ITEM_ARGUMENTS, /* text is more of the call's arguments */
	LMI_SVC_ITEM_CALL_END,  /* the end of a tool call; complete */
	LMI_SVC_ITEM_PROGRESS,  /* progress of a job */
	LMI_SVC_ITEM_END,       /* the final item: struct lmi_svc_end */
};

struct lmi_svc_item {
	enum lmi_svc_item_kind kind;
	lmd_token token;
	uint32_t n_text;
	uint32_t call, n_name; /* CALL, ARGUMENTS, CALL_END: number of the call */
	bool complete;
	/* TOKEN, PROMPT_TOKEN: n_logprobs entries of logprobs.h, which follow the text */
	uint32_t n_logprobs, logprobs_bytes;
	uint32_t phase; /* PROGRESS: enum of the caller */
	uint64_t done, total;
	uint64_t text_at; /* offset in all text of the stream */
	uint64_t at_ns;   /* when it was added */
};

enum lmi_svc_end_kind { LMI_SVC_END_DONE, LMI_SVC_END_ERROR, LMI_SVC_END_CANCELLED };

/* How a stream ended.  `why` is an enum of the caller. */
struct lmi_svc_end {
	enum lmi_svc_end_kind kind;
	uint32_t why; /* DONE: finish; CANCELLED: reason */
	uint32_t n_prompt, n_cached, n_out, n_forced, n_reasoning, n_drafted, n_accepted, n_shift;
	uint32_t broke_at, n_pinned; /* of the prompt */
	uint64_t prompt_ns, out_ns;
	struct lmd_error error; /* ERROR */
};

struct lmi_svc_output {
	struct lmi_svc_item *items; /* [cap], ring buffer: item number k is items[k % cap] */
	uint32_t cap;
	uint64_t first, last; /* numbers of the kept items, without the final one; none if last <
			       * first */
	uint64_t sent;        /* the highest number that a reader was sent */
	char *text;           /* [text_cap], n_text bytes from offset text_first on */
	size_t n_text, text_cap;
	uint64_t text_first;
	uint64_t max_bytes;
	bool ended;
	uint64_t end_ns;
	struct lmi_svc_end end;
	struct lmi_wire_setting *settings; /* [n_settings] for the final item, freed with the rest */
	uint32_t n_settings;
};

/* max_bytes: maximum size of the kept items and their text. */
void lmi_svc_output_init(struct lmi_svc_output *o, uint64_t max_bytes);
void lmi_svc_output_fini(struct lmi_svc_output *o);

/* Returns the size of the buffers. */
uint64_t lmi_svc_output_memory(const struct lmi_svc_output *o);

/* Adds an item with item->n_text bytes of text and item->logprobs_bytes of log probabilities;
 * item->text_at is ignored.  Returns LMD_BUSY if more than max_bytes would be unread, or LMD_NOMEM;
 * nothing is added then.  Must not be called after lmi_svc_output_end. */
enum lmd_status lmi_svc_output_add(struct lmi_svc_output *o, const struct lmi_svc_item *item,
				   const char *text, const void *logprobs);
enum lmd_status lmi_svc_output_text(struct lmi_svc_output *o, uint64_t now, const char *text,
				    uint32_t n);
/* Adds progress, or replaces the last item if that is progress which no reader was sent yet. */
enum lmd_status lmi_svc_output_progress(struct lmi_svc_output *o, uint64_t now, uint32_t phase,
					uint64_t done, uint64_t total);
/* Ends the stream.  Later calls are ignored. */
void lmi_svc_output_end(struct lmi_svc_output *o, uint64_t now, const struct lmi_svc_end *end);

/* Returns the number of the latest item, including the final one; 0: none yet. */
uint64_t lmi_svc_output_last(const struct lmi_svc_output *o);

/* Checks the cursor of a reader.  Returns LMD_INVALID if no item has that number yet, or if items
 * after it were dropped. */
enum lmd_status lmi_svc_output_check(const struct lmi_svc_output *o, uint64_t after,
				     struct lmd_error *err);
/* Drops the items up to `after`, a checked cursor. */
void lmi_svc_output_drop(struct lmi_svc_output *o, uint64_t after);

/* Returns when to answer a reader with that cursor: at once (0) at the beginning of the stream, if
 * max items are there, or at the end; otherwise hold_ns after its first unread item; UINT64_MAX if
 * it has no unread item. */
uint64_t lmi_svc_output_due(const struct lmi_svc_output *o, uint64_t after, uint64_t hold_ns,
			    uint32_t max);

/* Returns the number of items after `after`, at most max. */
uint32_t lmi_svc_output_count(const struct lmi_svc_output *o, uint64_t after, uint32_t max);
/* Returns an item and its text (NULL if it has none).  Both are valid until the next change. */
const struct lmi_svc_item *lmi_svc_output_item(const struct lmi_svc_output *o, uint64_t number,
					       const char **text);
/* Returns the log probabilities of such an item, with the same validity; not NULL. */
const char *lmi_svc_output_logprobs(const struct lmi_svc_output *o, const struct lmi_svc_item *item);
/* Records that a reader was sent the items up to `number`. */
void lmi_svc_output_set_sent(struct lmi_svc_output *o, uint64_t number);

#endif /* LLAMAD_SERVICE_OUTPUT_H */
