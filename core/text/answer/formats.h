/* SPDX-License-Identifier: MIT
 *
 * formats.h - the formats in which families of models write reasoning and tool calls.
 *
 * The table is made from the files of core/text/formats by build-aux/gen-chat-formats. */
#ifndef LLAMAD_CORE_TEXT_ANSWER_FORMATS_H
#define LLAMAD_CORE_TEXT_ANSWER_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

enum lmi_parse_call_body {
	LMI_PARSE_BODY_NONE,
	LMI_PARSE_BODY_JSON, /* {"name": "f", "arguments": {...}}, or a list of these */
	LMI_PARSE_BODY_NAME, /* f, name_end, {...}; also JSON if `json_allowed` is set */
	/* f, {...} with unquoted keys and strings between `quote` markers */
	LMI_PARSE_BODY_NOTATION,
	LMI_PARSE_BODY_PARAMS, /* f, name_end, then each parameter between markers */
	/* f, name_end, then nested elements, each tag preceded by `param` */
	LMI_PARSE_BODY_ELEMENTS,
	LMI_PARSE_BODY_CHANNEL /* a header up to <|message|> says what follows */
};

/* Strings are NULL where a family has no such marker. */
struct lmi_answer_format {
	const char *name;
	const char *aliases; /* separated by spaces */
	/* a template that contains one of these belongs to this format */
	const char *signatures[3];
	const char *reasoning_begin, *reasoning_end;
	const char *section, *section_end; /* around all calls */
	const char *call, *call_end;       /* one call; NULL: the section is the call */
	enum lmi_parse_call_body body;
	bool unmarked_calls;   /* an answer that begins with { or [ may be calls without markers */
	bool json_allowed;     /* NAME: the body may be JSON instead */
	bool python_calls;     /* JSON: the body may be f(a=1, b='x') instead, or a list of these */
	bool name_is_key;      /* JSON: the object is {"f": {...}} */
	bool starts_with_name; /* the answer starts right after `call` */
	const char *name_prefix; /* stripped from the front of the name: "functions." */
	const char *id_end;      /* an id and this marker come before the name */
	const char *id_begin;    /* this marker and an id come after the name */
	const char *name_end;
	const char *quote; /* NOTATION: around a string */
	/* A parameter is param KEY key_end value ... value_end.  If json_value is set, a value
	 * after `value` is always a string, and one after a word and `json_value` is always
	 * JSON. */
	const char *param, *key_end, *value, *json_value, *value_end;
	bool cdata;                     /* PARAMS: a value may be wrapped in <![CDATA[ ... ]]> */
	const char *content_name;       /* this name stands for content up to the next call */
	/* How calls are written: before the first call, between calls
	 * (NULL: one call at most), after the last; around the arguments, where "%s" in write_begin
	 * stands for the name, and "%d" for the number of the call.  write_begin NULL: this table cannot
	 * say. */
	const char *write_open, *write_separator, *write_close, *write_begin, *write_end;
	/* PARAMS: before the value of a parameter, where "%s" stands for its name, and after its value_end. */
	const char *write_param, *write_param_end;
	/* Around reasoning that the model begins by itself; NULL: the prompt begins it, if there is any. */
	const char *write_think_begin, *write_think_end;
	const char *ignored_markers[4]; /* markers that are ignored */
	const char *other_markers;      /* further control tokens that occur in markers */
};

/* Sorted by rank, then by name: the first one with a signature in a template is its format. */
extern const struct lmi_answer_format lmi_parse_formats[];
extern const uint32_t lmi_parse_n_formats;

#endif /* LLAMAD_CORE_TEXT_ANSWER_FORMATS_H */
