/* SPDX-License-Identifier: MIT
 *
 * qwen4exp.h - shared by the two files of Qwen4 (experimental).
 *
 * qwen4exp.c: keys, memory, residual streams, attention, the plan.  qwen4exp_ngram.c: n-gram
 * embeddings, which are added to the streams before one layer. */
#ifndef LLAMAD_ARCH_STREAMS_QWEN4EXP_H
#define LLAMAD_ARCH_STREAMS_QWEN4EXP_H

#include "arch/common/delta.h"

#define QW4_MAX_NGRAM 8u
#define QW4_MAX_HASH  32u /* hashes per token: columns of a row input */

enum {
	D_QW4_HC = D_OWN, D_QW4_LOW, D_QW4_WIDE, D_QW4_Q2, D_QW4_IDX_Q, D_QW4_IDX_K, D_QW4_HASH_D,
	D_QW4_HASH_ROWS, D_QW4_HASH_ALL, D_QW4_HASH_CONV
};
#define QW4_L_NGRAM (LMI_L_OWN << 0)

/* Hashed n-grams. */
struct qw4_ngram {
	uint32_t layer;       /* the layer before which they are added */
	uint32_t n;           /* length of the longest n-gram */
	uint32_t per;         /* hashes for each length 2..n */
	uint32_t n_hash;      /* (n - 1) * per; 0: the model has no n-grams */
	uint32_t d;           /* columns of the table */
	uint32_t n_row;       /* number of table rows that hashes can address */
	uint32_t kernel;
	lmd_token eos, image;
	uint64_t mul[QW4_MAX_NGRAM];
	uint32_t first[QW4_MAX_HASH], size[QW4_MAX_HASH];
	uint32_t conv;        /* cache of the convolution */
};

struct qw4 {
	struct lmi_hparams hp;
	struct lmi_delta delta;
	struct qw4_ngram ngram;
	uint32_t hc, low;
	uint32_t idx_head, idx_dk, idx_top;
	uint32_t ratio;       /* tokens of a block; 0: attention sees all keys */
	uint32_t blocks;      /* group of the pooled index keys */
	uint32_t *index, *pool; /* [n_layer] caches of the indexer */
};

extern const struct lmd_tensor_row qw4_ngram_rows[7];
void qw4_ngram_read(struct qw4 *m, struct lmi_keys *k);
/* Declares the cache of the convolution, in the STATE group. */
void qw4_ngram_memory(struct qw4 *m, struct lmi_keys *k);
/* Computes the table rows of each token of the step; out: [n_tok][n_hash]. */
void qw4_ngram_rows_in(const struct qw4 *m, const struct lmd_rows_in *in, int32_t *out);
/* Returns the streams xs with the embeddings added.  row_in: the row input with the table rows. */
uint32_t qw4_ngram(struct lmi_emit *e, const struct qw4 *m, uint32_t xs, uint32_t row_in);

#endif /* LLAMAD_ARCH_STREAMS_QWEN4EXP_H */
