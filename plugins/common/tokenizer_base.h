/* SPDX-License-Identifier: MIT
 *
 * tokenizer_base.h - tokenizer base shared by all kinds: splitting at special tokens, begin and end
 * tokens, decoding, and pieces. A kind adds the conversion of plain text to tokens.
 *
 * A plugin's state starts with struct tok_tokenizer_base. */
#ifndef LLAMAD_PLUGINS_COMMON_TOKENIZER_BASE_H
#define LLAMAD_PLUGINS_COMMON_TOKENIZER_BASE_H

#include "common/vocab.h"
#include "common/work.h"

struct tok_tokenizer_base;

/* One encode call: the output, and scratch memory that is freed at its end. */
struct tok_encode_job {
	const struct tok_tokenizer_base *tok;
	const struct lmd_host *host;
	lmd_token *out;
	size_t cap, n;        /* n also counts tokens that do not fit */
	bool after_special; /* the fragment is at the start of the text or after a special token */
	size_t text_bytes;    /* text size of the whole call */
	uint64_t work;        /* number of pair look-ups in long words */
	struct tok_work steps; /* work that the host is told of */
	struct tok_buf buf[12]; /* scratch of the kind */
	struct lmd_error *err;
};

static inline void tok_encode_job_put(struct tok_encode_job *j, uint32_t id)
{
	if (LMD_LIKELY(j->n < j->cap))
		j->out[j->n] = (lmd_token)id;
	j->n++;
}

/* Counts n steps of the call. Returns false if it must end with LMD_CANCELLED. */
static inline bool tok_encode_job_step(struct tok_encode_job *j, uint64_t n)
{
	return tok_work_step(&j->steps, j->host, n);
}

/* Ends an encode call: releases the buffers and sets *n to the number of tokens, including those
 * that did not fit. */
enum lmd_status tok_encode_job_end(struct tok_encode_job *j, enum lmd_status st, size_t *n);

/* Which tokens encode adds around a text. */
enum tok_add_rule {
	TOK_ADD_FLAGS,   /* begin and end token according to the flags */
	TOK_ADD_BOS_SEP, /* always begin token and separator, if they exist */
	TOK_ADD_NOTHING
};

/* How the text of a normal token is converted to bytes. */
enum tok_piece_rule {
	TOK_PIECE_BLOCK,  /* U+2581 means a space */
	TOK_PIECE_BYTES,  /* characters of the byte alphabet */
	TOK_PIECE_RAW,    /* unchanged, whatever the attributes */
	TOK_PIECE_ESCAPED /* with backslash escapes, whatever the attributes */
};

struct tok_kind {
	enum tok_add_rule add;
	enum tok_piece_rule piece;
	/* Tokenises one fragment of plain text without special tokens, n >= 1 bytes. */
	enum lmd_status (*text)(const struct tok_tokenizer_base *t, struct tok_encode_job *j,
				const char *s, size_t n);
	/* Returns true if the piece may be longer than the text. NULL: never. */
	bool (*long_piece)(const struct tok_tokenizer_base *t, uint32_t id);
	/* Releases what the kind added to the state; may be NULL. */
	void (*close)(struct tok_tokenizer_base *t);
};

struct tok_tokenizer_base {
	struct tok_vocab vocab;
	struct tok_kind kind;
};

/* Last step of every open: special tokens, the longest piece, and the information for the host. On
 * failure the vocabulary is closed. */
enum lmd_status tok_finish(struct tok_tokenizer_base *t, const struct tok_vocab_defaults *def,
			   struct lmd_tok_info *info, struct lmd_error *err);

/* Members of struct lmd_tokenizer_ops; state is a struct tok_tokenizer_base. */
void tok_close(void *state);
enum lmd_status tok_encode(const void *state, const char *text, size_t bytes, uint32_t flags,
			   lmd_token *out, size_t cap, size_t *n, struct lmd_error *err);
enum lmd_status tok_decode(const void *state, const lmd_token *ids, size_t n_ids, uint32_t flags,
			   char *out, size_t cap, size_t *n, struct lmd_error *err);
size_t tok_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap);

/* LMD_INVALID: the message names the first id that is outside the vocabulary. */
enum lmd_status tok_check_ids(const struct tok_vocab *v, const lmd_token *ids, size_t n_ids,
			      struct lmd_error *err);

/* The byte alphabet of byte-level vocabularies: each byte is represented by one printable
 * character. tok_byte_char returns the code point of a byte; tok_char_byte returns the byte of a
 * code point, or -1. */
uint32_t tok_byte_char(unsigned byte);
int tok_char_byte(uint32_t cp);

/* Decodes the escapes \n \r \t \xHH \c in n bytes of text; writes at most n bytes. */
size_t tok_unescape(char *out, const char *s, size_t n);

/* Removes blanks as old tokenizers do when decoding: before ? ! . , - around a lone apostrophe -
 * before 's 'm 're 've. Works in place; returns the new length. */
size_t tok_clean_spaces(char *s, size_t n);

#endif /* LLAMAD_PLUGINS_COMMON_TOKENIZER_BASE_H */
