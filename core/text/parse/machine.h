/* SPDX-License-Identifier: MIT
 *
 * machine.h - the state of an answer parser, shared by its source files. */
#ifndef LLAMAD_CORE_TEXT_PARSE_MACHINE_H
#define LLAMAD_CORE_TEXT_PARSE_MACHINE_H

#include "core/text/parse/formats.h"
#include "core/text/parse/parse.h"
#include "core/text/parse/scan.h"
#include "core/text/tokenizer.h"

enum lmi_parse_mode {
	LMI_IN_TEXT,     /* content or reasoning */
	LMI_IN_HEAD,     /* from the marker of a call to its arguments */
	LMI_IN_ARGS,     /* arguments in JSON */
	LMI_IN_REST,     /* the rest of the object that contains the arguments */
	LMI_IN_NOTATION, /* arguments in another notation, converted to JSON */
	LMI_IN_PARAMS,   /* parameters between markers, one by one */
	LMI_IN_TREE,     /* parameters as nested elements */
	LMI_BEHIND       /* after a call: its end marker, or more calls */
};

/* What the head of a call starts with. */
enum lmi_parse_head {
	LMI_HEAD_SECTION, /* the marker of the section of calls */
	LMI_HEAD_CALL,    /* the marker of a call */
	LMI_HEAD_BARE,    /* no marker */
	LMI_HEAD_NEXT     /* another call of the same list or section */
};

/* Arguments in Python notation, or of the form {key:<quote>text<quote>,n:1}. */
enum lmi_notation_state {
	LMI_NOTATION_ITEM,  /* expects a key, a list item, or the end of this level */
	LMI_NOTATION_COLON, /* expects the separator between a key and its value */
	LMI_NOTATION_VALUE,
	LMI_NOTATION_AFTER, /* after a value */
	LMI_NOTATION_STRING
};

#define LMI_NOTATION_DEPTH LMI_SCAN_DEPTH

/* Initially zeroed, except depth 1 and close[0]. */
struct lmi_notation {
	enum lmi_notation_state state;
	uint32_t depth;                 /* open levels, including the call's own */
	char close[LMI_NOTATION_DEPTH]; /* the closing bracket of each level */
	bool some;                      /* this level already has an item */
	bool is_key;                    /* STRING: it is a key */
	char quote;                     /* STRING: ' or "; 0 if it is the format's `quote` */
	bool triple;                    /* STRING: the quote is tripled */
	struct lmi_text out;            /* JSON for the text read in this step */
};

struct lmi_parse {
	const struct lmi_parse_format *f;
	lmi_out_fn fn;
	void *arg;
	char *buf; /* buf[at .. n): fed and not reported yet */
	size_t at, n, cap;
	enum lmi_parse_mode mode;
	enum lmi_parse_head head;
	bool last;     /* the input has ended */
	bool failed;   /* out of memory */
	bool thinking; /* text is reasoning */
	bool fresh;    /* the last event was markup: whitespace that follows is markup as well */
	bool begun;    /* an event was reported */
	bool marked;   /* calls must have markers */
	bool in_section, in_list, closed;
	bool whole;      /* the call's object is parsed as a whole; it was scanned up to
			  * `searched` */
	size_t searched; /* number of bytes from `at` on that were searched */
	struct lmi_scan scan;
	struct lmi_notation notation;
	struct lmi_text args; /* arguments of the current call */
	uint32_t n_call, n_param;
};

static inline bool lmi_parse_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Whether offset i is at the end of the buffered bytes. */
static inline bool lmi_parse_at_end(const struct lmi_parse *p, size_t i)
{
	return p->at + i == p->n;
}

/* Whether c can start a function name. */
static inline bool lmi_parse_begins_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

enum lmi_got { LMI_GOT_NO, LMI_GOT_MORE, LMI_GOT_YES };

/* Matches `s` at offset *i and moves *i past it.  MORE if the buffer ends in the middle of `s`. */
enum lmi_got lmi_parse_lit(const struct lmi_parse *p, size_t *i, const char *s);
/* Matches a name at offset *i and moves *i past it.  MORE unless the byte after the name is
 * buffered. */
#define LMI_PARSE_NAME_MAX 128
enum lmi_got lmi_parse_name_at(const struct lmi_parse *p, size_t *i, struct lmd_str *out);
/* Moves *i past whitespace, a bounded number of bytes. */
void lmi_parse_blanks(const struct lmi_parse *p, size_t *i);

/* Reports an event for the next n_raw bytes. */
void lmi_parse_give(struct lmi_parse *p, enum lmi_out_kind kind, struct lmd_str text, size_t n_raw);
void lmi_parse_markup(struct lmi_parse *p, size_t n_raw);
/* Reports more of the arguments. */
void lmi_parse_args(struct lmi_parse *p, struct lmd_str text, size_t n_raw);
/* Reports the start of a call.  n_raw is the number of bytes before its arguments. */
void lmi_parse_call(struct lmi_parse *p, struct lmd_str name, struct lmd_str id, size_t n_raw);
/* Reports the end of a call. */
void lmi_parse_call_end(struct lmi_parse *p, bool broken, size_t n_raw);

/* text.c: reports content or reasoning; returns false to wait for more input. */
bool lmi_parse_in_text(struct lmi_parse *p);
/* Treats what looked like a call as text: reports its marker and parses what follows again. */
void lmi_parse_no_call(struct lmi_parse *p);
/* head.c: parses the head of a call.  NO: it is not a call.  YES: its events were reported and the
 * mode was set to what follows. */
enum lmi_got lmi_parse_head(struct lmi_parse *p);
/* Searches for `s` from offset i on and sets *at to its offset.  Does not search a byte twice. */
enum lmi_got lmi_parse_find(struct lmi_parse *p, size_t i, const char *s, size_t *at);
/* head_json.c: parses the head after the markers, at offset i. */
enum lmi_got lmi_parse_json_body(struct lmi_parse *p, size_t i);
/* params.c: parses the next parameter or the end of the call. */
enum lmi_got lmi_parse_params(struct lmi_parse *p);
/* tree.c: parses all parameters and the end of the call. */
enum lmi_got lmi_parse_tree(struct lmi_parse *p);

/* notation.c: reports more of the arguments; returns false to wait for more input, or at the
 * end. */
bool lmi_parse_notation(struct lmi_parse *p);
/* Starts parsing arguments that `close` ends. */
void lmi_notation_begin(struct lmi_parse *p, char close);
/* Appends to the JSON output; sets p->failed if out of memory. */
void lmi_notation_put(struct lmi_parse *p, const char *s, size_t n);
/* notation_string.c: converts more of a string, from offset *i on, to the inside of a JSON string.
 * YES: the closing quote was consumed. */
enum lmi_got lmi_notation_string(struct lmi_parse *p, size_t *i);

#endif /* LLAMAD_CORE_TEXT_PARSE_MACHINE_H */
