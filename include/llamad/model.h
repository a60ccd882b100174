/* SPDX-License-Identifier: MIT
 *
 * model.h - the model descriptor: the contents of a model file, independent of its format.
 *
 * A format reader fills it after validating every count, offset and size; architectures and
 * tokenizers read it.  It is a read-only view: everything it points to belongs to the host, is
 * immutable and lives until the model is closed.  Any thread may read it. */
#ifndef LLAMAD_MODEL_H
#define LLAMAD_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

/* Type of a metadata value.  Integers of any width in the file arrive as I64 or U64
 * (U64 only when the value exceeds the range of I64), floats as F64. */
enum lmd_meta_type {
	LMD_META_BOOL = 1, /* i: 0 or 1 */
	LMD_META_I64 = 2,  /* i */
	LMD_META_U64 = 3,  /* u */
	LMD_META_F64 = 4,  /* f */
	LMD_META_STR = 5,  /* s */
	/* arrays: n elements at `a`, with the type in the comment */
	LMD_META_ARR_BOOL = 17, /* uint8_t, 0 or 1 */
	LMD_META_ARR_I64 = 18,  /* int64_t */
	LMD_META_ARR_F64 = 20,  /* double */
	LMD_META_ARR_STR = 21   /* struct lmd_str */
};

struct lmd_meta {
	const char *key;      /* NUL-terminated, no NUL inside */
	uint32_t type;        /* enum lmd_meta_type */
	uint32_t file_type;   /* number of the (element) type in a GGUF file, docs/formats.md */
	uint64_t n;           /* elements of an array, 1 otherwise */
	union {
		int64_t i;
		uint64_t u;
		double f;
		struct lmd_str s;
		const void *a;
	} v;
};

/* One tensor of the file.  dims[0] is contiguous; unused dims are 1. */
struct lmd_tensor {
	const char *name;     /* NUL-terminated */
	uint32_t dtype;       /* enum lmd_dtype */
	uint32_t n_dim;       /* 1..4 */
	int64_t dims[LMD_MAX_DIMS];
	uint32_t file;        /* index of the part of a split model */
	uint32_t reserved;
	uint64_t offset;      /* offset of the first byte in that file */
	uint64_t bytes;
	const void *data;     /* mapped and readable, or NULL if only the header was opened */
};

/* Kinds of a vocabulary entry (tokenizer.ggml.token_type). */
enum lmd_token_kind {
	LMD_TOKEN_NORMAL = 1,
	LMD_TOKEN_UNKNOWN = 2,
	LMD_TOKEN_CONTROL = 3,
	LMD_TOKEN_USER_DEFINED = 4,
	LMD_TOKEN_UNUSED = 5,
	LMD_TOKEN_BYTE = 6
};

/* One step of a tokenizer that is described as a sequence of steps (kind "hf").  Types and
 * parameters are those of tokenizer.json; nested sequences are flattened. */
enum lmd_tok_phase {
	LMD_TOK_NORMALIZE = 1,
	LMD_TOK_SPLIT = 2,
	LMD_TOK_MODEL = 3,   /* exactly one */
	LMD_TOK_DECODE = 4
};
struct lmd_tok_step {
	uint32_t phase;               /* enum lmd_tok_phase; steps are in this order */
	uint32_t n_param;
	const char *type;             /* "NFC", "Split", "BPE", ... */
	const struct lmd_meta *param; /* keys as in the file; "pattern.Regex" for a nested member */
};

/* How an added token of a vocabulary is matched in text (kind "hf"). */
#define LMD_ADDED_TOKEN       1u
#define LMD_ADDED_SPECIAL     2u  /* omitted when special tokens are left out */
#define LMD_ADDED_SINGLE_WORD 4u  /* matches only if no word continues on either side */
#define LMD_ADDED_LSTRIP      8u  /* includes the white space before it */
#define LMD_ADDED_RSTRIP      16u /* includes the white space after it */
#define LMD_ADDED_NORMALIZED  32u /* matched after normalisation */
#define LMD_ADDED_ONLY        64u /* not a token of the model's own vocabulary */

/* What a file says about its tokenizer.  Absent things are NULL, 0, or -1 for ids and flags; the
 * tokenizer then applies the defaults of its kind.  Array lengths were checked against n_tokens. */
struct lmd_tok_spec {
	uint32_t struct_size;
	const char *kind;            /* "gpt2", "llama", ...; "no_vocab"; NULL: the file has none */
	const char *pre;             /* pre-tokenizer name, or NULL */
	uint32_t n_tokens;
	const struct lmd_str *text;  /* [n_tokens] or NULL */
	const float *score;          /* [n_tokens] or NULL */
	const uint8_t *type;         /* [n_tokens] enum lmd_token_kind, or NULL */
	uint64_t n_merges;
	const struct lmd_str *merge; /* "left right", best first; NULL: the file has no list */
	struct lmd_str charsmap;     /* precompiled_charsmap bytes, ptr NULL if absent */
	/* special ids, -1 = absent (the file has no key for it) */
	int32_t bos, eos, eot, eom, unk, sep, pad, cls, mask;
	int32_t fim_pre, fim_suf, fim_mid, fim_pad, fim_rep, fim_sep;
	/* -1 = the file does not say */
	int8_t add_bos, add_eos, add_sep, add_space_prefix, remove_extra_whitespaces,
		escape_whitespaces, treat_whitespace_as_suffix, ignore_merges, clean_spaces,
		lowercase, strip_accents, reserved;
	uint32_t n_token_types;      /* tokenizer.ggml.token_type_count */
	struct lmd_str json;         /* the text of tokenizer.json, if the model has one */
	/* Some families have rules for their special tokens that no key of the file expresses;
	 * tokenizers recognise them by these names. */
	const char *arch;            /* general.architecture, or NULL */
	const char *model;           /* general.name, or NULL */
	/* Only for kind "hf". */
	uint32_t n_step;
	const struct lmd_tok_step *step;
	const uint8_t *added;        /* [n_tokens] LMD_ADDED_*, or NULL */
	const uint32_t *merge_left;  /* [n_merges] length of the left part in bytes; NULL: it ends
				      * at the first blank after the first byte */
	uint32_t n_prefix, n_suffix; /* tokens that encode adds before and after the text */
	const int32_t *prefix, *suffix;
};

/* A model as its file describes it.  `lookup` is private state of the host. */
struct lmd_model {
	uint32_t struct_size;
	uint32_t n_meta;
	uint32_t n_tensors;
	uint32_t n_files;
	const char *arch;            /* general.architecture: [a-z0-9][a-z0-9_.-]{0,47} */
	const char *name;            /* general.name or the file's name, printable, never NULL */
	const char *format;          /* "gguf v3", ... */
	const struct lmd_meta *meta;
	const struct lmd_tensor *tensors;
	const struct lmd_tok_spec *tok;  /* never NULL */
	struct lmd_str chat_template;    /* ptr NULL if absent */

	/* Constant-time lookups; return NULL if the name does not exist. */
	const struct lmd_meta *(*find_meta)(const struct lmd_model *m, const char *key);
	const struct lmd_tensor *(*find_tensor)(const struct lmd_model *m, const char *name);
	void *lookup;
};

LMD_END_DECLS

#endif /* LLAMAD_MODEL_H */
