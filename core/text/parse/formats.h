/* SPDX-License-Identifier: MIT
 *
 * formats.h - how a family of models writes thoughts and calls. */
#ifndef LLAMAD_CORE_TEXT_PARSE_FORMATS_H
#define LLAMAD_CORE_TEXT_PARSE_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

enum lmi_call_body {
	LMI_BODY_NONE,
	LMI_BODY_JSON,     /* {"name": "f", "arguments": {...}}, or a list of such */
	LMI_BODY_NAME,     /* f, name_end, {...}; with `list` also as JSON */
	LMI_BODY_NOTATION, /* f, {...} with bare keys, strings between `quote` */
	LMI_BODY_PARAMS,   /* f, name_end, and each parameter between markers */
	LMI_BODY_TREE,     /* f, name_end, and elements in elements, all behind `param` */
	LMI_BODY_CHANNEL   /* a header up to <|message|> says what the rest is */
};

/* Texts are NULL where a family has no such thing. */
struct lmi_parse_format {
	const char *name;
	const char *aliases; /* with blanks between */
	const char *find[3]; /* a template with one of these texts is for models of this format */
	const char *think, *think_end;
	const char *section, *section_end; /* around all calls */
	const char *call, *call_end;       /* around one; call NULL: the section is the call */
	enum lmi_call_body body;
	bool bare;          /* an answer that begins with { or [ may be calls without markers */
	bool list;          /* NAME: the body may be JSON instead */
	bool python;        /* JSON: calls may be f(a=1, b='x') instead, in a list or not */
	bool keyed;         /* JSON: the object is {"f": {...}} */
	bool bare_name;     /* the answer begins behind `call` */
	const char *prefix; /* before the name, left out: "functions." */
	const char *id_end; /* before the name stands an id, and this */
	const char *to_id;  /* behind the name: this, and an id */
	const char *name_end;
	const char *quote; /* NOTATION: around a string */
	/* A parameter is param KEY key_end value ... value_end.  With json_value such a value is a
	 * text always, and one behind a word and json_value is JSON always. */
	const char *param, *key_end, *value, *json_value, *value_end;
	bool cdata;          /* PARAMS: a value may stand in <![CDATA[ ... ]]> */
	const char *plain;   /* as a name: what follows is said, up to the next call */
	const char *drop[4]; /* markers that say nothing */
	const char *parts;   /* further control tokens that markers are made of */
};

extern const struct lmi_parse_format lmi_parse_formats[];
extern const uint32_t lmi_parse_n_formats;

#endif /* LLAMAD_CORE_TEXT_PARSE_FORMATS_H */
