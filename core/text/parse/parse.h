/* SPDX-License-Identifier: MIT
 *
 * parse.h - the text of an answer taken apart: what is said, what was thought, and calls of tools,
 * while it comes.
 *
 *     lmi_parse_create(&p, lmi_parse_format("hermes"), on_event, arg, &err);
 *     lmi_parse_feed(p, bytes, n, &err);  ...  lmi_parse_finish(p, &err);
 *
 * Models write calls each in a way of their family; a row of formats.c says which.  What looks like
 * a call and is none stays content.  Nothing is lost: the raw bytes of all events, one after the
 * other, are the bytes that were fed.  What is said is given as soon as it can be nothing else:
 * the begin of a marker, the begin of a character and blanks before a marker are held back. */
#ifndef LLAMAD_CORE_TEXT_PARSE_PARSE_H
#define LLAMAD_CORE_TEXT_PARSE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

/* Longer calls, up to where their arguments begin, are content; so are calls behind so many. */
#define LMI_PARSE_HELD_MAX  (1u << 20)
#define LMI_PARSE_CALLS_MAX 256

enum lmi_out_kind {
	LMI_OUT_CONTENT,   /* text: more of what is said */
	LMI_OUT_REASONING, /* text: more of what is thought */
	LMI_OUT_CALL,      /* text: name of a tool; its arguments follow */
	LMI_OUT_ARGS,      /* text: more of the arguments, together a JSON object */
	LMI_OUT_CALL_END,  /* the call is over */
	LMI_OUT_MARKUP     /* markers, and blanks around them */
};

struct lmi_out {
	enum lmi_out_kind kind;
	struct lmd_str text;
	struct lmd_str id;  /* CALL: what the model calls this call, if it does */
	bool complete;      /* CALL_END: the arguments are whole and JSON */
	struct lmd_str raw; /* what was fed for this event, may be empty */
};

/* Texts live until it returns. */
typedef void (*lmi_out_fn)(void *arg, const struct lmi_out *out);

struct lmi_parse;
struct lmi_parse_format;

/* By name; NULL: unknown. */
const struct lmi_parse_format *lmi_parse_format(struct lmd_str name);
/* Name of format number i; NULL behind the last one. */
const char *lmi_parse_format_name(uint32_t i);

/* The format whose markers stand in the text of a chat template; "none" when none does. */
const struct lmi_parse_format *lmi_parse_detect(struct lmd_str template);
const char *lmi_parse_name(const struct lmi_parse_format *f);
/* The text of this control token is a marker of the format, or a part of one: it is to be written
 * out where an answer is taken apart. */
bool lmi_parse_is_marker(const struct lmi_parse_format *f, struct lmd_str token);
/* Does a prompt leave a thought open, so that the answer goes on with it?  begun: what stands
 * behind the prompt already, the begin of the answer. */
bool lmi_parse_opens(const struct lmi_parse_format *f, struct lmd_str prompt, struct lmd_str begun);

enum lmd_status lmi_parse_create(struct lmi_parse **out, const struct lmi_parse_format *f,
				 lmi_out_fn fn, void *arg, struct lmd_error *err);
/* NULL allowed. */
void lmi_parse_destroy(struct lmi_parse *p);

/* The prompt ended inside of a thought: so the answer begins with the rest of it. */
void lmi_parse_thinks(struct lmi_parse *p);

/* Calls have markers: an answer that begins with { or [ is no call. */
void lmi_parse_marked(struct lmi_parse *p);

/* LMD_NOMEM alone: then nothing of this piece was taken. */
enum lmd_status lmi_parse_feed(struct lmi_parse *p, const char *bytes, size_t n,
			       struct lmd_error *err);
/* There is no more: what was held back comes out, a call that was begun ends. */
void lmi_parse_finish(struct lmi_parse *p);

#endif /* LLAMAD_CORE_TEXT_PARSE_PARSE_H */
