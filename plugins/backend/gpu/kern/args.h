/* SPDX-License-Identifier: MIT
 *
 * args.h - what the host passes to kernels: the same structs for the host's compiler and for the
 * devices' compilers, so only plain fields of fixed size.  Addresses are those of the device. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_KERN_ARGS_H
#define LLAMAD_PLUGINS_BACKEND_GPU_KERN_ARGS_H

#include <stdint.h>

#include "backend/common/device_types.h"

#define GPU_MAX_INPUT 24 /* external inputs of a plan */
#define GPU_MAX_GROUP 8
#define GPU_N_SPACE   9
#define GPU_MAX_PART  32  /* parts of the keys of a row (kern/split.h) */
#define GPU_CHUNK     256 /* keys of a chunk */
#define GPU_MAX_PEER  8   /* devices of a group */
#define GPU_N_TURN    64u /* runs of a group whose ends are kept */
#define GPU_SHARED_BYTES 49152u /* shared memory that a block may ask for on every device */
#define GPU_PLANES    256u /* in a type: its rows lie in planes (kern/planes.h) */

/* 16 bytes, as one load brings them. */
struct gpu_four {
	uint32_t v[4];
};

/* ---- the running step ---- */

struct gpu_input {
	uint64_t ptr;             /* 0: not bound */
	uint64_t row_bytes;
	uint32_t n_row, reserved;
};

/* The part of the step that belongs to one group, and the page table of its pool. */
struct gpu_group {
	uint64_t kv_lo, kv_hi, slot, change, state_in, state_out;
	uint64_t table;           /* u32 [n_seq][n_index]; 0: no page table */
	uint32_t n_index, page_tokens;
	uint32_t n_seq, n_page;
	uint32_t ratio, kind;
	uint32_t k_space, reserved;
};

/* Lies in device memory, one for each plan.  All but `in` is written when the plan is compiled. */
struct gpu_run {
	uint64_t block;           /* struct lmd_step_header and its arrays; 0 = absent below */
	uint64_t token, pos[4], seq_of, q_start, q_len, seq_slot, out_row, tree, lora_slot;
	uint64_t x_off[6], x_h[6], x_w[6];
	struct gpu_group group[GPU_MAX_GROUP];
	uint64_t chained;         /* i32 [sequence slots]: the token sampled last */
	uint64_t turn;            /* number of this run in its device group; 0 = none */
	uint32_t n_group;
	uint32_t gave_up;         /* enum gpu_peer_end of this run so far */
	struct gpu_input in[GPU_MAX_INPUT];
};

struct gpu_begin_args {
	uint64_t run, turn;
	uint32_t n_in, reserved;
	struct gpu_input in[GPU_MAX_INPUT];
};

/* ---- operands ---- */

enum gpu_view_flags { GPU_VIEW_I32 = 1, GPU_VIEW_SET = 2 };

/* A window of a value, as struct lmd_operand describes it.  No GPU_VIEW_SET: absent. */
struct gpu_view {
	uint64_t base;            /* first row; an input's address comes with the step */
	uint32_t row_bytes;       /* 0: the same row for all */
	uint32_t col0, n_head, head_stride, width;
	uint32_t fold;            /* at least 1 */
	uint32_t div;             /* its rows are those of the space, divided by this */
	uint32_t value_width;
	uint32_t reserved2;
	uint8_t space;            /* enum lmd_space; GPU_N_SPACE: rows of its own */
	uint8_t flags;
	uint8_t input;            /* 1 + number of the external input; 0 = none */
	uint8_t reserved;
};

/* A weight: rows of k values, row_bytes apart; slices follow each other. */
struct gpu_weight {
	uint64_t data;
	uint64_t scale, bias;     /* f32; 0 = none */
	uint64_t slice_bytes;
	uint32_t row_bytes;
	uint32_t dtype;           /* enum lmd_dtype, plus GPU_PLANES if it lies in planes */
	uint32_t n_stack, n, k;
	uint32_t n_scale, n_bias;
	uint32_t reserved;
};

struct gpu_norm {
	uint32_t kind;            /* enum lmd_norm_kind */
	float eps;
	uint32_t n;               /* columns of a group; 0: all */
	float plus;               /* added to g */
	struct gpu_view g, b;
};

/* What follows a product: see LINEAR in llamad/op.h. */
struct gpu_epilogue {
	struct gpu_view y, r_in, r_out;
	uint64_t extra;           /* f32 [n]: added at the very end; 0 = none */
	float scale, a, softcap, clamp_lo, clamp_hi;
	float p[4];
	uint32_t act;
	uint32_t clamp;
	uint32_t reserved;
};

/* ---- kernels: one struct for each ---- */

/* Which row of x belongs to a row of the work. */
enum gpu_rows { GPU_ROWS_SAME = 0, GPU_ROWS_OUT_ROW = 1 };

/* v = x + a*r (times `weight` of the pair); h = v; y = norm(v).  One block for each (row, head). */
struct gpu_norm_args {
	uint64_t run;
	struct gpu_view x, r, h, y, stat;
	struct gpu_norm norm;
	float a;
	uint32_t rows;            /* enum gpu_rows */
	struct gpu_view times;    /* y's head j: x is multiplied by column j; NONE: 1 */
	uint32_t one_head;        /* x has one head for all heads of y */
	uint32_t over_rows;
	uint64_t q8;              /* y rounded to 8 bits as well, a row for each head; 0 = no */
};

/* Rows rounded to 8 bits (kern/q8.h), from f32 rows. */
struct gpu_round_args {
	uint64_t run;
	uint64_t x;               /* f32 rows, x_stride floats apart */
	uint64_t q8;              /* 0 = none */
	uint64_t y;               /* the rounded numbers as f32 [rows][k]; 0 = none */
	uint32_t x_stride, k;
	uint32_t space, fold, heads, reserved;
};

/* Rows as sums of two 16-bit floats (kern/halves.h), from f32 rows. */
struct gpu_halves_args {
	uint64_t run;
	uint64_t x, out;
	uint32_t x_stride, k;
	uint32_t space, fold, heads;
	uint32_t bf16;            /* 0: f16 */
};

/* Pairs in the order of their slices (kern/group.h). */
struct gpu_group_args {
	uint64_t run;
	uint64_t out;
	struct gpu_view ids;
	uint32_t n_stack, heads;
	uint32_t space, fold;
};

/* Product of rows with a weight. */
enum gpu_linear_mode {
	GPU_LINEAR_FLAT = 0,      /* all slices of the weight, one after the other */
	GPU_LINEAR_IDS = 1,       /* item (row, head) uses slice ids[row][head] */
	GPU_LINEAR_HEAD = 2       /* head h uses slice h */
};
struct gpu_linear_args {
	uint64_t run;
	uint64_t x;               /* f32 rows, x_stride floats apart */
	uint64_t q8;              /* the same rows rounded to 8 bits, for the kernels that use them */
	uint64_t groups;          /* of the pairs of ids, for the kernels of many rows; 0 = none */
	uint64_t halves;          /* the same rows in two halves, for the kernels that use them */
	uint32_t x_stride;
	uint32_t x_div;           /* item i reads row i / x_div */
	struct gpu_weight w;
	struct gpu_view ids;
	struct gpu_epilogue e;
	uint64_t delta;           /* f32 [items][outputs]: what adapters add; 0 = nothing */
	uint64_t gains;           /* u64 [items]: where an item's factors of its outputs lie, or 0; with delta */
	uint32_t mode;            /* enum gpu_linear_mode */
	uint32_t heads;           /* items of a row */
	uint32_t space, fold;     /* of the rows */
	uint32_t split, reserved; /* warps that share an output (fast.h) */
};

/* Products of the same rows with weights of a type, in one launch. */
#define GPU_PARTS 3
/* What its blocks leave to the one that comes last (kern/tail.h). */
enum gpu_tail { GPU_TAIL_NONE = 0, GPU_TAIL_GLU = 1, GPU_TAIL_NORM = 2 };
#define GPU_TAIL_COLUMNS 256u /* of GLU, when all parts have them */
struct gpu_parts_args {
	struct gpu_linear_args part[GPU_PARTS];
	uint32_t blocks[GPU_PARTS]; /* blocks of x that each has, one after the other */
	uint32_t n_part;
	uint32_t tail_kind;       /* enum gpu_tail */
	uint32_t reserved;
	uint64_t tail;            /* its arguments, in device memory */
	uint64_t counters;        /* u32, 0 between launches */
};

struct gpu_embed_args {
	uint64_t run;
	struct gpu_weight table, pos_table, type_table; /* data 0 = none */
	struct gpu_view y, idx, pos;
	uint32_t use_token;       /* ids are step.token */
	uint32_t n_id;
	float scale, scale_ext;
	int32_t pos_off;
	uint32_t type_row;
	uint32_t neg, neg_row;
	uint32_t ext_col0, ext_width; /* columns of external input 0; ext_width 0 = there is none */
	uint64_t lora;            /* struct gpu_adapter [n_slot]; 0 = none */
	uint32_t n_slot, reserved;
};

/* Where K and V of a cache lie in a page or slot. */
struct gpu_cache {
	uint64_t mem, unit_bytes;
	uint64_t k_off, v_off;
	uint32_t k_row, v_row, k_head, v_head; /* bytes */
	uint32_t k_dtype, v_dtype;
	uint32_t has_v, group;
};

struct gpu_rope {
	uint64_t freq;            /* f64 [n_rot / 2]; 0 = no rotation */
	uint64_t plane;           /* u8 [n_rot / 2] */
	uint32_t n_rot, pairing;
	float magnitude, sign;
	uint32_t rot0, reserved;
};

struct gpu_rope_kv_args {
	uint64_t run;
	struct gpu_view q, k, v, q_out, k_out, pos;
	struct gpu_norm qn, kn;
	struct gpu_rope rope;
	struct gpu_cache cache;   /* mem 0 = nothing is stored */
	uint32_t norm_when, append;
	uint32_t n_unit;          /* heads of q, k and v together */
	uint32_t space, fold;
	uint32_t most;            /* columns of the widest head */
	uint64_t work;            /* f32 [blocks][most]: heads too wide for shared memory; 0 = none */
};

struct gpu_attn_src {
	struct gpu_view k, v, list;
	struct gpu_cache cache;
	uint32_t kind, group, list_unit, reserved;
};
struct gpu_attn_rel {
	struct gpu_view q2;
	uint64_t r;               /* f32 [n][k] */
	uint32_t n, k;
	int32_t off;
	uint32_t plane;
};
struct gpu_attn_args {
	uint64_t run;
	struct gpu_view q, y;
	struct gpu_attn_src src[2];
	struct gpu_attn_rel rel[2];
	uint64_t sinks, bias_w;   /* f32; 0 = none */
	uint32_t n_kv_head, kv_map;
	float scale, softcap;
	uint32_t bias, n_bucket, bidirectional;
	float max_distance;
	uint32_t tree;
	uint64_t part;            /* of split.h: f32 [rows][heads][parts][y.width + 2] */
	uint64_t counters;        /* u32 [rows * heads], 0 between launches */
	uint64_t q8;              /* y rounded to 8 bits as well; 0 = no */
	uint32_t part_rows;       /* rows times parts that there is memory for */
	uint32_t flash;           /* rows of a sequence from which on nv/flash.h computes them; 0 =
				   * never */
	uint32_t max_part;        /* parts of a row, at most GPU_MAX_PART */
	uint32_t reserved;
};

struct gpu_glu_args {
	uint64_t run;
	struct gpu_view a, b, y;
	uint64_t q8;              /* y rounded to 8 bits as well, a row for each head; 0 = no */
	float p[4];
	uint32_t act, reserved;
};

struct gpu_ew_ins {
	uint8_t op, dst, a, b, c;
	uint8_t reserved[3];
	float imm;
};
struct gpu_ew_args {
	uint64_t run;
	struct gpu_view in[8], out[2];
	struct gpu_ew_ins ins[24];
	uint32_t n_in, n_out, n_ins;
	uint8_t out_reg[4];
};

struct gpu_copy_args {
	uint64_t run;
	struct gpu_view x, y;
};

/* Each 64 columns of the heads of x, multiplied by a Hadamard matrix (kern/hadamard.h); y may be x. */
struct gpu_hadamard_args {
	uint64_t run;
	struct gpu_view x, y;
};

struct gpu_gather_args {
	uint64_t run;
	struct gpu_view x, y, idx;
	uint32_t idx_kind, n_id, sum, reserved;
};

/* Decodes a weight to f32. */
struct gpu_flatten_args {
	struct gpu_weight w;
	uint64_t out;
};

/* Rows of 4-byte elements from one place to another. */
struct gpu_rows_args {
	uint64_t run;
	uint64_t dst, src;
	uint64_t dst_row_bytes, src_row_bytes;
	uint32_t width, space;
};

struct gpu_reduce_args {
	uint64_t run;
	struct gpu_view x, y, y2;
	uint32_t kind, axis, n, reserved;
};

struct gpu_softmax_args {
	uint64_t run;
	struct gpu_view x, y;
	uint64_t work;            /* f32 [rows][heads * width] */
	float scale, eps;
	uint32_t sinkhorn, reserved;
};

struct gpu_route_args {
	uint64_t run;
	struct gpu_view logits, ids, weights, given;
	uint64_t bias;            /* f32 [E]; 0 = none */
	uint64_t work;            /* f32 [rows][3 * E + 2 * k] */
	uint32_t fn, k, n_group, n_group_used, renorm, id_div;
	float scale;
	uint32_t reserved;
};

/* y = sum of the k products of a row, weighted. */
struct gpu_moe_sum_args {
	uint64_t run;
	struct gpu_view ids, weights, y, r_in, r_out;
	uint64_t d;               /* f32 [rows * k][dim] */
	uint32_t k, dim, n_stack, weight_before;
	float a;
	uint32_t reserved;
};

struct gpu_mix_args {
	uint64_t run;
	struct gpu_view x, c, d, z, y;
	uint32_t c_transposed, reserved;
};

struct gpu_conv_args {
	uint64_t run;
	struct gpu_view x, score, y;
	uint64_t w, bias;         /* f32 [C][kernel], [C]; 0 = none */
	struct gpu_cache cache;   /* mem 0 = none */
	uint32_t cache_rows, cache_cols;
	float p[4];
	uint32_t kind, kernel, dilation, left, n, overlap, map, group, act;
	uint32_t reserved;
};

struct gpu_scan_args {
	uint64_t run;
	struct gpu_view in[6], y;
	uint64_t w[2];            /* f32; 0 = none */
	struct gpu_cache cache;
	uint64_t work;            /* f32 [sequences][heads][dk * dv] */
	uint32_t kind, n_head, n_key_head, dk, dv, key_map;
	float scale;
	uint32_t gates;
};

struct gpu_index_args {
	uint64_t run;
	struct gpu_view q, w, y;
	struct gpu_cache cache;
	uint64_t work;            /* f32 [rows][lists][most]: scores */
	uint64_t heaps;           /* u32 [rows][lists][n] */
	uint32_t kind, n, unit, local, each, of;
	float scale;
	uint32_t d, heads;        /* of a key; heads of a key */
	uint32_t most, reserved;
};

struct gpu_patch_args {
	uint64_t run;
	struct gpu_view x;
	uint64_t out;             /* f32 [rows][kernel * C] */
	uint32_t x_space, y_space;
	uint32_t n_dim, c;
	uint32_t kernel[2], stride[2], pad[2], dilation[2];
};

struct gpu_sample_args {
	uint64_t run;
	struct gpu_view logits, params, rng, mask, history, token, top_id, top_lp;
	uint64_t work;            /* candidates [rows][2][V] */
	uint32_t n_stage;
	uint32_t stage[8], param_col[8];
	uint32_t reserved;
};

/* Adapters: out[item][n] = scale * B (A x). */
struct gpu_adapter {
	uint64_t a, b;            /* f32; b 0 = no adapter */
	uint64_t gain;            /* f32 [n_stack][n]: factors of the outputs; 0 = none */
	uint32_t rank, n, k, n_stack;
	float scale;
	uint32_t reserved;
};
struct gpu_lora_args {
	uint64_t run;
	uint64_t table;           /* struct gpu_adapter [n_slot] */
	uint64_t x, out;
	uint64_t gains;           /* u64 [items]: where an item's factors lie, or 0 */
	struct gpu_view ids;
	uint32_t n_slot, x_stride, x_div, heads;
	uint32_t space, fold, rank, n; /* rank: what the shared memory is for */
	uint32_t n_stack, mode;
};

/* ---- groups of devices (peer.h) ---- */

/* How a rank's run ended. */
enum gpu_peer_end { GPU_PEER_OK = 0, GPU_PEER_CANCELLED = 1, GPU_PEER_TIMEOUT = 2 };

/* Meetings of a run are numbered from 1; a plan has two for each exchange, and all runs have this one. */
#define GPU_LAST_MEETING 0xffffu
#define GPU_TIME(turn, meeting) ((uint64_t)(turn) << 16 | (meeting))

/* What a rank tells another one; in the memory of the one that reads it. */
struct gpu_mail {
	uint64_t time;            /* GPU_TIME of the last meeting that it has come to */
	uint64_t failed;          /* turn of its last run that gave up */
	uint64_t rows[4];         /* where its rows are: [exchange % 2], sums [2 + exchange % 2] */
	uint64_t reserved[2];
};

/* A group as one of its ranks sees it; in the memory of that rank. */
struct gpu_peers {
	uint64_t mail;            /* struct gpu_mail [n]: what the ranks tell this one */
	uint64_t out[GPU_MAX_PEER]; /* this rank's mail to each of the others */
	uint64_t refused;         /* u64 [n][GPU_N_TURN] of the host: turns that a rank never ran */
	uint64_t ends;            /* u64 [GPU_N_TURN] of the host: turn << 8 | enum gpu_peer_end */
	uint32_t rank, n;
};

struct gpu_peer_args {
	uint64_t run;
	uint64_t peers;           /* struct gpu_peers */
	struct gpu_view x, y;
	uint64_t rows;            /* f32 [rows of x][columns]: what this rank shows */
	uint64_t sums;            /* f32: its part of the sums, which it shows as well */
	uint64_t counter;         /* u32, 0 between launches */
	uint32_t exchange;        /* its number in the plan */
	uint32_t reserved;
};

/* Sums of more rows than this are divided among the ranks, if there are more than two. */
#define GPU_DIRECT_ROWS 16u

/* ---- the list of kernels: X(name, struct of its arguments) ---- */

#define GPU_LINEAR_KERNEL(X, constant, name, number, head, bytes, groups) \
	X(linear_##name, gpu_linear_args)
#define GPU_LINEAR_KERNELS(X) \
	X(linear_f32, gpu_linear_args) X(linear_f16, gpu_linear_args) \
	X(linear_bf16, gpu_linear_args) X(linear_q4_0, gpu_linear_args) \
	X(linear_q4_1, gpu_linear_args) X(linear_q5_0, gpu_linear_args) \
	X(linear_q5_1, gpu_linear_args) X(linear_q8_0, gpu_linear_args) \
	X(linear_q2_k, gpu_linear_args) X(linear_q3_k, gpu_linear_args) \
	X(linear_q4_k, gpu_linear_args) X(linear_q5_k, gpu_linear_args) \
	X(linear_q6_k, gpu_linear_args) X(linear_iq4_nl, gpu_linear_args) \
	X(linear_iq4_xs, gpu_linear_args) X(linear_mxfp4, gpu_linear_args) \
	DEVICE_TYPES(GPU_LINEAR_KERNEL, X)

/* Products whose loads are coalesced (fast.h): for 1, at most 4 and at most 8 rows. */
#define GPU_FAST_KERNEL(X, name) \
	X(fast_##name##_1, gpu_parts_args) X(fast_##name##_4, gpu_parts_args) \
	X(fast_##name##_8, gpu_parts_args)
#define GPU_FAST_KERNELS(X) \
	GPU_FAST_KERNEL(X, f32) GPU_FAST_KERNEL(X, f16) GPU_FAST_KERNEL(X, bf16) \
	GPU_FAST_KERNEL(X, q4_0) GPU_FAST_KERNEL(X, q8_0) GPU_FAST_KERNEL(X, q4_k) \
	GPU_FAST_KERNEL(X, q5_k) GPU_FAST_KERNEL(X, q6_k) GPU_FAST_KERNEL(X, iq4_nl) \
	GPU_FAST_KERNEL(X, iq4_xs) GPU_FAST_KERNEL(X, mxfp4)

/* Attention over the keys of one cache (split.h): for 1, 4 and 8 queries that share them. */
#define GPU_SPLIT_KERNEL(X, width) \
	X(split_##width##_1, gpu_attn_args) X(split_##width##_4, gpu_attn_args) \
	X(split_##width##_8, gpu_attn_args)
#define GPU_SPLIT_KERNELS(X) \
	GPU_SPLIT_KERNEL(X, 64) GPU_SPLIT_KERNEL(X, 128) GPU_SPLIT_KERNEL(X, 256)

/* Products of many rows on matrix units (tile.h): those of NVIDIA, with attention, and of AMD. */
#define GPU_TILE_KERNELS(X, unit) \
	X(unit##_q4_0, gpu_linear_args) X(unit##_q8_0, gpu_linear_args) \
	X(unit##_q4_k, gpu_linear_args) X(unit##_q5_k, gpu_linear_args) \
	X(unit##_q6_k, gpu_linear_args) X(unit##_iq4_nl, gpu_linear_args) \
	X(unit##_iq4_xs, gpu_linear_args) X(unit##_mxfp4, gpu_linear_args) \
	X(unit##_f16, gpu_linear_args) X(unit##_bf16, gpu_linear_args)
#define GPU_NV_KERNELS(X) \
	GPU_TILE_KERNELS(X, tile) \
	X(flash_64_f16, gpu_attn_args) X(flash_64_bf16, gpu_attn_args) \
	X(flash_64_any, gpu_attn_args) X(flash_128_f16, gpu_attn_args) \
	X(flash_128_bf16, gpu_attn_args) X(flash_128_any, gpu_attn_args) \
	X(flash_256_f16, gpu_attn_args) X(flash_256_bf16, gpu_attn_args)
#define GPU_AMD_KERNELS(X) GPU_TILE_KERNELS(X, mfma) GPU_TILE_KERNELS(X, wmma)
/* Instead of some of NVIDIA's, if that was asked for (nv/wgmma16.h). */
#define GPU_WGMMA_KERNELS(X) X(wgmma_f16, gpu_linear_args) X(wgmma_bf16, gpu_linear_args)
/* All that not every device has. */
#define GPU_MATRIX_KERNELS(X) GPU_NV_KERNELS(X) GPU_AMD_KERNELS(X) GPU_WGMMA_KERNELS(X)

/* Kernels of exact arithmetic (exact.h); products are for up to 8 rows. */
#define GPU_EXACT_KERNELS(X) \
	X(exact_norm, gpu_norm_args) X(exact_rope_kv, gpu_rope_kv_args) \
	X(exact_glu, gpu_glu_args) X(exact_attn, gpu_attn_args) \
	X(exact_q4_0, gpu_linear_args) X(exact_q8_0, gpu_linear_args) \
	X(exact_q4_k, gpu_linear_args) X(exact_q5_k, gpu_linear_args) \
	X(exact_q6_k, gpu_linear_args) X(exact_iq4_nl, gpu_linear_args) \
	X(exact_iq4_xs, gpu_linear_args) X(exact_mxfp4, gpu_linear_args)

#define GPU_KERNELS(X) \
	X(begin, gpu_begin_args) X(norm, gpu_norm_args) X(norm_seq, gpu_norm_args) \
	X(embed, gpu_embed_args) X(rope_kv, gpu_rope_kv_args) \
	X(attn_64, gpu_attn_args) X(attn_128, gpu_attn_args) X(attn_256, gpu_attn_args) \
	X(attn_1024, gpu_attn_args) X(glu, gpu_glu_args) X(ew, gpu_ew_args) \
	X(copy, gpu_copy_args) X(hadamard, gpu_hadamard_args) \
	X(gather, gpu_gather_args) X(flatten, gpu_flatten_args) \
	X(rows, gpu_rows_args) X(moe_sum, gpu_moe_sum_args) \
	X(softmax, gpu_softmax_args) X(reduce, gpu_reduce_args) X(route, gpu_route_args) \
	X(mix, gpu_mix_args) X(conv, gpu_conv_args) X(conv_keep, gpu_conv_args) \
	X(scan, gpu_scan_args) X(patch, gpu_patch_args) X(index, gpu_index_args) \
	X(sample, gpu_sample_args) X(remember, gpu_sample_args) X(lora, gpu_lora_args) \
	X(round, gpu_round_args) X(halves, gpu_halves_args) X(group, gpu_group_args) \
	X(peer_share, gpu_peer_args) X(peer_sum, gpu_peer_args) X(peer_spread, gpu_peer_args) \
	X(peer_gather, gpu_peer_args) X(peer_end, gpu_peer_args) \
	GPU_LINEAR_KERNELS(X) GPU_FAST_KERNELS(X) \
	GPU_SPLIT_KERNELS(X) GPU_EXACT_KERNELS(X)

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_KERN_ARGS_H */
