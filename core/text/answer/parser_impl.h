/* SPDX-License-Identifier: MIT
 *
 * parser_impl.h - the state of an answer parser, shared by its source files. */
#ifndef LLAMAD_CORE_TEXT_ANSWER_PARSER_IMPL_H
#define LLAMAD_CORE_TEXT_ANSWER_PARSER_IMPL_H

#include "core/text/answer/formats.h"
#include "core/text/answer/parser.h"
#include "core/text/answer/json_scan.h"
#include "core/text/tokenizer.h"

enum lmi_parse_mode {
	LMI_PARSE_IN_TEXT,        /* content or reasoning */
	LMI_PARSE_IN_HEAD,        /* from the marker of a call to its arguments */
	LMI_PARSE_IN_ARGS,        /* arguments in JSON */
	LMI_PARSE_IN_CALL_OBJECT, /* the rest of the object that contains the arguments */
	LMI_PARSE_IN_NOTATION,    /* arguments in another notation, converted to JSON */
	LMI_PARSE_IN_PARAMS,      /* parameters between markers, one by one */
	LMI_PARSE_IN_ELEMENTS,    /* parameters as nested elements */
	LMI_TEXT_AFTER_CALL       /* after a call: its end marker, or more calls */
};

/* What the head of a call starts with. */
enum lmi_parse_head {
	LMI_PARSE_HEAD_SECTION, /* the marker of the section of calls */
	LMI_PARSE_HEAD_CALL,    /* the marker of a call */
	LMI_PARSE_HEAD_BARE,    /* no marker */
	LMI_PARSE_HEAD_NEXT     /* another call of the same list or section */
};

/* Arguments in Python notation, or of the form {key:<quote>text<quote>,n:1}. */
enum lmi_parse_notation_state {
	LMI_PARSE_NOTATION_ITEM,  /* expects a key, a list item, or the end of this level */
	LMI_PARSE_NOTATION_COLON, /* expects the separator between a key and its value */
	LMI_PARSE_NOTATION_VALUE,
	LMI_PARSE_NOTATION_AFTER, /* after a value */
	LMI_PARSE_NOTATION_STRING
};

#define LMI_PARSE_NOTATION_DEPTH LMI_PARSE_SCAN_DEPTH

/* Initially zeroed, except depth 1 and close[0]. */
struct lmi_parse_notation {
	enum lmi_parse_notation_state state;
	uint32_t depth;                       /* open levels, including the call's own */
	char close[LMI_PARSE_NOTATION_DEPTH]; /* the closing bracket of each level */
	bool has_item;                        /* this level already has an item */
	bool is_key;                          /* STRING: it is a key */
	char quote;                           /* STRING: ' or "; 0 if it is the format's `quote` */
	bool triple;                    /* STRING: the quote is tripled */
	struct lmi_text_byte_buf out;   /* JSON for the text read in this step */
};

struct lmi_answer_parser {
	const struct lmi_answer_format *f;
	lmi_answer_event_fn fn;
	void *arg;
	char *buf; /* buf[at .. n): fed and not reported yet */
	size_t at, n, cap;
	enum lmi_parse_mode mode;
	enum lmi_parse_head head;
	bool input_ended;  /* the input has ended */
	bool failed;       /* out of memory */
	bool in_reasoning; /* text is reasoning */
	/* the last event was markup: whitespace that follows is markup as well */
	bool after_markup;
	bool reported_any;     /* an event was reported */
	bool markers_required; /* calls must have markers */
	struct json_t *tools;        /* a reference; NULL: not known */
	const struct json_t *params; /* the schemas of the current call's parameters; NULL: not known */
	bool in_section, in_list, closed;
	bool whole_object; /* the call's object is parsed as a whole; it was scanned up to
			    * `n_searched` */
	size_t n_searched; /* bytes from `at` on that were searched */
	struct lmi_parse_scan scan;
	struct lmi_parse_notation notation;
	struct lmi_text_byte_buf args; /* arguments of the current call */
	uint32_t n_call, n_param;
};

static inline bool lmi_parse_is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Whether offset i is at the end of the buffered bytes. */
static inline bool lmi_parse_at_end(const struct lmi_answer_parser *p, size_t i)
{
	return p->at + i == p->n;
}

/* Whether c can start a function name. */
static inline bool lmi_parse_is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

enum lmi_text_match { LMI_TEXT_MATCH_NO, LMI_TEXT_MATCH_NEED_MORE, LMI_TEXT_MATCH_YES };

/* Matches `s` at offset *i and moves *i past it.  MORE if the buffer ends in the middle of `s`. */
enum lmi_text_match lmi_parse_literal(const struct lmi_answer_parser *p, size_t *i, const char *s);
/* Matches a name at offset *i and moves *i past it.  MORE unless the byte after the name is
 * buffered. */
#define LMI_PARSE_NAME_MAX 128
enum lmi_text_match lmi_parse_name_at(const struct lmi_answer_parser *p, size_t *i,
				      struct lmd_str *out);
/* Moves *i past whitespace, a bounded number of bytes. */
void lmi_parse_skip_space(const struct lmi_answer_parser *p, size_t *i);

/* Reports an event for the next n_raw bytes. */
void lmi_parse_report(struct lmi_answer_parser *p, enum lmi_answer_event_kind kind,
		      struct lmd_str text, size_t n_raw);
void lmi_parse_report_markup(struct lmi_answer_parser *p, size_t n_raw);
/* Reports more of the arguments. */
void lmi_parse_report_args(struct lmi_answer_parser *p, struct lmd_str text, size_t n_raw);
/* Reports the start of a call.  n_raw is the number of bytes before its arguments. */
void lmi_parse_report_call(struct lmi_answer_parser *p, struct lmd_str name, struct lmd_str id,
			   size_t n_raw);
/* Reports the end of a call. */
void lmi_parse_report_call_end(struct lmi_answer_parser *p, bool broken, size_t n_raw);

/* content.c: reports content or reasoning; returns false to wait for more input. */
bool lmi_parse_in_text(struct lmi_answer_parser *p);
/* Treats what looked like a call as text: reports its marker and parses what follows again. */
void lmi_parse_call_to_text(struct lmi_answer_parser *p);
/* call_head.c: parses the head of a call.  NO: it is not a call.  YES: its events were reported and
 * the mode was set to what follows. */
enum lmi_text_match lmi_parse_head(struct lmi_answer_parser *p);
/* Searches for `s` from offset i on and sets *at to its offset.  Does not search a byte twice. */
enum lmi_text_match lmi_parse_find(struct lmi_answer_parser *p, size_t i, const char *s,
				   size_t *at);
/* call_head_json.c: parses the head after the markers, at offset i. */
enum lmi_text_match lmi_parse_json_body(struct lmi_answer_parser *p, size_t i);
/* args_params.c: parses the next parameter or the end of the call. */
enum lmi_text_match lmi_parse_params(struct lmi_answer_parser *p);
/* args_elements.c: parses all parameters and the end of the call. */
enum lmi_text_match lmi_parse_tree(struct lmi_answer_parser *p);

/* args_notation.c: reports more of the arguments; returns false to wait for more input, or at the
 * end. */
bool lmi_parse_notation(struct lmi_answer_parser *p);
/* Starts parsing arguments that `close` ends. */
void lmi_parse_notation_begin(struct lmi_answer_parser *p, char close);
/* Appends to the JSON output; sets p->failed if out of memory. */
void lmi_parse_notation_append(struct lmi_answer_parser *p, const char *s, size_t n);
/* args_notation_string.c: converts more of a string, from offset *i on, to the inside of a JSON
 * string.
 * YES: the closing quote was consumed. */
enum lmi_text_match lmi_parse_notation_string(struct lmi_answer_parser *p, size_t *i);

#endif /* LLAMAD_CORE_TEXT_ANSWER_PARSER_IMPL_H */
