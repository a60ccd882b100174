/* SPDX-License-Identifier: MIT
 *
 * machine.h - a parse at work, shared by its files. */
#ifndef LLAMAD_CORE_TEXT_PARSE_MACHINE_H
#define LLAMAD_CORE_TEXT_PARSE_MACHINE_H

#include "core/text/parse/formats.h"
#include "core/text/parse/parse.h"
#include "core/text/parse/scan.h"
#include "core/text/tokenizer.h"

enum lmi_parse_mode {
	LMI_IN_TEXT,     /* content, or a thought */
	LMI_IN_HEAD,     /* from the marker of a call to its arguments */
	LMI_IN_ARGS,     /* arguments that are JSON */
	LMI_IN_REST,     /* of the object that holds them */
	LMI_IN_NOTATION, /* arguments that are no JSON, and become it */
	LMI_IN_PARAMS,   /* parameters one by one */
	LMI_IN_TREE,     /* parameters that are elements in elements */
	LMI_BEHIND       /* a call: its end, others */
};

/* What a head begins with. */
enum lmi_parse_head {
	LMI_HEAD_SECTION, /* the marker of the section */
	LMI_HEAD_CALL,    /* that of a call */
	LMI_HEAD_BARE,    /* neither */
	LMI_HEAD_NEXT     /* one more of a list */
};

/* Arguments in the notation of Python, or of the kind {key:<quote>text<quote>,n:1}. */
enum lmi_notation_state {
	LMI_NOTATION_ITEM,  /* a key, a value of a list, or the end of the level */
	LMI_NOTATION_COLON, /* between a key and its value */
	LMI_NOTATION_VALUE,
	LMI_NOTATION_AFTER, /* a value */
	LMI_NOTATION_STRING
};

#define LMI_NOTATION_DEPTH LMI_SCAN_DEPTH

/* Zeroed, with depth 1 and close[0]: in front of the first argument. */
struct lmi_notation {
	enum lmi_notation_state state;
	uint32_t depth;                 /* levels that are open, that of the call included */
	char close[LMI_NOTATION_DEPTH]; /* what ends each of them */
	bool some;                      /* the level has an item already */
	bool is_key;                    /* STRING: it is one */
	char quote;                     /* STRING: ' or "; 0: the format's `quote` */
	bool triple;                    /* ... three times */
	struct lmi_text out;            /* JSON of what was read in this step */
};

struct lmi_parse {
	const struct lmi_parse_format *f;
	lmi_out_fn fn;
	void *arg;
	char *buf; /* buf[at .. n): fed and not given yet */
	size_t at, n, cap;
	enum lmi_parse_mode mode;
	enum lmi_parse_head head;
	bool last;     /* there is no more */
	bool failed;   /* no memory */
	bool thinking; /* text is a thought */
	bool fresh;    /* nothing but markup was given lately: blanks are markup too */
	bool begun;    /* something was given */
	bool marked;   /* calls have markers */
	bool in_section, in_list, closed;
	bool whole;      /* the object of a call is read as a whole, up to `searched` */
	size_t searched; /* bytes from `at` on that were looked through */
	struct lmi_scan scan;
	struct lmi_notation notation;
	struct lmi_text args; /* of the call */
	uint32_t n_call, n_param;
};

static inline bool lmi_parse_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Offset i is behind the last byte there is. */
static inline bool lmi_parse_at_end(const struct lmi_parse *p, size_t i)
{
	return p->at + i == p->n;
}

/* Of a function, as languages have it. */
static inline bool lmi_parse_begins_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

enum lmi_got { LMI_GOT_NO, LMI_GOT_MORE, LMI_GOT_YES };

/* Does `s` stand at offset *i?  Moves *i behind it. */
enum lmi_got lmi_parse_lit(const struct lmi_parse *p, size_t *i, const char *s);
/* A name at offset *i, with what ends it behind it. */
#define LMI_PARSE_NAME_MAX 128
enum lmi_got lmi_parse_name_at(const struct lmi_parse *p, size_t *i, struct lmd_str *out);
/* Blanks, at most so many that nobody means more. */
void lmi_parse_blanks(const struct lmi_parse *p, size_t *i);

/* Gives an event for the next n_raw bytes. */
void lmi_parse_give(struct lmi_parse *p, enum lmi_out_kind kind, struct lmd_str text, size_t n_raw);
void lmi_parse_markup(struct lmi_parse *p, size_t n_raw);
/* More of the arguments. */
void lmi_parse_args(struct lmi_parse *p, struct lmd_str text, size_t n_raw);
/* A call begins; n_raw: up to its arguments. */
void lmi_parse_call(struct lmi_parse *p, struct lmd_str name, struct lmd_str id, size_t n_raw);
/* ... ends. */
void lmi_parse_call_end(struct lmi_parse *p, bool broken, size_t n_raw);

/* text.c: content or a thought; false: it waits for more. */
bool lmi_parse_in_text(struct lmi_parse *p);
/* What looked like a call is text: its marker, and what follows is looked at anew. */
void lmi_parse_no_call(struct lmi_parse *p);
/* head.c: what stands at the begin of a call.  NO: it is none.  YES: its events were given, and the
 * mode is what comes next. */
enum lmi_got lmi_parse_head(struct lmi_parse *p);
/* `s` from offset i on; *at: where.  Looks at no byte twice. */
enum lmi_got lmi_parse_find(struct lmi_parse *p, size_t i, const char *s, size_t *at);
/* head_json.c: behind the markers, at offset i. */
enum lmi_got lmi_parse_json_body(struct lmi_parse *p, size_t i);
/* params.c: the next parameter, or the end. */
enum lmi_got lmi_parse_params(struct lmi_parse *p);
/* tree.c: all parameters and the end. */
enum lmi_got lmi_parse_tree(struct lmi_parse *p);

/* notation.c: more of the arguments; false: it waits for more, or there is none. */
bool lmi_parse_notation(struct lmi_parse *p);
/* Gets ready for arguments that `close` ends. */
void lmi_notation_begin(struct lmi_parse *p, char close);
/* Writes behind what was read; a failure is noted. */
void lmi_notation_put(struct lmi_parse *p, const char *s, size_t n);
/* notation_string.c: more of a string, from offset *i on, as the inside of one of JSON.  YES: its
 * end was passed. */
enum lmi_got lmi_notation_string(struct lmi_parse *p, size_t *i);

#endif /* LLAMAD_CORE_TEXT_PARSE_MACHINE_H */
