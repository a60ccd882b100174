/* SPDX-License-Identifier: MIT
 *
 * vocab.h - the vocabulary table shared by all kinds of tokenizers: texts, attributes, look-up by
 * text, special ids and the end-of-generation set.
 *
 * It is built in two steps, because some kinds build their own tables from the attributes as the
 * file states them: tok_vocab_open, then the kind's tables, then tok_vocab_finish, which looks for
 * special tokens by text and corrects attributes. */
#ifndef LLAMAD_PLUGINS_COMMON_VOCAB_H
#define LLAMAD_PLUGINS_COMMON_VOCAB_H

#include "common/mem.h"
#include "common/string_map.h"
#include "llamad/tokenizer.h"

/* Attributes of a token; more than one may be set. */
#define TOK_ATTR_UNKNOWN 1u
#define TOK_ATTR_UNUSED  2u
#define TOK_ATTR_NORMAL  4u
#define TOK_ATTR_CONTROL 8u
#define TOK_ATTR_USER    16u  /* user-defined: always matched in the text */
#define TOK_ATTR_BYTE    32u  /* <0xNN> */
#define TOK_ATTR_LSTRIP  64u  /* strips the white space before it */
#define TOK_ATTR_RSTRIP  128u /* strips the white space after it */
/* not shown unless control tokens are written out */
#define TOK_ATTR_HIDDEN (TOK_ATTR_CONTROL | TOK_ATTR_UNKNOWN)

/* U+E000 in UTF-8, see marked_from. */
#define TOK_VOCAB_MARK "\xee\x80\x80"

/* Values that a kind assumes if the file does not specify them. */
struct tok_vocab_defaults {
	int32_t bos, eos, unk, sep, pad, mask; /* -1 = none; ignored if out of range */
	int8_t add_bos, add_eos, add_sep, add_space_prefix, clean_spaces;
	int8_t force_add_bos; /* overrides the file */
	int8_t mask_lstrip;   /* "<mask>" strips the white space before it */
};

#define TOK_SPECIAL_PAIRS 1024u

/* Tokens that are matched in the text before anything else; built by tok_special_init. */
struct tok_special {
	uint32_t *id;         /* [n] longest text first, then lowest id */
	uint32_t n;
	uint32_t *bucket;     /* [n_bucket + 1] index into id of the first text of each length */
	uint32_t n_bucket;
	uint8_t *strips;      /* [n_bucket] true if some token of the bucket strips white space */
	struct tok_string_map map;
	/* bit b is set if a text of bucket b may start like this: by the first byte, and by a hash
	 * of the first two */
	uint64_t first[256], pair[TOK_SPECIAL_PAIRS];
};

struct tok_vocab {
	const struct lmd_host *host;
	const struct lmd_tok_spec *spec;
	uint32_t n;
	uint32_t max_bytes;        /* length of the longest text */
	struct lmd_str *text;      /* [n] */
	uint8_t *attr;             /* [n] TOK_ATTR_* */
	uint32_t marked_from;      /* from this id on, a trailing TOK_VOCAB_MARK in a text is
				    * not part of the piece; TOK_NONE = nowhere */
	char *own_text;            /* memory of texts that are not the file's */
	struct tok_string_map map; /* text to id */
	/* map contains only texts that may be special: added tokens and texts that start like one.
	 * Used by kind hf, whose models have maps of their own */
	bool special_only;
	struct tok_special special;
	struct lmd_tok_info info;  /* information returned by open */
	int32_t *eog;
};

/* Checks the spec and fills in texts, attributes and the map. On failure everything is released.
 * LMD_CORRUPT: the message names the ids if a text occurs twice. */
enum lmd_status tok_vocab_open(struct tok_vocab *v, const struct lmd_host *host,
			       const struct lmd_tok_spec *spec, struct lmd_error *err);

/* Determines special ids, flags, the end-of-generation set, and special texts. */
enum lmd_status tok_vocab_finish(struct tok_vocab *v, const struct tok_vocab_defaults *def,
				 struct lmd_error *err);

/* v may be zeroed. */
void tok_vocab_close(struct tok_vocab *v);

static inline uint32_t tok_vocab_find(const struct tok_vocab *v, const char *s, size_t n)
{
	return n <= v->max_bytes ? tok_string_map_find(&v->map, v->text, s, n) : TOK_NONE;
}

static inline float tok_vocab_score(const struct tok_vocab *v, uint32_t id)
{
	return v->spec->score ? v->spec->score[id] : 0.0f;
}

/* Returns true if the model itself produces this token from text; false for holes and for tokens
 * that were only added (kind "hf"). */
static inline bool tok_vocab_in_model(const struct tok_vocab *v, uint32_t id)
{
	return (!v->spec->added || !(v->spec->added[id] & LMD_ADDED_ONLY)) &&
	       (!v->spec->type || v->spec->type[id] != LMD_TOKEN_UNUSED);
}

/* Returns the byte of a text of the form <0xNN>, or -1. */
int tok_byte_text(const char *s, size_t n);

/* Returns the token <0xNN> of a byte (upper-case digits), or TOK_NONE. */
uint32_t tok_vocab_byte(const struct tok_vocab *v, unsigned byte);

#endif /* LLAMAD_PLUGINS_COMMON_VOCAB_H */
