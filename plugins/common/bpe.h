/* SPDX-License-Identifier: MIT
 *
 * bpe.h - byte-pair encoding: a word's symbols are joined pair by pair, the pair of lowest
 * rank first, the leftmost of equal ones.
 *
 * Symbols are the tokens, then texts that occur only in merges (a file may name them).
 * Pairs are looked up by symbol numbers, never by text, once the tables are built.
 *
 * Two sets of rules.  Lenient, for vocabularies in model files: merges may name anything, and
 * what is no token at the end falls back to bytes.  Strict, for tokenizer.json: merges are
 * between tokens, and characters that are none become bytes or the unknown token before
 * anything is joined. */
#ifndef LLAMAD_PLUGINS_COMMON_BPE_H
#define LLAMAD_PLUGINS_COMMON_BPE_H

#include "common/seam.h"
#include "common/tok.h"

struct lmi_bpe {
	const struct lmi_vocab *vocab;
	bool byte_level;         /* texts are in the byte alphabet; else plain UTF-8 */
	bool ignore_merges;      /* a word that is a token as a whole is that token */
	bool lines_whole;        /* so is a word of line feeds only */
	bool strict;             /* the members up to suffix are for this alone */
	bool byte_fallback;      /* a character that is no token becomes <0xNN> tokens */
	bool fuse_unk;           /* unknown characters in a row are one token */
	uint32_t unk;            /* the unknown token; LMI_NONE: such characters are left out */
	struct lmd_str prefix;   /* stands in front of all characters of a word but the first */
	struct lmd_str suffix;   /* stands behind the last */
	struct lmi_buf sym;      /* struct lmd_str [n_sym]: bytes of each symbol, ptr NULL = none */
	uint32_t n_sym;
	char *bytes;             /* what sym points to, if not the vocabulary */
	struct lmi_textmap map;   /* bytes to symbol */
	struct lmi_pairmap pairs;
	struct lmi_seams seams;   /* where words fall apart; none when that would change tokens */
	uint32_t byte_sym[256];  /* symbol of one byte (byte level) */
	uint32_t byte_tok[256];  /* token for a byte that belongs to no token, or LMI_NONE */
	uint32_t byte_low, byte_high; /* of byte_tok */
};

/* Flags are set by the caller before; merges of the spec are read.  On failure nothing is
 * left. */
enum lmd_status lmi_bpe_open(struct lmi_bpe *b, const struct lmi_vocab *v, struct lmd_error *err);
void lmi_bpe_close(struct lmi_bpe *b);

/* Puts the tokens of one word, n >= 1.  Uses j->buf[0..2]. */
enum lmd_status lmi_bpe_word(const struct lmi_bpe *b, struct lmi_job *j, const char *w, size_t n);

/* The same without the rules for whole words, without seams and without memory of earlier words;
 * for the former alone.  Uses j->buf[1..2]. */
enum lmd_status lmi_bpe_merge(const struct lmi_bpe *b, struct lmi_job *j, const char *w, size_t n);

#endif /* LLAMAD_PLUGINS_COMMON_BPE_H */
