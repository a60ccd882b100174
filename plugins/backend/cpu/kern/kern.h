/* SPDX-License-Identifier: MIT
 *
 * kern.h - rows of activations times rows of a weight: contracts of the inner loops.
 *
 * A kernel works in the caller's thread and in the caller's memory on the slice it is given; it
 * allocates nothing and keeps no state.  For each tensor type and kind of activations there are
 * variants for several instruction sets; the caller chooses one when a device is opened:
 *
 *     lin = kern_linear_find(dtype, KERN_ACT_Q8, cpu->flags);        NULL: no such kernel,
 *     if (!lin)                                                      use a float kernel
 *             lin = kern_linear_find(dtype, KERN_ACT_F32, cpu->flags);
 *     act = kern_act_find(cpu->flags);                               if lin->act is KERN_ACT_Q8
 *
 * In each step, rows of x are prepared once by act->row, or used as they are (KERN_ACT_F32).  Then
 * each thread calls lin->run with its slice of the weight's rows and all rows of x.
 *
 * 8-bit activations (KERN_ACT_Q8).  A row of k floats, k a multiple of 32, becomes k/32 blocks:
 *     amax = max |x[i]|;  d = amax / 127.0f;  inv = amax > 0 ? 127.0f / amax : 0
 *     q[i] = x[i] * inv rounded to the nearest integer, ties to even, clamped to -127..127
 *     s = sum of q[i];  e = d * (float)s
 * stored as consecutive arrays, see KERN_Q8_*.
 *
 * 16-bit activations are two such rows: that of x, and that of r[i] = x[i] - d * (float)q[i], which
 * has a d of its own.  |r[i]| <= d/2 up to rounding, so both together have steps of at most d/254.
 * A kernel multiplies them like any two rows, and an output is the f32 sum of the two outputs, that
 * of x first.  So all kernels serve both precisions, and the weights are read and unpacked once.
 *
 * Exact kernels (exact = true).  In each block b of 32 a weight is w[i] = D * P[i] + M with
 * integers P (unpack.h defines them for each type).  An output is computed in f32, with each
 * operation rounded separately (no fused multiply-add) and blocks in ascending order, as
 *     sum = 0
 *     for b:  i = sum over the block of P*q                                    (integer, < 2^24)
 *             sum = sum + ((D * d) * (float)i + M * e)                         types with M
 *             sum = sum + (D * d) * (float)i                                   all others
 *             sum = sum + ((D * d) * (float)i + (M * d) * (float)j)            Q2_K, NVFP4
 *                   Q2_K: j = minimum times sum of q, of both halves of the block
 *                   NVFP4: D and i of the first 16 values of the block, M and j of the others
 * and in no other way.  So its bits do not depend on the variant, on the slice, or on how many rows
 * of x are multiplied together.  Backend `ref` gives the same bits with the same activations.
 *
 * Float kernels (exact = false) decode weights and multiply in f32.  The order of the sum depends
 * only on the variant: slices and the number of rows of x change no bit.  Error bound:
 *     |y - sum w[i]*x[i]| <= (k/8 + 12) * 2^-24 * sum |w[i]*x[i]|
 *
 * Kernels for bf16 activations (KERN_ACT_BF16) are float kernels for weights in bf16 whose x[i] in
 * the bound are the rounded ones.  They treat numbers below the smallest normal f32 as 0. */
#ifndef LLAMAD_CPU_KERN_H
#define LLAMAD_CPU_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/host.h"

/* Number of weight rows that a kernel decodes together; slices of a multiple of it are fastest. */
#define KERN_ROWS 16

/* Alignment of prepared rows and of scratch. */
#define KERN_ALIGN 64

/* ---- activations ---- */

enum kern_act_kind {
	KERN_ACT_F32 = 0,  /* rows of k floats, 4-byte aligned */
	KERN_ACT_Q8 = 1,   /* rows prepared by struct kern_act */
	KERN_ACT_BF16 = 2, /* rows prepared by the kernel itself: k values in bf16 */
};

/* Bytes of a prepared row of bf16, a multiple of KERN_ALIGN, including the zeros after it. */
#define KERN_BF16_BYTES(k) (((size_t)(k) + 31) / 32 * 64)

/* Offsets in a prepared row of k values. */
#define KERN_Q8_Q(k) ((size_t)0)                 /* int8_t  [k] */
#define KERN_Q8_D(k) ((size_t)(k))               /* float   [k/32] */
#define KERN_Q8_E(k) ((size_t)(k) + (k) / 8)     /* float   [k/32]  d * (float)s */
#define KERN_Q8_N(k) ((size_t)(k) + (k) / 4)     /* int32_t [k/32]  -s */
#define KERN_Q8_H(k) ((size_t)(k) + (k) / 8 * 3) /* int32_t [k/16]  -(sum of 16 values) */
/* Bytes of a prepared row, a multiple of KERN_ALIGN, including at least 64 after the arrays. */
#define KERN_Q8_BYTES(k) (((size_t)(k) + (k) / 8 * 5 + 127) / 64 * 64)

struct kern_act {
	uint64_t flags;  /* LMD_CPU_* flags that it needs */
	const char *isa; /* "c", "avx2", "neon" */
	/* Prepares a row of k values, k a multiple of 32, as n_q8 rows: 1 for 8 bits, 2 for 16.
	 * out: n_q8 times KERN_Q8_BYTES(k) bytes, aligned to KERN_ALIGN.  All variants write the
	 * same bytes; those after the arrays are not written.  NaN becomes 127. */
	void (*row)(const float *x, uint32_t k, uint32_t n_q8, void *out);
};

/* Returns the best variant for these flags; never NULL. */
const struct kern_act *kern_act_find(uint64_t flags);
/* Returns variant number i, best first; NULL past the last one. */
const struct kern_act *kern_act_at(size_t i);

/* ---- products ---- */

/* y[c][r] = row r of w times row c of x. */
struct kern_product {
	const struct lmd_host *host; /* decodes the types that a float kernel does not know */
	const void *w;         /* first row of the slice, in place in the file: any alignment */
	size_t w_stride;       /* bytes from row to row */
	const void *next;      /* what the thread reads after the slice; NULL: unknown */
	const void *const *x;  /* [n_col] rows of the kernel's kind of activations */
	float *const *y;       /* [n_col] outputs, [n_row] each; must not overlap anything else */
	uint32_t k;            /* values in a row: a multiple of the type's block, < 2^24 */
	uint32_t n_row, n_col; /* 0 is allowed */
	/* Tables for exact kernels of IQ1, IQ2 and IQ3; may be NULL for all other types. */
	const struct kern_iq_tables *points;
	void *scratch;         /* [lin->scratch_bytes(k)], aligned to KERN_ALIGN, not shared */
};

/* Tables of the IQ types, derived from the host's decoder.  The caller allocates
 * kern_iq_tables_bytes() bytes for them. */
struct kern_iq_tables;
size_t kern_iq_tables_bytes(void);
enum lmd_status kern_iq_tables_init(struct kern_iq_tables *t, const struct lmd_host *host);

struct kern_linear {
	uint32_t dtype; /* enum lmd_dtype */
	enum kern_act_kind act;
	uint64_t flags;  /* LMD_CPU_* flags that it needs */
	const char *isa; /* "c", "avx2", "avx512", "vnni", "vbmi", "amx", "neon", "dotprod", "i8mm" */
	bool exact;
	size_t (*scratch_bytes)(uint32_t k); /* a multiple of KERN_ALIGN, may be 0 */
	/* KERN_ACT_BF16, else NULL: rounds a row of k floats to nearest even.
	 * out: KERN_BF16_BYTES(k) bytes, aligned to KERN_ALIGN, all of which are written. */
	void (*prepare)(const float *x, uint32_t k, void *out);
	void (*run)(const struct kern_linear *self, const struct kern_product *p);
};

/* Returns the best kernel of a type for these flags.  With KERN_ACT_F32, NULL only for types that
 * hold no weights (integers, Q8_1, Q8_K); with KERN_ACT_Q8, NULL for types without an exact
 * kernel. */
const struct kern_linear *kern_linear_find(uint32_t dtype, enum kern_act_kind act, uint64_t flags);
/* Returns kernel number i of all, best first within a type and kind; NULL past the last one. */
const struct kern_linear *kern_linear_at(size_t i);
/* Returns the kernel for weights and activations in bf16 if these flags allow it and this processor
 * multiplies at least 1.5 times as fast with it as in f32, which is measured (0.1 ms); else NULL. */
const struct kern_linear *kern_bf16_find(uint64_t flags);

/* ---- repacked weights ---- */

/* Weights of some types can be copied into groups of sixteen rows that are interleaved (packed.h),
 * which takes about as many bytes as the rows in the file (packed.h has the exceptions).  Products with few rows of x are up to
 * three times as fast with them and have the same bits as those of exact kernels. */
#define KERN_GROUP 16

struct kern_packed {
	uint32_t dtype;  /* enum lmd_dtype of the rows in the file */
	uint64_t flags;  /* LMD_CPU_* flags that it needs */
	const char *isa; /* "c", "avx2", "vnni", "amx", "neon", "dotprod", "i8mm" */
	uint32_t most;   /* with more rows of x the exact kernel is faster */
	/* p->w: a group, aligned to KERN_ALIGN; p->w_stride: bytes from group to group; the last
	 * group may have fewer rows; p->host, p->points and p->scratch are not used. */
	void (*run)(const struct kern_packed *self, const struct kern_product *p);
};

/* Bytes of a group of rows of k values. */
size_t kern_group_bytes(uint32_t dtype, uint32_t k);
/* Repacks n_row <= KERN_GROUP rows; missing ones become zeros.  group: aligned to KERN_ALIGN.  points: for IQ2
 * and IQ3; may be NULL for all other types. */
void kern_pack(uint32_t dtype, const struct kern_iq_tables *points, const void *const *rows,
	       uint32_t n_row, uint32_t k, void *group);
/* Returns the best kernel for repacked weights of a type; NULL if they cannot be repacked. */
const struct kern_packed *kern_packed_find(uint32_t dtype, uint64_t flags);
/* Returns kernel number i of all, best first within a type; NULL past the last one. */
const struct kern_packed *kern_packed_at(size_t i);

#endif /* LLAMAD_CPU_KERN_H */
