/* SPDX-License-Identifier: MIT
 *
 * inner.h - what the parts of the folder reader share. */
#ifndef LLAMAD_CORE_FORMAT_FOLDER_INNER_H
#define LLAMAD_CORE_FORMAT_FOLDER_INNER_H

#include <pthread.h>

#include "core/format/folder/folder.h"
#include "llamad/attr.h"

/* ---- weights of a checkpoint ---- */

/* How the values of one weight are stored. */
enum lmi_scheme {
	LMI_SCHEME_PLAIN,
	LMI_SCHEME_SCALED, /* w * scale of its block of rows and columns (fp8, int8) */
	LMI_SCHEME_AFFINE, /* MLX: codes in u32 words, scale and bias of each group */
	LMI_SCHEME_GPTQ,   /* codes down the columns of i32, zero points packed alike */
	LMI_SCHEME_AWQ,    /* codes along the rows of i32 in an order of their own */
	LMI_SCHEME_PACKED, /* compressed-tensors pack-quantized: codes in i32 along the rows */
	LMI_SCHEME_MXFP4,  /* blocks of 16 bytes, an exponent for each */
};

#define LMI_SCHEME_BLOCK 32u /* values of a Q4_0, Q4_1, Q8_0 block */

/* quantization_config of the folder. */
struct lmi_quant {
	enum lmi_scheme scheme;
	uint32_t bits, group;
	bool symmetric;   /* GPTQ: all zero points are the middle */
	bool order;       /* GPTQ: columns belong to groups in an order of their own (desc_act) */
	bool zero_offset; /* GPTQ: zero points are stored minus 1 */
};

/* One weight as rows of columns. */
struct lmi_source {
	const struct lmi_st_tensor *w, *scale, *zero, *order;
	uint8_t scheme; /* enum lmi_scheme */
	uint32_t bits, group;
	uint64_t rows, cols;
	bool symmetric, zero_offset;
};

/* How rows of sources become rows of the tensor. */
enum lmi_recipe_op {
	LMI_OP_NONE,
	LMI_OP_ROPE,      /* of each head: halves to adjacent pairs */
	LMI_OP_QKV,       /* groups of queries, key, value to all queries, keys, values */
	LMI_OP_DELTA,     /* queries, keys, values of each slice to all of each */
	LMI_OP_PART,      /* some rows of each slice */
	LMI_OP_TRANSPOSE, /* each slice turned; some of its columns */
	LMI_OP_VALUES     /* numbers that were computed from the configuration */
};

/* DELTA: slices of `rows` rows hold `first` queries, as many keys, n values, n gates.
 * A slice is a head, an expert, or all there is: so many rows of the source.  PART takes the rows
 * first, first + step, ..., n of them; TRANSPOSE takes as many columns, of the first n_used
 * rows. */
struct lmi_slices {
	uint64_t rows, n_used;
	uint64_t first, step, n;
};

struct lmi_recipe {
	struct lmi_source *src; /* [n_src], rows one behind the other */
	uint32_t n_src;
	uint8_t op;
	bool in_place;     /* mapped: type and order are those of the file */
	bool neg_exp;      /* x is stored as log(-x) */
	float add;
	uint64_t rows;     /* of one source that are taken */
	uint64_t row0;     /* the first of them */
	uint32_t n_head, head_dim, n_kv; /* ROPE, QKV */
	struct lmi_slices slice;         /* DELTA, PART, TRANSPOSE */
	const float *values;
};

/* ---- rows of families ---- */

/* Flags of a row. */
#define LMI_ROW_OPT    1u  /* may be absent */
#define LMI_ROW_ROOT   2u  /* the name stands as it is, without the prefix of the body */
#define LMI_ROW_ROPE_Q 4u
#define LMI_ROW_ROPE_K 8u
#define LMI_ROW_ADD1   16u /* weight stored minus 1 */
#define LMI_ROW_QKV    64u
#define LMI_ROW_EXPERT 128u /* the second %d of the name counts experts: stacked */
#define LMI_ROW_HALF0  256u /* the first or second half of the rows of each expert */
#define LMI_ROW_HALF1  512u
#define LMI_ROW_BARE   1024u /* no ".weight" in the file */
#define LMI_ROW_IGNORE 2048u /* in files, and not used */
#define LMI_ROW_NO_BIAS 4096u
#define LMI_ROW_HEADS  8192u /* the second %d counts heads: stacked */
#define LMI_ROW_BEHIND_PAD 16384u /* without its first n_pad_rows rows */
#define LMI_ROW_KEEP_DIMS  32768u /* outer sizes of 1 stay */
#define LMI_ROW_WHOLE   (1u << 16) /* nothing is appended to our name */
#define LMI_ROW_NEG_EXP (1u << 17) /* stored as log(-x) */
#define LMI_ROW_TURN    (1u << 18) /* a matrix, or each of a stack, transposed if not in blocks */
#define LMI_ROW_EVEN0   (1u << 19) /* every second row of each expert, from 0 or 1 */
#define LMI_ROW_EVEN1   (1u << 20)
#define LMI_ROW_K_B     (1u << 21) /* of each head the keys' rows, turned */
#define LMI_ROW_V_B     (1u << 22) /* of each head the values' rows */
#define LMI_ROW_COLUMN  (1u << 23) /* each value a row of its own */
#define LMI_ROW_GROUPS  (1u << 24) /* of values: a row for each of n_group */
/* only in layers with that bit, or without it */
#define LMI_ROW_MOE     (1u << 25)
#define LMI_ROW_DENSE   (1u << 26)
#define LMI_ROW_ATTN    (1u << 27)
#define LMI_ROW_MIXER   (1u << 28)
/* of each head of keys of gated delta: queries, keys and values; or the gates */
#define LMI_ROW_DELTA      (1u << 29)
#define LMI_ROW_DELTA_GATE (1u << 30)

struct lmi_row {
	const char *hf;  /* "layers.%d.mlp.up_proj": ".weight" and ".bias" are appended */
	const char *to;  /* "blk.%d.ffn_up" */
	uint32_t flags;
};

/* What a layer is made of, of families where layers differ. */
#define LMI_LAYER_MOE   1u /* experts; else one block */
#define LMI_LAYER_MIXER 2u /* a recurrent mixer; else attention */

struct lmi_rows {
	const struct lmi_row *v;
	uint32_t n;
};
#define LMI_ROWS(a) {a, (uint32_t)LMD_LEN(a)}
#define LMI_MAX_ROWS 6

#define LMI_FAM_LAYER_NORM 1u /* epsilon of LayerNorm, not of RMSNorm */
#define LMI_FAM_NO_ROPE    2u
#define LMI_FAM_ONE_KV     4u /* one head of keys, which no key says */
#define LMI_FAM_ALL_KV     16u /* a head of keys for each of queries, whatever is said */
#define LMI_FAM_PAD_ROWS   32u /* positions begin behind the padding token */
#define LMI_FAM_FALCON_KV  8u /* multi_query and new_decoder_architecture say how many */
#define LMI_FAM_NO_HEADS   64u  /* no attention in any layer */
#define LMI_FAM_MLA        128u /* latent attention: one head of keys in the cache */
#define LMI_FAM_KV_EACH    256u /* heads of keys of each layer, of mixers none */

struct lmi_folder;
struct lmi_family {
	const char *type; /* model_type */
	const char *arch;
	uint32_t flags;
	struct lmi_rows rows[LMI_MAX_ROWS];
	/* each NULL: nothing to do */
	void (*layers)(struct lmi_folder *f); /* sets f->layers, when their number is known */
	int64_t (*n_ff)(struct lmi_folder *f, int64_t n); /* width of the block, from what is said */
	void (*keys)(struct lmi_folder *f); /* after those that all share */
};

/* NULL when there is none. */
const struct lmi_family *lmi_family_find(const struct lmi_jnode *model_type);
/* Number i of all; NULL behind the last. */
const struct lmi_family *lmi_family_at(uint32_t i);

/* ---- the folder ---- */

struct lmi_folder {
	struct lmi_model *m;
	const char *dir;
	const char *one; /* the *.safetensors that was named, or NULL */
	const char *no_vocab; /* why the vocabulary has no form as keys; NULL: it has */
	uint32_t flags;
	struct lmi_jtree config, generation;
	struct lmi_hf_tokenizer *tokenizer; /* the model's vocabulary points into it; or NULL */
	const struct lmi_jnode *root; /* of config.json */
	const struct lmi_jnode *text; /* its text_config, or root */
	const struct lmi_family *fam;
	struct lmi_quant quant;
	struct lmi_st st;
	uint8_t *used; /* [st.n] */
	struct lmi_recipe *recipes; /* [cap]: of m->tensors[i]; heap, src and values in the arena */
	uint32_t cap;
	const char *prefix;
	bool tied; /* the output head is the embedding */
	uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_expert;
	uint32_t rope_dim, n_pad_rows;
	uint32_t n_nope, n_value, n_group; /* K_B, V_B; GROUPS */
	uint32_t n_delta, delta_key, delta_value; /* DELTA: heads, widths of each */
	uint8_t *layers; /* LMI_LAYER_* [n_layer], or NULL: all alike */
	const float *rope_freqs, *rope_long, *rope_short; /* [n_rope_freqs] each, or NULL */
	uint32_t n_rope_freqs;
	/* scratch of recipe.c and scheme.c */
	struct lmi_scratch {
		void *p;
		size_t bytes;
	} raw, values, codes, whole, turned, row, piece;
	const struct lmi_st_tensor *whole_of; /* what `whole` holds */
	const struct lmi_st_tensor *turned_of; /* ... and `turned`: that slice of it */
	uint64_t turned_slice;
	pthread_mutex_t lock; /* of the scratch, while a model that owns this is read */
	/* the first failure of a key or value */
	enum lmd_status status;
	struct lmd_error *err;
};

/* ---- conf.c ---- */

/* The value of the first of "a|b|c" that is there, in the text model's part, then outside; null
 * counts as absent. */
const struct lmi_jnode *lmi_conf(const struct lmi_folder *f, const char *names);
bool lmi_conf_has(const struct lmi_folder *f, const char *names);
/* Sticking failures name config.json, the key and the bound.  `def` when absent; the _need ones
 * fail then. */
int64_t lmi_conf_int(struct lmi_folder *f, const char *names, int64_t def, int64_t min,
		     int64_t max);
int64_t lmi_conf_need(struct lmi_folder *f, const char *names, int64_t min, int64_t max);
double lmi_conf_real(struct lmi_folder *f, const char *names, double def);
bool lmi_conf_bool(struct lmi_folder *f, const char *names, bool def);
/* Is it this text? */
bool lmi_conf_is(const struct lmi_folder *f, const char *names, const char *text);

/* A failure that sticks; the first one counts. */
void lmi_folder_fail(struct lmi_folder *f, enum lmd_status st, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* Reads a JSON file of the folder; an absent one leaves *t empty and is fine when `optional`. */
enum lmd_status lmi_folder_json(struct lmi_folder *f, const char *name, bool optional,
				size_t max_bytes, uint32_t max_nodes, struct lmi_jtree *t);

/* Keys.  Those that begin with '@' stand as they are, the others get the architecture before
 * them.  Failures stick. */
void lmi_folder_put_u32(struct lmi_folder *f, const char *key, int64_t v);
void lmi_folder_put_i32(struct lmi_folder *f, const char *key, int64_t v);
void lmi_folder_put_f32(struct lmi_folder *f, const char *key, double v);
void lmi_folder_put_bool(struct lmi_folder *f, const char *key, bool v);
void lmi_folder_put_str(struct lmi_folder *f, const char *key, const char *s, size_t n);
/* v is kept: it lives in the model's arena. */
void lmi_folder_put_strings(struct lmi_folder *f, const char *key, const struct lmd_str *v,
			    uint64_t n);
void lmi_folder_put_ints(struct lmi_folder *f, const char *key, const int64_t *v, uint64_t n);
void lmi_folder_put_floats(struct lmi_folder *f, const char *key, const double *v, uint64_t n);
void lmi_folder_put_bools(struct lmi_folder *f, const char *key, const uint8_t *v, uint64_t n);
/* v: bytes, one to an element. */
void lmi_folder_put_bytes(struct lmi_folder *f, const char *key, const int64_t *v, uint64_t n);
/* Zeroed, in the model's arena; NULL after a failure, which sticks. */
void *lmi_folder_alloc(struct lmi_folder *f, size_t n, size_t item_bytes);

/* ---- keys.c ---- */

/* Sizes, heads, norms, rotation, then those of the family. */
void lmi_folder_keys(struct lmi_folder *f);
/* Which layers have a window, by layer_types; false when the file does not say.  is: [n_layer]. */
bool lmi_folder_windows(struct lmi_folder *f, uint8_t *is);

/* pooling_type, of 1_Pooling/config.json. */
void lmi_folder_pooling(struct lmi_folder *f);

/* ---- tensors.c, shape.c, recipe.c, scheme.c, values.c, codes.c ---- */

/* ".weight" or ".bias" of a row from n sources of one shape: the next tensor of the model, with its
 * recipe.  Failures stick. */
void lmi_folder_add(struct lmi_folder *f, const struct lmi_row *row, struct lmi_source *src,
		    uint32_t n, bool bias, const char *to);
/* A tensor of f->n_rope_freqs computed values. */
void lmi_folder_add_values(struct lmi_folder *f, const char *name, const float *v);

/* Our tensors with their recipes; every tensor of the files is used or known to be of no use. */
void lmi_folder_tensors(struct lmi_folder *f);
/* quantization_config, or MLX's quantization. */
void lmi_folder_scheme(struct lmi_folder *f);
/* The weight of a stem ("a.b.q_proj"), whatever its scheme; false when there is none.  Failures
 * stick.  Marks what it found as used. */
bool lmi_source_find(struct lmi_folder *f, const char *stem, struct lmi_source *out);
/* A tensor of exactly that name. */
bool lmi_source_plain(struct lmi_folder *f, const char *name, struct lmi_source *out);
/* SCALED: a scale for each row? */
bool lmi_scaled_by_row(const struct lmi_source *s);
/* The type that the values of a source have in the model; float types where the rows are not kept
 * as they are (`changed`). */
enum lmd_dtype lmi_source_type(const struct lmi_source *s, bool changed);
/* n rows from row0 on as floats, or as blocks of lmi_source_type when that is a block type. */
enum lmd_status lmi_source_floats(struct lmi_folder *f, const struct lmi_source *s, uint64_t row0,
				  uint64_t n, float *out, struct lmd_error *err);
enum lmd_status lmi_source_blocks(struct lmi_folder *f, const struct lmi_source *s, uint64_t row0,
				  uint64_t n, void *out, struct lmd_error *err);
/* The same of a source that is codes. */
enum lmd_status lmi_coded_floats(struct lmi_folder *f, const struct lmi_source *s, uint64_t row0,
				 uint64_t n, float *out, struct lmd_error *err);
/* n values of a tensor from value `at` on. */
enum lmd_status lmi_source_values(struct lmi_folder *f, const struct lmi_st_tensor *t, uint64_t at,
				  uint64_t n, float *out, struct lmd_error *err);
/* Makes room; NULL without memory, with a sentence. */
void *lmi_scratch(struct lmi_scratch *s, uint64_t n, uint64_t item_bytes, struct lmd_error *err);
/* The first value of the tensor of that name, with the number of a layer in it; failures stick. */
double lmi_folder_scalar(struct lmi_folder *f, const char *before, uint32_t il, const char *after);
/* Bytes [at, at + n) of a tensor in its file. */
enum lmd_status lmi_source_read(struct lmi_folder *f, const struct lmi_st_tensor *t, uint64_t at,
				void *buf, size_t n, struct lmd_error *err);
/* The row of a source that row u of the tensor is. */
uint64_t lmi_recipe_row(const struct lmi_recipe *r, uint64_t u);
/* n values of a type in files. */
void lmi_st_decode(enum lmi_st_type type, const void *src, float *dst, size_t n);

/* ---- vocab.c ---- */

/* Reads generation_config.json; its defaults of sampling become keys. */
void lmi_folder_generation(struct lmi_folder *f);
/* The tokenizer of the folder as that of the model, whose keys have been checked. */
void lmi_folder_vocab(struct lmi_folder *f);

/* ---- vocab_keys.c, pretok.c ---- */

/* The vocabulary as keys.  Returns what is in the way of it, or NULL; pre: NULL, or the name of the
 * pre-tokenizer. */
const char *lmi_folder_vocab_keys(struct lmi_folder *f, const char *pre);
/* The pre-tokenizer of GGUF that does what the steps say, or NULL. */
const char *lmi_pretok_name(const struct lmd_tokspec *s, const char *arch);

#endif /* LLAMAD_CORE_FORMAT_FOLDER_INNER_H */
