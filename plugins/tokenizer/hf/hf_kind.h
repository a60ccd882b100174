/* SPDX-License-Identifier: MIT
 *
 * hf_kind.h - kind hf: a tokenizer that its file describes as a sequence of steps.
 *
 * Text is split at added tokens, normalised by the steps of the first phase, split at the added
 * tokens that are matched after normalisation, split into words by the steps of the second phase,
 * and each word is converted to tokens by the model. Decoding runs the list of token texts through
 * the steps of the last phase. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_HF_HF_KIND_H
#define LLAMAD_PLUGINS_TOKENIZER_HF_HF_KIND_H

#include "common/bpe.h"
#include "common/charsmap.h"
#include "common/piece.h"
#include "common/regex.h"
#include "common/unigram.h"

#define HF_MAX_STEPS  32  /* per phase */
#define HF_MAX_ADDED  256 /* maximum size of an added token in bytes */

/* How the matches of a pattern, and the text between them, become pieces. */
enum hf_behavior { HF_REMOVED, HF_ISOLATED, HF_WITH_PREVIOUS, HF_WITH_NEXT, HF_CONTIGUOUS };
enum { HF_NFC, HF_NFD, HF_NFKC, HF_NFKD }; /* detail of hf_unicode_form */
enum hf_prepend { HF_NEVER, HF_FIRST, HF_ALWAYS };

/* The data that a step of any phase may need, computed from its type and parameters. */
struct hf_step {
	const struct hf_type *type;
	const struct lmd_host *host;
	struct lmd_str pattern, content; /* content: also replacement, prefix, suffix, ... */
	struct tok_regex *rx;            /* used instead of pattern */
	struct tok_charsmap map;
	char *bytes;                     /* memory that map refers to */
	enum hf_behavior behavior;
	enum hf_prepend prepend;
	uint32_t start, stop;
	bool search;                     /* pattern or rx is searched for; every match counts */
	bool invert, left, right, lowercase, accents, clean, chinese, regex, split;
	bool materialize;                /* ByteLevel: write the characters of the byte alphabet */
};

/* The added tokens that are matched at one stage. */
struct hf_matcher {
	struct tok_trie trie;
	uint8_t *pair;  /* [8192] bit set: some token may start with these two bytes */
	bool any;
};

enum hf_model { HF_BPE, HF_UNIGRAM, HF_WORDPIECE, HF_WORDLEVEL };

/* How the piece of a token is derived from its text. */
enum hf_piece_rule {
	HF_PIECE_MADE,     /* stored in a table */
	HF_PIECE_SPELT,    /* decoded from the byte alphabet */
	HF_PIECE_REPLACED  /* by one text replacement, or as a byte */
};

struct hf_state {
	struct tok_tokenizer_base tok; /* must be first */
	struct hf_step normal[HF_MAX_STEPS], split[HF_MAX_STEPS], decode[HF_MAX_STEPS];
	uint32_t n_normal, n_split, n_decode;
	struct hf_matcher raw, normalized;
	enum hf_model model;
	struct tok_bpe bpe;
	struct tok_unigram unigram;
	/* WordPiece and WordLevel */
	struct tok_trie words;
	uint32_t unk;        /* TOK_NONE if there is none */
	uint32_t continuing; /* trie node after the prefix, or TOK_NONE if no token has it */
	uint32_t max_chars;
	/* Pieces that cannot be derived from the text are computed by open. */
	enum hf_piece_rule piece_rule;
	char *piece_text;
	uint32_t *piece_at;       /* [n + 1] */
};

/* Buffers of a job; 0..2 belong to the model. */
enum {
	HF_BUF_CLEAN = 3, HF_BUF_NORMAL = 4, HF_BUF_OTHER = 5, HF_BUF_WIDE = 6,
	HF_BUF_MARKS = 7
};

/* steps.c: the known types and their parameters. */
enum lmd_status hf_steps_open(struct hf_state *h, const struct lmd_tok_spec *spec,
			      struct lmd_error *err);
void hf_steps_close(struct hf_state *h);

const struct lmd_meta *hf_param(const struct lmd_tok_step *s, const char *key);
bool hf_param_bool(const struct lmd_tok_step *s, const char *key, bool def);
struct lmd_str hf_param_str(const struct lmd_tok_step *s, const char *key);

/* Output of a text transformation. */
struct hf_out {
	struct tok_buf *buf;
	const struct lmd_host *host;
	size_t n;
	enum lmd_status st; /* why a step failed, unless it was out of memory */
	struct tok_work work;
};
bool hf_put(struct hf_out *o, const char *s, size_t n);
bool hf_put_char(struct hf_out *o, uint32_t cp);

/* Normalizers: write the new text to o, and clear *zero if the start of `in` was removed. */
typedef bool (*hf_normal_fn)(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
			     struct tok_encode_job *j, bool *zero);
bool hf_lowercase(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		  struct tok_encode_job *j, bool *zero);
bool hf_strip_accents(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		      struct tok_encode_job *j, bool *zero);
bool hf_strip(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
	      struct tok_encode_job *j, bool *zero);
bool hf_replace(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		struct tok_encode_job *j, bool *zero);
bool hf_prepend(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		struct tok_encode_job *j, bool *zero);
bool hf_nmt(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
	    struct tok_encode_job *j, bool *zero);
bool hf_bert(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
	     struct tok_encode_job *j, bool *zero);
bool hf_byte_chars(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		   struct tok_encode_job *j, bool *zero);
bool hf_unicode_form(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		     struct tok_encode_job *j, bool *zero);
bool hf_precompiled(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		    struct tok_encode_job *j, bool *zero);

/* Step limit of an expression on a text of n bytes: far more than any reasonable expression
 * needs. */
static inline uint64_t hf_rx_steps(size_t n)
{
	return (1u << 26) + 256 * (uint64_t)n;
}

/* Runs all normalizers in sequence. *text becomes the result, in buffers of j. */
enum lmd_status hf_normalize(const struct hf_state *h, struct tok_encode_job *j,
			     struct lmd_str *text, bool *zero);

/* Pre-tokenizers: pass the pieces of s..end to the next level; see split.h. */
struct hf_split;
typedef enum lmd_status (*hf_split_fn)(struct hf_split *c, uint32_t level, const char *s,
				       const char *end, bool zero);

/* Splits a normalised text into words and emits their tokens. zero: it starts where the whole text
 * does. */
enum lmd_status hf_split_text(const struct hf_state *h, struct tok_encode_job *j, const char *s,
			      size_t n, bool zero);

/* model.c */
enum lmd_status hf_model_open(struct hf_state *h, const struct lmd_tok_step *model,
			      struct lmd_error *err);
void hf_model_close(struct hf_state *h);
enum lmd_status hf_model_word(const struct hf_state *h, struct tok_encode_job *j, const char *w,
			      size_t n);

/* added.c; call after the vocabulary and the normalizers have been opened. */
enum lmd_status hf_added_open(struct hf_state *h, struct lmd_error *err);
void hf_added_close(struct hf_state *h);
/* A fragment of text between added tokens. */
struct hf_fragment {
	const char *s;
	size_t n;
	bool zero;    /* it starts where the whole text does */
	bool control; /* special tokens in it are matched */
};
typedef enum lmd_status (*hf_fragment_fn)(const struct hf_state *h, struct tok_encode_job *j,
					  const struct hf_fragment *f);
enum lmd_status hf_added_split(const struct hf_state *h, const struct hf_matcher *m,
			       struct tok_encode_job *j, const struct hf_fragment *f,
			       hf_fragment_fn text);

/* decode.c, pieces.c */
enum lmd_status hf_decode(const void *state, const lmd_token *ids, size_t n_ids, uint32_t flags,
			  char *out, size_t cap, size_t *n, struct lmd_error *err);
size_t hf_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap);
/* Returns true if decoding removes the space of the first piece. */
bool hf_strips_first(const struct hf_state *h);
enum lmd_status hf_pieces_open(struct hf_state *h, struct lmd_error *err);
void hf_pieces_close(struct hf_state *h);

/* chars.c: character sets as the programs that made the files define them. */
bool hf_is_space(uint32_t cp);
bool hf_is_word(uint32_t cp);
bool hf_is_punctuation(uint32_t cp);
bool hf_is_number(uint32_t cp);
bool hf_is_chinese(uint32_t cp);
bool hf_is_mark(uint32_t cp);   /* StripAccents */
bool hf_is_accent(uint32_t cp); /* strip_accents of BertNormalizer */
bool hf_is_other(uint32_t cp);  /* removed by its clean_text */
uint32_t hf_lower(uint32_t cp);
uint32_t hf_script(uint32_t cp); /* 0: no script of its own */

struct hf_char_range {
	uint32_t first, last, value;
};
#define HF_TABLE(name)                                                                             \
	extern const struct hf_char_range hf_##name[] LMD_HIDDEN;                                  \
	extern const uint32_t hf_n_##name LMD_HIDDEN
HF_TABLE(scripts);
HF_TABLE(words);
HF_TABLE(punctuation);
HF_TABLE(numbers);
HF_TABLE(marks);
HF_TABLE(accents);
HF_TABLE(others);
HF_TABLE(lower_pairs); /* from first to last, where they differ from the lower case of Unicode
		        * 15.1 */
#undef HF_TABLE

struct hf_type {
	const char *name;
	uint32_t phase;
	hf_normal_fn normal;
	hf_split_fn split;
	int detail;              /* interpreted by the function; for a decoder: enum hf_decoder */
	bool (*is)(uint32_t cp); /* hf_split_class */
};

enum hf_decoder {
	HF_DEC_BYTES, HF_DEC_REPLACE, HF_DEC_WORDPIECE, HF_DEC_FALLBACK, HF_DEC_FUSE, HF_DEC_STRIP,
	HF_DEC_METASPACE, HF_DEC_SUFFIX, HF_DEC_CTC
};

#endif /* LLAMAD_PLUGINS_TOKENIZER_HF_HF_KIND_H */
