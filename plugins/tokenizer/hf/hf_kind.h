/* SPDX-License-Identifier: MIT
 *
 * hf_kind.h - kind hf: a tokenizer that its file describes as a row of steps.
 *
 * Text is cut at added tokens, normalised by the steps of the first phase, cut at those added
 * tokens that are matched behind normalisation, cut into words by the steps of the second, and
 * each word becomes tokens by the model.  Decoding runs the list of token texts through the
 * steps of the last phase. */
#ifndef LLAMAD_PLUGINS_TOKENIZER_HF_HF_KIND_H
#define LLAMAD_PLUGINS_TOKENIZER_HF_HF_KIND_H

#include "common/bpe.h"
#include "common/charsmap.h"
#include "common/piece.h"
#include "common/rx.h"
#include "common/unigram.h"

#define HF_MAX_STEPS  32  /* of one phase */
#define HF_MAX_ADDED  256 /* bytes of an added token */

/* How matches of a pattern and what is between them become pieces. */
enum hf_behavior { HF_REMOVED, HF_ISOLATED, HF_WITH_PREVIOUS, HF_WITH_NEXT, HF_CONTIGUOUS };
enum { HF_NFC, HF_NFD, HF_NFKC, HF_NFKD }; /* details of hf_unicode_form */
enum hf_prepend { HF_NEVER, HF_FIRST, HF_ALWAYS };

/* What a step of any phase may need, made from its type and parameters. */
struct hf_step {
	const struct hf_type *type;
	const struct lmd_host *host;
	struct lmd_str pattern, content; /* also: replacement, prefix, suffix, ... */
	struct lmi_rx *rx;               /* instead of pattern */
	struct lmi_charsmap map;
	char *bytes;                     /* what map points to */
	enum hf_behavior behavior;
	enum hf_prepend prepend;
	uint32_t start, stop;
	bool search;                     /* by pattern or rx: every place of it */
	bool invert, left, right, lowercase, accents, clean, chinese, regex, split;
	bool materialize;                /* ByteLevel: characters of the alphabet are written */
};

/* Added tokens that are looked for at one point. */
struct hf_matcher {
	struct lmi_trie trie;
	uint8_t *pair;  /* [8192] bit: a token may begin with these two bytes */
	bool any;
};

enum hf_model { HF_BPE, HF_UNIGRAM, HF_WORDPIECE, HF_WORDLEVEL };

/* How the piece of a token comes from its text. */
enum hf_piece_rule {
	HF_PIECE_MADE,     /* it is in a table */
	HF_PIECE_SPELT,    /* by the byte alphabet */
	HF_PIECE_REPLACED  /* by replacing one text, and as a byte */
};

struct hf_state {
	struct lmi_tok tok; /* first */
	struct hf_step normal[HF_MAX_STEPS], cut[HF_MAX_STEPS], decode[HF_MAX_STEPS];
	uint32_t n_normal, n_cut, n_decode;
	struct hf_matcher raw, normalized;
	enum hf_model model;
	struct lmi_bpe bpe;
	struct lmi_unigram unigram;
	/* WordPiece and WordLevel */
	struct lmi_trie words;
	uint32_t unk;             /* LMI_NONE: there is none */
	uint32_t continuing; /* node of the trie behind the prefix, or LMI_NONE: no such token */
	uint32_t max_chars;
	/* Pieces: those that cannot be read off the text are made by open. */
	enum hf_piece_rule piece_rule;
	char *piece_text;
	uint32_t *piece_at;       /* [n + 1] */
};

/* Buffers of a job; 0..2 belong to the model. */
enum {
	HF_BUF_CLEAN = 3, HF_BUF_NORMAL = 4, HF_BUF_OTHER = 5, HF_BUF_WIDE = 6,
	HF_BUF_MARKS = 7
};

/* steps.c: the types that are known, and their parameters. */
enum lmd_status hf_steps_open(struct hf_state *h, const struct lmd_tokspec *spec,
			      struct lmd_error *err);
void hf_steps_close(struct hf_state *h);

const struct lmd_meta *hf_param(const struct lmd_tokstep *s, const char *key);
bool hf_param_bool(const struct lmd_tokstep *s, const char *key, bool def);
struct lmd_str hf_param_str(const struct lmd_tokstep *s, const char *key);

/* A transformation of a text: the result is what `out` has got in the end. */
struct hf_out {
	struct lmi_buf *buf;
	const struct lmd_host *host;
	size_t n;
	enum lmd_status st; /* why a step failed, if not for memory */
};
bool hf_put(struct hf_out *o, const char *s, size_t n);
bool hf_put_char(struct hf_out *o, uint32_t cp);

/* Normalizers: write the new text to o and clear *zero when the beginning of `in` is gone. */
typedef bool (*hf_normal_fn)(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
			     struct lmi_job *j, bool *zero);
bool hf_lowercase(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		  struct lmi_job *j, bool *zero);
bool hf_strip_accents(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		      struct lmi_job *j, bool *zero);
bool hf_strip(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
	      struct lmi_job *j, bool *zero);
bool hf_replace(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		struct lmi_job *j, bool *zero);
bool hf_prepend(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		struct lmi_job *j, bool *zero);
bool hf_nmt(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o, struct lmi_job *j,
	    bool *zero);
bool hf_bert(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o, struct lmi_job *j,
	     bool *zero);
bool hf_byte_chars(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		   struct lmi_job *j, bool *zero);
bool hf_unicode_form(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		     struct lmi_job *j, bool *zero);
bool hf_precompiled(const struct hf_step *s, const struct lmd_str *in, struct hf_out *o,
		    struct lmi_job *j, bool *zero);

/* What an expression may take for a text: far more than any that is meant for texts needs. */
static inline uint64_t hf_rx_steps(size_t n)
{
	return (1u << 26) + 256 * (uint64_t)n;
}

/* All normalizers in a row.  *text becomes the result, in buffers of j. */
enum lmd_status hf_normalize(const struct hf_state *h, struct lmi_job *j, struct lmd_str *text,
			     bool *zero);

/* Cutters: give pieces of s..end to the next level; see cut.h. */
struct hf_cut;
typedef enum lmd_status (*hf_cut_fn)(struct hf_cut *c, uint32_t level, const char *s,
				     const char *end, bool zero);

/* Cuts a normalised text into words and puts their tokens.  zero: it begins where the whole
 * text does. */
enum lmd_status hf_cut_text(const struct hf_state *h, struct lmi_job *j, const char *s, size_t n,
			    bool zero);

/* model.c */
enum lmd_status hf_model_open(struct hf_state *h, const struct lmd_tokstep *model,
			      struct lmd_error *err);
void hf_model_close(struct hf_state *h);
enum lmd_status hf_model_word(const struct hf_state *h, struct lmi_job *j, const char *w, size_t n);

/* added.c: after the vocabulary and the normalizers are open. */
enum lmd_status hf_added_open(struct hf_state *h, struct lmd_error *err);
void hf_added_close(struct hf_state *h);
/* Calls text for what is between the added tokens and puts these. */
struct hf_fragment {
	const char *s;
	size_t n;
	bool zero;    /* it begins where the whole text does */
	bool control; /* special tokens in it are tokens */
};
typedef enum lmd_status (*hf_fragment_fn)(const struct hf_state *h, struct lmi_job *j,
					  const struct hf_fragment *f);
enum lmd_status hf_added_cut(const struct hf_state *h, const struct hf_matcher *m,
			     struct lmi_job *j, const struct hf_fragment *f, hf_fragment_fn text);

/* decode.c, pieces.c */
enum lmd_status hf_decode(const void *state, const lmd_token *ids, size_t n_ids, uint32_t flags,
			  char *out, size_t cap, size_t *n, struct lmd_error *err);
size_t hf_piece(const void *state, lmd_token id, uint32_t flags, char *out, size_t cap);
/* Does decoding take the space of the first piece away? */
bool hf_strips_first(const struct hf_state *h);
enum lmd_status hf_pieces_open(struct hf_state *h, struct lmd_error *err);
void hf_pieces_close(struct hf_state *h);

/* chars.c: sets of characters as the programs that made the files understand them. */
bool hf_is_space(uint32_t cp);
bool hf_is_word(uint32_t cp);
bool hf_is_punctuation(uint32_t cp);
bool hf_is_number(uint32_t cp);
bool hf_is_chinese(uint32_t cp);
bool hf_is_mark(uint32_t cp);   /* StripAccents */
bool hf_is_accent(uint32_t cp); /* strip_accents of BertNormalizer */
bool hf_is_other(uint32_t cp);  /* its clean_text takes it away */
uint32_t hf_lower(uint32_t cp);
uint32_t hf_script(uint32_t cp); /* 0: none of its own */

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
HF_TABLE(lower_pairs); /* first to last, where Unicode 15.1 has no lower case */
#undef HF_TABLE

struct hf_type {
	const char *name;
	uint32_t phase;
	hf_normal_fn normal;
	hf_cut_fn cut;
	int detail;                      /* the function's own; of a decoder: enum hf_decoder */
	bool (*is)(uint32_t cp);         /* hf_cut_class */
};

enum hf_decoder {
	HF_DEC_BYTES, HF_DEC_REPLACE, HF_DEC_WORDPIECE, HF_DEC_FALLBACK, HF_DEC_FUSE, HF_DEC_STRIP,
	HF_DEC_METASPACE, HF_DEC_SUFFIX, HF_DEC_CTC
};

#endif /* LLAMAD_PLUGINS_TOKENIZER_HF_HF_KIND_H */
