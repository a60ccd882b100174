/* SPDX-License-Identifier: MIT
 *
 * bpe.h - byte-pair encoding: the symbols of a word are merged pair by pair, the pair of lowest
 * rank first, and the leftmost of equal pairs first.
 *
 * The symbols are the tokens, followed by texts that occur only in merges (a file may name such
 * texts). Once the tables are built, pairs are looked up by symbol number, never by text.
 *
 * There are two sets of rules. The lenient rules are for vocabularies in model files: merges may
 * name anything, and symbols that are not tokens after merging fall back to bytes. The strict
 * rules are for tokenizer.json: merges are between tokens, and characters that are not tokens
 * become bytes or the unknown token before anything is merged. */
#ifndef LLAMAD_PLUGINS_COMMON_BPE_H
#define LLAMAD_PLUGINS_COMMON_BPE_H

#include "common/merge_boundary.h"
#include "common/tokenizer_base.h"

struct tok_bpe {
	const struct tok_vocab *vocab;
	bool byte_level;         /* texts are in the byte alphabet; otherwise plain UTF-8 */
	bool ignore_merges;      /* a word that is a token is not merged */
	bool keep_line_feeds;    /* nor is a word of line feeds only */
	bool strict;             /* strict rules; the members up to suffix apply only to them */
	bool byte_fallback;      /* a character that is not a token becomes <0xNN> tokens */
	bool fuse_unk;           /* consecutive unknown characters become one token */
	uint32_t unk;            /* the unknown token; TOK_NONE: unknown characters are dropped */
	struct lmd_str prefix;   /* precedes every character of a word except the first */
	struct lmd_str suffix;   /* follows the last character of a word */
	struct tok_buf sym;      /* struct lmd_str [n_sym]: bytes of each symbol, ptr NULL = none */
	uint32_t n_sym;
	char *bytes;             /* memory of sym's texts that are not the vocabulary's */
	struct tok_string_map map; /* bytes to symbol */
	struct tok_pairmap pairs;
	struct tok_merge_boundaries boundaries; /* where words can be split before merging; empty if
						 * splitting would change tokens */
	uint32_t byte_sym[256];                 /* symbol of one byte (byte level) */
	uint32_t byte_token[256];     /* token for a byte that belongs to no token, or TOK_NONE */
	uint32_t byte_low, byte_high; /* range of byte_token */
};

/* Builds the tables from the vocabulary and the merges of its spec. The caller has set the flags.
 * On failure everything is released. */
enum lmd_status tok_bpe_open(struct tok_bpe *b, const struct tok_vocab *v, struct lmd_error *err);
void tok_bpe_close(struct tok_bpe *b);

/* Emits the tokens of one word, n >= 1. Uses j->buf[0..2]. */
enum lmd_status tok_bpe_word(const struct tok_bpe *b, struct tok_encode_job *j, const char *w,
			     size_t n);

/* Merges a word without the whole-word rules, without splitting it at merge boundaries, and
 * without the word cache; used only by tok_bpe_word. Uses j->buf[1..2]. */
enum lmd_status tok_bpe_merge(const struct tok_bpe *b, struct tok_encode_job *j, const char *w,
			      size_t n);

#endif /* LLAMAD_PLUGINS_COMMON_BPE_H */
