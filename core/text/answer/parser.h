/* SPDX-License-Identifier: MIT
 *
 * parser.h - the answer parser: splits the text of an answer into content, reasoning and tool calls
 * while it is generated.
 *
 *     lmi_answer_parser_create(&p, lmi_answer_format_find("hermes"), on_event, arg, &err);
 *     lmi_answer_parser_feed(p, bytes, n, &err);  ...  lmi_answer_parser_finish(p);
 *
 * Each family of models writes calls in its own format; core/text/formats has a file for each.
 * Text that only looks like a call is reported as content.  Nothing is lost: the raw bytes of all events,
 * concatenated, are the bytes that were fed.  Text is reported as soon as it is unambiguous: an
 * incomplete marker, an incomplete character and whitespace before a marker are held back. */
#ifndef LLAMAD_CORE_TEXT_ANSWER_PARSER_H
#define LLAMAD_CORE_TEXT_ANSWER_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

/* A call is treated as content if the text before its arguments is longer than this, or if there
 * have already been that many calls. */
#define LMI_ANSWER_HEAD_BYTES_MAX (1u << 20)
#define LMI_ANSWER_CALLS_MAX      256

enum lmi_answer_event_kind {
	LMI_ANSWER_CONTENT,   /* text: more of the content */
	LMI_ANSWER_REASONING, /* text: more of the reasoning */
	LMI_ANSWER_CALL,      /* text: name of the tool; its arguments follow */
	LMI_ANSWER_ARGS, /* text: more of the arguments; concatenated, they form a JSON object */
	LMI_ANSWER_CALL_END, /* end of the call */
	LMI_ANSWER_MARKUP    /* markers, and whitespace around them */
};

struct lmi_answer_event {
	enum lmi_answer_event_kind kind;
	struct lmd_str text;
	struct lmd_str id;  /* CALL: the id that the model gave to this call, if any */
	bool complete;      /* CALL_END: the arguments are complete and valid JSON */
	struct lmd_str raw; /* the input bytes of this event; may be empty */
};

/* The strings are valid only during the call. */
typedef void (*lmi_answer_event_fn)(void *arg, const struct lmi_answer_event *out);

struct json_t; /* of jansson */
struct lmi_answer_parser;
struct lmi_answer_format;

/* Finds a format by its name or an alias; returns NULL if it is unknown. */
const struct lmi_answer_format *lmi_answer_format_find(struct lmd_str name);
/* Name of format i; NULL if i is past the last one. */
const char *lmi_answer_format_name_at(uint32_t i);

/* Finds the format whose markers occur in the text of a chat template; "none" if there are no known
 * markers. */
const struct lmi_answer_format *lmi_answer_format_detect(struct lmd_str template);
const char *lmi_answer_format_name(const struct lmi_answer_format *f);
/* Whether the text of this control token is a marker of the format or part of one.  Such tokens
 * must be written out in the text that is fed. */
bool lmi_answer_format_has_marker(const struct lmi_answer_format *f, struct lmd_str token);
/* Whether the answer continues a reasoning section that the prompt opened.
 * begun: text of the answer that already follows the prompt, or empty */
bool lmi_answer_format_opens_reasoning(const struct lmi_answer_format *f, struct lmd_str prompt,
				       struct lmd_str begun);

enum lmd_status lmi_answer_parser_create(struct lmi_answer_parser **out,
					 const struct lmi_answer_format *f, lmi_answer_event_fn fn,
					 void *arg, struct lmd_error *err);
/* NULL allowed. */
void lmi_answer_parser_destroy(struct lmi_answer_parser *p);

/* Tells the parser that the answer starts inside the reasoning. */
void lmi_answer_parser_start_in_reasoning(struct lmi_answer_parser *p);

/* Tells the parser that calls always have markers: an answer that begins with { or [ is not a
 * call. */
void lmi_answer_parser_require_markers(struct lmi_answer_parser *p);

/* Tells the parser which tools there are, a list of functions in the form of OpenAI: where a format writes
 * parameters one by one, the value of one whose schema is of type string is a string, whatever it looks like.
 * The parser takes a reference; NULL: not known. */
void lmi_answer_parser_set_tools(struct lmi_answer_parser *p, struct json_t *tools);

/* Feeds the next bytes.  LMD_NOMEM is the only error; nothing of this piece was consumed then. */
enum lmd_status lmi_answer_parser_feed(struct lmi_answer_parser *p, const char *bytes, size_t n,
				       struct lmd_error *err);
/* Ends the input: reports the bytes held back and ends an unfinished call. */
void lmi_answer_parser_finish(struct lmi_answer_parser *p);

#endif /* LLAMAD_CORE_TEXT_ANSWER_PARSER_H */
