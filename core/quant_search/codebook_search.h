/* SPDX-License-Identifier: MIT
 *
 * codebook_search.h - codebook search for types with a codebook and small integer scales.
 *
 * A value is (d * s) * v(q).  d is stored once per unit, which is a block of 256 values or a whole
 * row.  s is one of a few integers, stored once per group of 16 or 32 values.  v is the codebook
 * value of the code q; a bit of the group may select a second codebook, whose values are all
 * `shift` higher.
 *
 * Each group is first fitted alone with each codebook, by trying several scales.  Then several
 * values of d are tried with the nearest integers that produce these scales, and the best d is
 * improved by least squares.  Finally every group takes the codebook and the integer with the least
 * error.  Errors are those of scale_search.h, in single precision. */
#ifndef LLAMAD_CORE_QUANT_SEARCH_CODEBOOK_SEARCH_H
#define LLAMAD_CORE_QUANT_SEARCH_CODEBOOK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMI_SEARCH_CODEBOOK_BLOCK     256
#define LMI_SEARCH_CODEBOOK_MAX_GROUP 32 /* maximum values in a group */
#define LMI_SEARCH_CODEBOOK_MAX_CODES 64 /* maximum values in a codebook */

/* Computes codes for x[n] / scale, where inv is 1 / scale or 0: their values v[n] and, if q is not
 * NULL, the codes themselves.  q is NULL while scales are compared: an approximation is then good
 * enough if the nearest codes are expensive to find. */
struct lmi_search_codebook;
typedef void (*lmi_search_codebook_code_fn)(const struct lmi_search_codebook *f, const float *x,
					    const float *w, int n, float inv, int second, float *v,
					    uint16_t *q);

/* Parameters of a type. */
struct lmi_search_codebook_shape {
	int group;             /* 16 or 32 */
	int n_code;            /* number of values in the codebook, 2..64 */
	const int8_t *book;    /* [n_code] ascending, at least 1 apart; NULL: use value() */
	float (*value)(int q); /* computes the values, within +-128; NULL if there is a book */
	int n_book;            /* number of codebooks: 1 or 2 */
	int shift;             /* offset of the second codebook */
	lmi_search_codebook_code_fn code; /* NULL: use the nearest value of the codebook */
	int s_lo, s_step, n_s; /* the scales are s_lo, s_lo + s_step, ... */
	const int8_t *s_book;  /* [n_s] ascending scales that are not such a series; or NULL */
	float cand_lo, cand_hi; /* range of candidate scales for a group, relative to the scale that
				 * clips nothing */
	int n_cand;             /* number of candidates in it; 0: 9 */
	int n_d;                /* number of candidates for d at each end of the scales; 0: 9 */
	bool one_sign;         /* the codebook has every value with both signs; scales have one
				* sign */
	bool half;             /* d is stored as f16, otherwise f32 */
	const void *ctx;       /* passed to the coder */
};

/* The result for 256 values. */
struct lmi_search_codebook_block {
	float d;
	int16_t s[16];
	uint8_t second[16];
	uint16_t q[LMI_SEARCH_CODEBOOK_BLOCK];
};

typedef void (*lmi_search_codebook_pack_fn)(void *dst, const struct lmi_search_codebook_block *b);

/* Encodes n values, a multiple of 256, into blocks of block_bytes at dst; each block has its own
 * d. */
void lmi_search_codebook_blocks(const struct lmi_search_codebook_shape *shape, const float *src,
				const float *importance, size_t n, void *dst, size_t block_bytes,
				lmi_search_codebook_pack_fn pack);

/* Like lmi_search_codebook_blocks, but with one d for all n values; returns that d. */
float lmi_search_codebook_row(const struct lmi_search_codebook_shape *shape, const float *src,
			      const float *importance, size_t n, void *dst, size_t block_bytes,
			      lmi_search_codebook_pack_fn pack);

/* Finds the nearest codes; coders with additional constraints start from these. */
void lmi_search_codebook_nearest(const struct lmi_search_codebook *f, const float *x,
				 const float *w, int n, float inv, int second, float *v,
				 uint16_t *q);

/* Returns shape.ctx. */
const void *lmi_search_codebook_ctx(const struct lmi_search_codebook *f);

/* Returns the value of code q in the first or second codebook. */
float lmi_search_codebook_value(const struct lmi_search_codebook *f, int second, int q);

#endif /* LLAMAD_CORE_QUANT_SEARCH_CODEBOOK_SEARCH_H */
