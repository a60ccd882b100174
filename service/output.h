/* SPDX-License-Identifier: MIT
 *
 * output.h - what a stream has to say, kept until its reader has it.
 *
 * Items are numbered from 1 without gaps; the final one comes last and needs no memory, so an
 * end can always be told.  A reader has a cursor, the number of the last item that it holds;
 * naming it again gives the same items, and what lies before it is forgotten.
 *
 * Pure: no clock, no thread. */
#ifndef LLAMAD_SERVICE_OUTPUT_H
#define LLAMAD_SERVICE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

enum lmi_item_kind {
	LMI_ITEM_TOKEN,     /* a token, and text that can be shown since the last one */
	LMI_ITEM_TEXT,      /* more text */
	LMI_ITEM_REASONING,   /* more of a thought */
	LMI_ITEM_CALL,      /* of a tool: text is n_name bytes of its name, and an id */
	LMI_ITEM_ARGUMENTS, /* text: more of the call's arguments */
	LMI_ITEM_CALL_END,  /* complete */
	LMI_ITEM_PROGRESS,  /* of a job */
	LMI_ITEM_END,       /* final: struct lmi_end */
};

struct lmi_item {
	enum lmi_item_kind kind;
	lmd_token token;
	uint32_t n_text;
	uint32_t call, n_name; /* CALL, ARGUMENTS, CALL_END: number of the call */
	bool complete;
	uint32_t phase; /* PROGRESS: the caller's word, done of total */
	uint64_t done, total;
	uint64_t text_at; /* offset in everything that was written */
	uint64_t at_ns;   /* when it was added */
};

enum lmi_end_kind { LMI_END_DONE, LMI_END_ERROR, LMI_END_CANCELLED };

/* How a stream ended; words are the caller's. */
struct lmi_end {
	enum lmi_end_kind kind;
	uint32_t why; /* DONE: finish; CANCELLED: reason */
	uint32_t n_prompt, n_out, n_forced;
	uint64_t prompt_ns, out_ns;
	struct lmd_error error; /* ERROR */
};

struct lmi_output {
	struct lmi_item *items; /* [cap], ring: item number k is items[k % cap] */
	uint32_t cap;
	uint64_t first, last; /* numbers of the kept items; last < first: none.  The final item
			       * is not among them */
	uint64_t given;       /* the largest number that a reader was given */
	char *text;           /* [text_cap], n_text bytes from offset text_first on */
	size_t n_text, text_cap;
	uint64_t text_first;
	uint64_t max_bytes;
	bool ended;
	uint64_t end_ns;
	struct lmi_end end;
};

/* max_bytes: bound of what is kept. */
void lmi_output_init(struct lmi_output *o, uint64_t max_bytes);
void lmi_output_fini(struct lmi_output *o);

/* LMD_BUSY: more than max_bytes would lie unread; LMD_NOMEM.  Nothing is added then.  Not after
 * the end.  item: but for text_at, with n_text bytes of text. */
enum lmd_status lmi_output_add(struct lmi_output *o, const struct lmi_item *item, const char *text);
enum lmd_status lmi_output_token(struct lmi_output *o, uint64_t now, lmd_token token,
				 const char *text, uint32_t n);
enum lmd_status lmi_output_text(struct lmi_output *o, uint64_t now, const char *text, uint32_t n);
/* Replaces the latest progress when that is the last item and nobody was given it yet. */
enum lmd_status lmi_output_progress(struct lmi_output *o, uint64_t now, uint32_t phase,
				    uint64_t done, uint64_t total);
/* The first one counts, later ones are ignored. */
void lmi_output_end(struct lmi_output *o, uint64_t now, const struct lmi_end *end);

/* Number of the latest item, the final one included; 0: none yet. */
uint64_t lmi_output_last(const struct lmi_output *o);

/* Can a reader have that cursor?  LMD_INVALID with the numbers: nothing of that number was
 * written, or what lies behind it was forgotten. */
enum lmd_status lmi_output_check(const struct lmi_output *o, uint64_t after, struct lmd_error *err);
/* The reader holds everything up to `after`, which is checked. */
void lmi_output_forget(struct lmi_output *o, uint64_t after);

/* When a reader with that cursor is to be answered: at once (0) at the beginning of the
 * stream, when max items are there, or the end; else hold_ns after the first item that
 * it lacks; UINT64_MAX: it lacks none. */
uint64_t lmi_output_due(const struct lmi_output *o, uint64_t after, uint64_t hold_ns, uint32_t max);

/* Items behind `after` to be given in one reply, at most max. */
uint32_t lmi_output_count(const struct lmi_output *o, uint64_t after, uint32_t max);
/* One of them; text, if any, at *text: both live until the next change. */
const struct lmi_item *lmi_output_item(const struct lmi_output *o, uint64_t number,
				       const char **text);
/* Notes that a reader was given items up to `number`. */
void lmi_output_gave(struct lmi_output *o, uint64_t number);

#endif /* LLAMAD_SERVICE_OUTPUT_H */
