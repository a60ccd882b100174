/* SPDX-License-Identifier: MIT
 *
 * bookfit.h - the search behind the encoders of types with code books and small integer scales.
 *
 * A value is (d * s) * v(q): d is stored once for a unit, which is a block of 256 values or a whole
 * row; s, an integer out of a few, once for a group of 16 or 32; v is a book's value of the code q,
 * and a bit of the group may choose a second book, whose values all lie `shift` higher.
 *
 * Each group is fitted alone with each book, by a fan of scales; a fan of d is tried with the
 * nearest integers that make these scales, the best d is improved by least squares, and then every
 * group takes the book and the integer that leave the least error.  Errors are those of fit.h, in
 * single precision. */
#ifndef LLAMAD_CORE_QUANT_BOOKFIT_H
#define LLAMAD_CORE_QUANT_BOOKFIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMI_BOOKFIT_BLOCK 256
#define LMI_BOOKFIT_GROUP 32 /* values in a group at most */
#define LMI_BOOKFIT_CODES 64 /* values in a book at most */

/* Codes for x[n] / scale, where inv is 1 / scale or 0: their values v[n] and, where q is not NULL,
 * the codes themselves.  With NULL a scale is tried: near codes do, if the nearest cost much. */
struct lmi_bookfit;
typedef void (*lmi_bookcode_fn)(const struct lmi_bookfit *f, const float *x, const float *w, int n,
				float inv, int second, float *v, uint16_t *q);

/* The shape of a type. */
struct lmi_bookshape {
	int group;             /* 16 or 32 */
	int n_code;            /* values of the book, 2..64 */
	const int8_t *book;    /* [n_code] ascending, at least 1 apart; NULL: value() */
	float (*value)(int q); /* the same, computed, within +-128; NULL where there is a book */
	int n_book;            /* 1 or 2 */
	int shift;             /* of the second book */
	lmi_bookcode_fn code;  /* NULL: the nearest value of the book */
	int s_lo, s_step, n_s; /* scales s_lo, s_lo + s_step, ... */
	const int8_t *s_book;  /* [n_s] the scales, ascending, where they are no series; or NULL */
	float fan_lo, fan_hi;  /* scales of a group to try, relative to that which cuts nothing */
	int n_fan;             /* how many of them; 0: 9 */
	int n_d;               /* how many d are tried for each end of the scales; 0: 9 */
	bool one_sign;         /* the book has every value with both signs, scales have one */
	bool half;             /* d is an f16, else an f32 */
	const void *ctx;       /* for the coder */
};

/* 256 values fitted. */
struct lmi_bookblock {
	float d;
	int16_t s[16];
	uint8_t second[16];
	uint16_t q[LMI_BOOKFIT_BLOCK];
};

typedef void (*lmi_bookpack_fn)(void *dst, const struct lmi_bookblock *b);

/* Encodes n values, a multiple of 256, in blocks of block_bytes at dst that each have a d. */
void lmi_bookfit_blocks(const struct lmi_bookshape *shape, const float *src,
			const float *importance, size_t n, void *dst, size_t block_bytes,
			lmi_bookpack_fn pack);

/* The same with one d for all n, which comes back. */
float lmi_bookfit_row(const struct lmi_bookshape *shape, const float *src, const float *importance,
		      size_t n, void *dst, size_t block_bytes, lmi_bookpack_fn pack);

/* The nearest codes, which coders with a condition of their own begin with. */
void lmi_bookfit_nearest(const struct lmi_bookfit *f, const float *x, const float *w, int n,
			 float inv, int second, float *v, uint16_t *q);

/* shape.ctx. */
const void *lmi_bookfit_ctx(const struct lmi_bookfit *f);

/* The value of code q in a book. */
float lmi_bookfit_value(const struct lmi_bookfit *f, int second, int q);

#endif /* LLAMAD_CORE_QUANT_BOOKFIT_H */
