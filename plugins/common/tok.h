/* SPDX-License-Identifier: MIT
 *
 * tok.h - the part of a tokenizer that all kinds share: cutting at special tokens, begin
 * and end tokens, decoding and pieces.  A kind adds how plain text becomes tokens.
 *
 * A plugin's state begins with struct lmi_tok. */
#ifndef LLAMAD_PLUGINS_COMMON_TOK_H
#define LLAMAD_PLUGINS_COMMON_TOK_H

#include "common/vocab.h"

struct lmi_tok;

/* One call of encode: where ids go, and scratch memory that lives until its end. */
struct lmi_job {
	const struct lmi_tok *tok;
	const struct lmd_host *host;
	lmd_token *out;
	size_t cap, n;        /* n counts what does not fit as well */
	bool after_special;   /* the fragment stands at the beginning or behind a special token */
	size_t text_bytes;    /* of the whole call */
	uint64_t work;        /* pairs looked up in long words */
	struct lmi_buf buf[12]; /* the kind's own */
	struct lmd_error *err;
};

static inline void lmi_job_put(struct lmi_job *j, uint32_t id)
{
	if (LMD_LIKELY(j->n < j->cap))
		j->out[j->n] = (lmd_token)id;
	j->n++;
}

/* Ends an encode: gives buffers back; *n: tokens that it has, also beyond its room. */
enum lmd_status lmi_job_end(struct lmi_job *j, enum lmd_status st, size_t *n);

/* Which tokens encode adds around a text. */
enum lmi_add_rule {
	LMI_ADD_FLAGS,   /* begin and end token as the flags say */
	LMI_ADD_BOS_SEP, /* always begin token and separator, if they exist */
	LMI_ADD_NOTHING
};

/* How the text of a normal token becomes bytes. */
enum lmi_piece_rule {
	LMI_PIECE_BLOCK,     /* U+2581 is a space */
	LMI_PIECE_BYTES,     /* characters of the byte alphabet */
	LMI_PIECE_RAW,       /* as it stands, whatever the attributes */
	LMI_PIECE_ESCAPED    /* with backslash escapes, whatever the attributes */
};

struct lmi_tok_kind {
	enum lmi_add_rule add;
	enum lmi_piece_rule piece;
	/* Tokens of one fragment of plain text, n >= 1 bytes, none of it special. */
	enum lmd_status (*text)(const struct lmi_tok *t, struct lmi_job *j, const char *s,
				size_t n);
	/* May the piece be longer than the text?  NULL: never. */
	bool (*long_piece)(const struct lmi_tok *t, uint32_t id);
	/* Releases what the kind added to the state; NULL allowed. */
	void (*close)(struct lmi_tok *t);
};

struct lmi_tok {
	struct lmi_vocab vocab;
	struct lmi_tok_kind kind;
};

/* The end of every open: special tokens, the longest piece, the facts for the host.  On
 * failure the vocabulary is closed. */
enum lmd_status lmi_tok_finish(struct lmi_tok *t, const struct lmi_vocab_defaults *def,
			       struct lmd_tok_info *info, struct lmd_error *err);

/* Members of struct lmd_tokenizer_ops; state is a struct lmi_tok. */
void lmi_tok_close(void *state);
enum lmd_status lmi_tok_encode(const void *state, const char *text, size_t bytes, uint32_t flags,
			       lmd_token *out, size_t cap, size_t *n, struct lmd_error *err);
enum lmd_status lmi_tok_decode(const void *state, const lmd_token *ids, size_t n_ids,
			       uint32_t flags, char *out, size_t cap, size_t *n,
			       struct lmd_error *err);
size_t lmi_tok_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap);

/* LMD_INVALID names the first id that is outside of the vocabulary. */
enum lmd_status lmi_tok_check_ids(const struct lmi_vocab *v, const lmd_token *ids, size_t n_ids,
				  struct lmd_error *err);

/* The byte alphabet of byte-level vocabularies: each byte is one printable character.
 * lmi_byte_char: code point of a byte.  lmi_char_byte: byte of a code point, or -1. */
uint32_t lmi_byte_char(unsigned byte);
int lmi_char_byte(uint32_t cp);

/* Writes n bytes of text with its escapes (\n \r \t \xHH \c) undone; at most n bytes. */
size_t lmi_unescape(char *out, const char *s, size_t n);

/* Takes blanks away as old tokenizers do on decoding: before ? ! . , - around a lone
 * apostrophe - before 's 'm 're 've.  In place; returns the new length. */
size_t lmi_clean_spaces(char *s, size_t n);

#endif /* LLAMAD_PLUGINS_COMMON_TOK_H */
