/* SPDX-License-Identifier: MIT
 *
 * checkpoint.h - how a Hugging Face checkpoint of a family becomes a model of an architecture.
 *
 * A checkpoint is a folder with config.json and safetensors files.  Its "model_type" names the
 * family; a map of that type, which an architecture exports (lmd_arch_ops.checkpoints), has a row
 * for each weight and functions that read what is special in config.json.  The host reads what
 * nearly all families share (sizes, heads, norms, RoPE, experts, the vocabulary), applies the rows,
 * and rejects a checkpoint with a tensor that no row explains.
 *
 * The functions of a map are called once, in one thread, in the order layers, n_ff, keys.  An
 * error is reported with `fail`; the first one is kept, and the calls after it do nothing, so that
 * the functions need no checks. */
#ifndef LLAMAD_CHECKPOINT_H
#define LLAMAD_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/status.h"

LMD_BEGIN_DECLS

/* ---- rows ---- */

/* What happens to the rows of the file's weight. */
enum lmd_ckpt_op {
	LMD_CKPT_COPY = 0,
	LMD_CKPT_ROPE_Q = 1,     /* queries: in each head from halves to adjacent pairs */
	LMD_CKPT_ROPE_K = 2,     /* keys: likewise */
	LMD_CKPT_QKV = 3,        /* from groups of (queries, key, value) to all queries, keys, values */
	LMD_CKPT_LATENT_K = 4,   /* the n_nope key rows of each head of latent attention, transposed */
	LMD_CKPT_LATENT_V = 5,   /* the n_value value rows of each head */
	LMD_CKPT_DELTA = 6,      /* gated delta: the queries, keys and values of each key head */
	LMD_CKPT_DELTA_GATE = 7, /* gated delta: the gates */
	LMD_CKPT_TRANSPOSE = 8,  /* the matrix, or each of a stack, unless stored in blocks */
	LMD_CKPT_COLUMN = 9,     /* each value becomes a row */
	LMD_CKPT_GROUPS = 10,    /* values in n_group rows */
	LMD_CKPT_AFTER_PAD = 11  /* without the first n_pad_rows rows */
};

/* The part of each expert's rows (of the columns, with TRANSPOSE) that is used. */
enum lmd_ckpt_part {
	LMD_CKPT_WHOLE = 0,
	LMD_CKPT_FIRST_HALF = 1,
	LMD_CKPT_SECOND_HALF = 2,
	LMD_CKPT_EVEN = 3, /* every second one, starting from 0 */
	LMD_CKPT_ODD = 4
};

enum lmd_ckpt_values {
	LMD_CKPT_AS_STORED = 0,
	LMD_CKPT_PLUS_ONE = 1, /* stored as weight - 1; not for biases */
	LMD_CKPT_NEG_EXP = 2   /* x is stored as log(-x) */
};

/* What the second %d of the file's name counts; these weights become one tensor. */
enum lmd_ckpt_stack {
	LMD_CKPT_SINGLE = 0,
	LMD_CKPT_EXPERTS = 1,
	LMD_CKPT_HEADS = 2
};

/* The layers that have the row: those with or without experts, with attention or a mixer. */
#define LMD_CKPT_IN_MOE   1u
#define LMD_CKPT_IN_DENSE 2u
#define LMD_CKPT_IN_ATTN  4u
#define LMD_CKPT_IN_MIXER 8u

#define LMD_CKPT_OPTIONAL  1u  /* may be absent */
#define LMD_CKPT_ROOT      2u  /* the name is used as is, without the prefix of the body */
#define LMD_CKPT_BARE_FROM 4u  /* no ".weight" in the file */
#define LMD_CKPT_BARE_TO   8u  /* nothing is appended to our name */
#define LMD_CKPT_NO_BIAS   16u /* a bias in the file is not this row's */
#define LMD_CKPT_KEEP_DIMS 32u /* outer dimensions of 1 are kept */
#define LMD_CKPT_UNUSED    64u /* present in files but not used */
#define LMD_CKPT_INTEGERS  128u /* may be plain integers, which become F32; since ABI 0.14 */

/* How a weight of the file becomes a tensor; zeroed: as it is. */
struct lmd_checkpoint_how {
	uint8_t op;     /* enum lmd_ckpt_op */
	uint8_t part;   /* enum lmd_ckpt_part */
	uint8_t values; /* enum lmd_ckpt_values */
	uint8_t stack;  /* enum lmd_ckpt_stack */
	uint8_t layers; /* LMD_CKPT_IN_*; 0: all */
	uint8_t flags;  /* LMD_CKPT_OPTIONAL etc. */
	uint8_t reserved[2];
};

struct lmd_checkpoint_row {
	const char *from; /* "layers.%d.mlp.up_proj"; ".weight" and ".bias" are appended */
	const char *to;   /* "blk.%d.ffn_up" */
	struct lmd_checkpoint_how how;
};

/* A block of rows; families share most of their blocks. */
struct lmd_checkpoint_rows {
	const struct lmd_checkpoint_row *v;
	uint32_t n;
	uint32_t reserved;
};

/* ---- the checkpoint that is being opened ---- */

/* Kind of a layer, for families whose layers differ. */
#define LMD_CKPT_LAYER_MOE   1u /* experts, else a dense block */
#define LMD_CKPT_LAYER_MIXER 2u /* a recurrent mixer, else attention */

/* The greatest number of layers, of heads of a layer, and of experts. */
#define LMD_CKPT_MAX_LAYERS 1024u

/* Given to the functions of a map.  Names of config.json are alternatives "a|b|c", of which the
 * first one present counts, in text_config before the whole file; "a.b" is a member of an object;
 * null counts as absent.  Names of our keys get the architecture put before them; a name that
 * begins with '@' is used as it is. */
struct lmd_checkpoint {
	uint32_t struct_size;
	/* Read by the host: before `layers` what does not depend on attention, all before `keys`. */
	uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_expert;
	uint32_t rope_dim;
	const char *arch; /* general.architecture */

	/* Set by the map. */
	uint8_t *layers;  /* [n_layer] LMD_CKPT_LAYER_*, from `alloc`; NULL: all are alike */
	uint32_t n_pad_rows;              /* AFTER_PAD */
	uint32_t n_nope, n_value;         /* LATENT_*: widths of a head's key without RoPE, value */
	uint32_t n_group;                 /* GROUPS */
	uint32_t n_delta;                 /* DELTA*: number of key heads */
	uint32_t delta_key, delta_value;  /* DELTA*: widths of a key, of all values of a key head */
	bool tied;                        /* the embedding is also the head; read by the host first */
	uint8_t reserved[3];

	/* Values of config.json.  `def` is returned if there is none; need_int fails then. */
	bool (*has)(const struct lmd_checkpoint *c, const char *names);
	int64_t (*get_int)(struct lmd_checkpoint *c, const char *names, int64_t def, int64_t min,
			   int64_t max);
	int64_t (*need_int)(struct lmd_checkpoint *c, const char *names, int64_t min, int64_t max);
	double (*get_float)(struct lmd_checkpoint *c, const char *names, double def);
	bool (*get_bool)(struct lmd_checkpoint *c, const char *names, bool def);
	/* Is the value this text? */
	bool (*is_text)(const struct lmd_checkpoint *c, const char *names, const char *text);
	/* Is the value null?  Unlike for the others, null does not count as absent. */
	bool (*is_null)(const struct lmd_checkpoint *c, const char *name);
	/* Lists: the number of elements, -1 if there is no list; an element that is this text; an
	 * element that is an integer of 0..max (-1: it is not). */
	int64_t (*list_len)(const struct lmd_checkpoint *c, const char *names);
	bool (*list_is_text)(const struct lmd_checkpoint *c, const char *names, uint32_t i,
			     const char *text);
	int64_t (*list_int)(const struct lmd_checkpoint *c, const char *names, uint32_t i,
			    int64_t max);
	/* Sets is[n_layer] for the layers that "layer_types" says have a window; false if it does
	 * not exist. */
	bool (*window_layers)(struct lmd_checkpoint *c, uint8_t *is);
	/* Returns the value of the scalar tensor whose name is before + il + after. */
	double (*scalar)(struct lmd_checkpoint *c, const char *before, uint32_t il,
			 const char *after);

	/* Add keys.  Arrays come from `alloc` and are not copied. */
	void (*put_u32)(struct lmd_checkpoint *c, const char *key, int64_t v);
	void (*put_f32)(struct lmd_checkpoint *c, const char *key, double v);
	void (*put_bool)(struct lmd_checkpoint *c, const char *key, bool v);
	void (*put_ints)(struct lmd_checkpoint *c, const char *key, const int64_t *v, uint64_t n);
	void (*put_floats)(struct lmd_checkpoint *c, const char *key, const double *v, uint64_t n);
	void (*put_bools)(struct lmd_checkpoint *c, const char *key, const uint8_t *v, uint64_t n);

	/* Zeroed memory that lives as long as the model; NULL after an error. */
	void *(*alloc)(struct lmd_checkpoint *c, size_t n, size_t item_bytes);
	/* Records an error; the first one is kept.  The host puts the path of config.json before the
	 * message. */
	void (*fail)(struct lmd_checkpoint *c, enum lmd_status st, const char *fmt, ...)
		LMD_PRINTF(3, 4);
	/* Has an error been recorded? */
	bool (*failed)(const struct lmd_checkpoint *c);
};

/* ---- maps ---- */

#define LMD_CKPT_LAYER_NORM   1u   /* LayerNorm's epsilon, not RMSNorm's */
#define LMD_CKPT_NO_ROPE      2u
#define LMD_CKPT_MQA          4u   /* one key head, which no key states */
#define LMD_CKPT_KV_BY_GROUPS 8u   /* key heads from multi_query and new_decoder_architecture */
#define LMD_CKPT_MHA          16u  /* as many key heads as query heads in any case */
#define LMD_CKPT_PAD_ROWS     32u  /* positions start after the padding token */
#define LMD_CKPT_NO_HEADS     64u  /* no attention in any layer */
#define LMD_CKPT_MLA          128u /* latent attention: one key head in the cache */
#define LMD_CKPT_KV_PER_LAYER 256u /* number of key heads per layer, 0 for mixers */

#define LMD_CKPT_MAX_SETS 8

/* One family. */
struct lmd_checkpoint_map {
	const char *type;  /* "model_type" of config.json, or the first of its "architectures" */
	const char *arch;  /* general.architecture of the model */
	uint32_t flags;    /* LMD_CKPT_LAYER_NORM etc. */
	uint32_t reserved0;
	/* Blocks of rows, up to the first NULL.  The first row of the first one is the embedding. */
	const struct lmd_checkpoint_rows *rows[LMD_CKPT_MAX_SETS];
	/* Each of these may be NULL. */
	void (*layers)(struct lmd_checkpoint *c);             /* sets c->layers */
	int64_t (*n_ff)(struct lmd_checkpoint *c, int64_t n); /* feed-forward width; n: as stated */
	void (*keys)(struct lmd_checkpoint *c);               /* called after the shared keys */
	/* Value of tokenizer.ggml.pre, if several names stand for the steps of its tokenizer;
	 * NULL: the usual one.  Since ABI 0.9. */
	const char *pretokenizer;
	uint64_t reserved[2];
};

/* The families of an architecture. */
struct lmd_checkpoint_maps {
	const struct lmd_checkpoint_map *v;
	uint32_t n;
	uint32_t reserved;
};

LMD_END_DECLS

#endif /* LLAMAD_CHECKPOINT_H */
