/* SPDX-License-Identifier: MIT
 *
 * arch.h - kind ARCH: what a model of one architecture computes.
 *
 * The factory's name and aliases are values of general.architecture.  An architecture consists of
 * tables of the tensors it reads, with symbolic dims; describe(), which resolves the
 * hyper-parameters and declares the memory of a sequence; and build(), which emits a plan.  It
 * never sees a device, a pointer to weights, or a clock.
 *
 * describe() is called once per loaded model; its results live in an arena as long as the model.
 * build() is called once for each plan key.  rows() runs before every step, on the engine thread,
 * and must not allocate. */
#ifndef LLAMAD_ARCH_H
#define LLAMAD_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/checkpoint.h"
#include "llamad/host.h"
#include "llamad/model.h"
#include "llamad/plan.h"
#include "llamad/status.h"
#include "llamad/step.h"
#include "llamad/types.h"

LMD_BEGIN_DECLS

/* ---- tensors ---- */

#define LMD_TENSOR_REQUIRED   1u
#define LMD_TENSOR_BIAS       2u  /* "STEM.bias" may exist: dims[1] values (dims[0] for vectors) */
#define LMD_TENSOR_BIAS_REQ   4u  /* "STEM.bias" must exist */
#define LMD_TENSOR_SCALE      8u  /* "STEM.scale" may exist */
#define LMD_TENSOR_BARE       16u /* the name is the stem itself, without ".weight" */
#define LMD_TENSOR_GLOBAL     32u /* one per model: the stem has no %d */
#define LMD_TENSOR_PER_EXPERT 64u /* "alt" names one tensor for each slice of dims[2]: it contains
				   * "%d" twice */
#define LMD_TENSOR_UNUSED     128u /* known and ignored (`explain` says so) */
#define LMD_TENSOR_ANY_SHAPE  256u /* dims depend on the contents of the file; build checks them */
#define LMD_TENSOR_LORA       512u /* adapters may apply to it */
#define LMD_TENSOR_KEEP_TYPE  1024u /* a quantiser leaves its type; since ABI 0.9 */

/* Symbolic dims: numbers with LMD_DIM_CONST are literal, 0 means "1 or absent", and all others are
 * symbols of the architecture, resolved by lmd_arch_ops.dim. */
#define LMD_DIM_CONST     0x8000u
#define LMD_DIM(n)        (LMD_DIM_CONST | (n))

/* A row of a tensor table: one weight with its bias and scale. */
struct lmd_tensor_row {
	const char *stem;     /* "blk.%d.attn_q": ".weight", ".bias", ".scale" are appended */
	uint16_t dims[LMD_MAX_DIMS]; /* symbols, dims[0] contiguous; sizes of 1 are not compared */
	uint16_t flags;       /* LMD_TENSOR_* */
	uint16_t split;       /* enum lmd_split */
	uint32_t when;        /* layers that have it, as bits of lmd_arch_ops.layer_class;
			       * 0 = all */
	const char *alt;      /* alternative name of the tensor, or NULL */
};

/* A block of rows; the architectures of a family share most of their blocks. */
struct lmd_tensor_set {
	const struct lmd_tensor_row *rows;
	uint32_t n_rows;
	uint32_t reserved;
};

/* ---- description ---- */

enum lmd_driver {
	LMD_DRIVER_AUTOREGRESSIVE = 0, /* one token after another through the cache */
	LMD_DRIVER_ENCODER = 1,        /* one pass, output EMBED */
	LMD_DRIVER_ENCDEC = 2,         /* ENCODE, then autoregressive from decoder_start */
	LMD_DRIVER_DIFFUSION = 3,      /* full passes over the whole sequence, LOGITS for all rows */
	LMD_DRIVER_CODEC = 4,          /* ids in, frames out (EMBED, no pooling) */
	LMD_DRIVER_TOWER = 5           /* patches of a picture in, rows for a language model out (EMBED,
					* no pooling); since ABI 0.12 */
};

#define LMD_TRAIT_HOST_TOKENS   1u /* rows() reads the token history, so steps cannot be chained */
#define LMD_TRAIT_NO_MIX        2u /* external rows and tokens never share a step: plans of variant
				    * 1 run the rows, those of variant 0 the tokens */
#define LMD_TRAIT_RECURRENT     4u /* has STATE groups: a prefix can be kept only at snapshots */
#define LMD_TRAIT_POOL_BY_KEY   8u /* ENCODER: the file states the pooling type */

/* How the pixels of a picture are fitted. */
enum lmd_picture_fit {
	LMD_PICTURE_SQUARE = 0,  /* to size x size, out of proportion */
	LMD_PICTURE_PAD = 1,     /* the longer side to size; centred in a square of the mean colour */
	LMD_PICTURE_TILES = 2,   /* the longer side to `longest`, both sides to the next multiples of size:
				  * squares of that size are pictures of their own, line by line, and
				  * the whole picture as one square is the last one */
	LMD_PICTURE_FREE = 3     /* both sides to multiples of patch * merge, so that there are between
				  * min_pixels and max_pixels */
};

enum lmd_picture_filter { LMD_PICTURE_BICUBIC = 0, LMD_PICTURE_BILINEAR = 1, LMD_PICTURE_LANCZOS = 2 };

#define LMD_PICTURE_BOTH_WAYS 1u /* in the language model, the rows of a picture see each other */
#define LMD_PICTURE_GRID      2u /* its rows have multi-part positions: time, line, column */

/* What a tower expects of its input, and a language model of its output.  A patch is an external row:
 * its values by channel, line and column, each (v/255 - mean) / deviation of its channel.  The patches
 * of a block of merge x merge follow each other, line by line; so do the blocks.  Positions: pos[0] is
 * the number of the patch, counted line by line over the picture, plus n_first; or with by_line, pos[0]
 * is its line and pos[1] its column.  Since ABI 0.12. */
struct lmd_picture {
	uint32_t struct_size;
	uint32_t fit;         /* enum lmd_picture_fit */
	uint32_t patch;       /* pixels of a side */
	uint32_t merge;       /* patches of a side of a block, which is one row of the output */
	uint32_t size;        /* pixels of a side: multiple of patch * merge; not for FREE */
	uint32_t longest;     /* TILES: pixels, multiple of size */
	uint32_t min_pixels, max_pixels; /* FREE */
	uint32_t n_first;     /* tokens with the numbers 0, 1, ... before the patches; the rows of the
			       * output that are theirs are not used.  0 unless merge is 1 */
	uint32_t by_line;
	uint32_t filter;      /* enum lmd_picture_filter: how it is resized */
	uint32_t flags;       /* LMD_PICTURE_* */
	float mean[3], deviation[3];
	/* Text around the rows of a picture, with control tokens; never NULL.  TILES: `tile` is before
	 * each tile, where %r and %c stand for the numbers of its line and column, from 1; `line_end` is
	 * after each line, `whole` before the last picture if there are tiles, instead of `before`. */
	const char *before, *after, *tile, *line_end, *whole;
	uint32_t reserved[8];
};

/* The greatest number of streams that a hidden row is made of. */
#define LMD_MAX_TAP   16
/* The greatest number of tokens that a draft model computes together. */
#define LMD_MAX_BLOCK 256

/* What a draft model says of itself: a small model that has only DRAFT plans, and computes its rows from
 * the hidden rows of another model, its target.  Since ABI 0.14. */
struct lmd_draft {
	uint32_t struct_size;
	/* 0: variant 0 of the DRAFT plan computes row r from token r and the target's hidden row of token
	 * r - 1, variant 1 from a hidden row that an earlier step put out; the logits are those of token
	 * r + 1.
	 * n > 1: a step guesses up to n - 1 tokens together.  Variant 0 computes the keys of row r from the
	 * target's hidden row of token r, and has no output; variant 1 has no input: its rows are the last
	 * token and mask_token, and the logits of each row are those of its own token. */
	uint32_t n_block;
	int32_t mask_token;     /* with n_block */
	uint32_t n_target_embd; /* width of the target's stream; 0: any */
	/* A hidden row of the target is the streams before these of its layers, side by side.  n_tap 0: three
	 * streams, whose layers are chosen by the host. */
	uint32_t n_tap;
	uint32_t taps[LMD_MAX_TAP];
	/* The tensor with the target's token for each of the draft's, as I64 or I32; LMD_NONE: they are the
	 * same.  relative: the difference of the two. */
	uint32_t token_map;
	uint32_t map_is_relative;
	uint32_t reserved[8];
};

struct lmd_arch_desc {
	uint32_t struct_size;
	uint32_t n_layer;          /* layers of the trunk, without draft blocks */
	uint32_t n_vocab;
	uint32_t n_embd;           /* width of the residual stream */
	uint32_t n_embd_out;       /* width of EMBED */
	uint32_t n_input_embd;     /* width of a row of external input 0 */
	uint32_t n_ctx_train;
	uint32_t driver;           /* enum lmd_driver */
	uint32_t traits;           /* LMD_TRAIT_* */
	int32_t pooling;           /* enum lmd_pooling: from the file, or LMD_POOL_UNSET */
	int32_t decoder_start;     /* ENCDEC: first token of the decoder; -1 = none */
	int32_t mask_token;        /* DIFFUSION: id of the mask token; -1 = ask the tokenizer */
	uint32_t n_group, n_cache, n_row_in, n_x, n_lora_site;
	uint32_t n_variant;        /* number of values of lmd_plan_key.variant, >= 1 */
	const struct lmd_group *groups;
	const struct lmd_cache *caches;   /* dtypes are not filled in */
	const struct lmd_row_in *row_ins;
	const char *const *lora_sites;    /* [n_lora_site] stem of the base tensor of each site */
	/* Private state of the architecture, for build and rows (hyper-parameters per layer
	 * etc.). */
	const void *state;
	/* Text for `llamactl explain` and `info`: "heads 9, kv heads 3, ..."; may be NULL. */
	const char *summary;
	/* [n_x] rows of TOKENS for one row of X(k) in FORWARD plans; NULL: only ENCODE plans have X
	 * spaces.  A sequence has a multiple of them.  Since ABI 0.12. */
	const uint32_t *x_ratio;
	const struct lmd_picture *picture; /* TOWER; otherwise NULL.  Since ABI 0.12. */
	/* Draft blocks that DRAFT plans can run: at most as many as lmd_arch_params.n_draft asks for.
	 * Their caches follow those of the trunk.  Since ABI 0.13. */
	uint32_t n_draft;
	/* Width of the hidden rows that FORWARD plans put out for lmd_arch_params.taps: n_tap * n_embd; 0: the
	 * architecture cannot put out these streams.  Without taps, the width of those that the draft blocks read
	 * and put out; 0: n_embd.  Since ABI 0.14. */
	uint32_t n_hidden;
	const struct lmd_draft *draft; /* a draft model; otherwise NULL.  Since ABI 0.14. */
	uint64_t reserved[4];
};

struct lmd_arch_params {
	uint32_t struct_size;
	uint32_t n_ctx;            /* context length of this engine (decides longrope factors),
				    * 0 = n_ctx_train */
	int32_t pooling;           /* requested pooling, or LMD_POOL_UNSET */
	uint32_t rank, n_rank;     /* as in lmd_plan_key */
	uint32_t n_draft;          /* draft blocks that will be run; since ABI 0.13 */
	/* Hidden rows are the streams before these layers, side by side; n_layer stands for the stream after
	 * the last one.  n_tap 0: they are the stream after the last norm.  Since ABI 0.14. */
	uint32_t n_tap;
	uint32_t reserved0;
	const uint32_t *taps;
};

/* ---- rows ---- */

/* Token history.  token_at returns the token at a position of the sequence in this slot, including
 * the tokens of this step; -1 before the first token or for an external row. */
struct lmd_rows_in {
	uint32_t struct_size;
	const struct lmd_step *step; /* all members except row_in are set */
	void *ctx;
	lmd_token (*token_at)(void *ctx, uint32_t seq_slot, int64_t index);
	/* number of tokens of the sequence before its first row of this step */
	int64_t (*n_past)(void *ctx, uint32_t seq_slot);
};

/* Buffers that rows() fills: row_in[k] is [n_tok][width], i32 or f32 as declared. */
struct lmd_rows_out {
	void *row_in[LMD_MAX_ROW_IN];
};

/* ---- the table ---- */

/* What a quantiser has to know of an architecture in order to choose tensor types; zero = nothing
 * unusual. */
#define LMD_QUANT_V_GROUPED   1u /* v_layers counts only if several query heads share a value head */
#define LMD_QUANT_FIRST_DOWN  2u /* few down projections need more bits, the attention output does not */
#define LMD_QUANT_MORE_STACKS 4u /* not only experts are stacks of matrices */
struct lmd_quant_traits {
	uint32_t flags;    /* LMD_QUANT_* */
	uint32_t v_layers; /* number of layers of the size of model whose value projections are so small
			    * that they get more bits; 0 = none */
	uint32_t reserved[2];
};

struct lmd_arch_ops {
	uint32_t struct_size;
	uint32_t n_sets;
	const struct lmd_tensor_set *sets;   /* [n_sets] */

	/* Mandatory.  Reads keys, checks ranges (LMD_INVALID or LMD_NOTFOUND with the key, the
	 * value and the bound), and fills *out.  Memory comes from host->arena_alloc(arena). */
	enum lmd_status (*describe)(const struct lmd_host *host, struct lmd_arena *arena,
				    const struct lmd_model *model,
				    const struct lmd_arch_params *params,
				    struct lmd_arch_desc *out, struct lmd_error *err);

	/* Mandatory with tensor sets.  Returns the value of a dim symbol in a layer (-1 for GLOBAL
	 * rows), or 0 if the layer has no such dimension. */
	int64_t (*dim)(const void *state, uint32_t symbol, int32_t layer);

	/* Optional (NULL: all ones).  Returns the classes of block layer il: the bits that
	 * lmd_tensor_row.when refers to. */
	uint32_t (*layer_class)(const void *state, int32_t il);

	/* Mandatory.  Emits the plan for `key`; returns LMD_UNSUPPORTED for a key it cannot
	 * serve. */
	enum lmd_status (*build)(const void *state, const struct lmd_builder *b,
				 const struct lmd_plan_key *key);

	/* Optional.  Fills the row inputs that describe declared. */
	enum lmd_status (*rows)(const void *state, const struct lmd_rows_in *in,
				struct lmd_rows_out *out);

	/* Optional (NULL: nothing unusual). */
	const struct lmd_quant_traits *quant;

	/* Optional (NULL: none).  The Hugging Face checkpoints that become models of this
	 * architecture.  Since ABI 0.7. */
	const struct lmd_checkpoint_maps *checkpoints;
};

LMD_END_DECLS

#endif /* LLAMAD_ARCH_H */
