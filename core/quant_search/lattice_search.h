/* SPDX-License-Identifier: MIT
 *
 * lattice_search.h - codebook search for the IQ1, IQ2 and IQ3 encoders.
 *
 * A block of 256 values consists of groups with a small integer scale.  A group consists of cells
 * of 8 or 4 values, each decoded as scale * (point of a grid), with signs (IQ2, IQ3) or with a
 * common shift of +-1/8 (IQ1).  For one cell and a scale t, the error of a point g is
 *
 *     sum w x^2 - 2 t A + t^2 B,    A = sum w |x| g,  B = sum w g^2
 *
 * so the best points for all t are given by the lower envelope of the lines t B - 2 A.  With the
 * envelopes of all cells, any combination of block and group scales is cheap to evaluate. */
#ifndef LLAMAD_CORE_QUANT_SEARCH_LATTICE_SEARCH_H
#define LLAMAD_CORE_QUANT_SEARCH_LATTICE_SEARCH_H

#include <stdint.h>

#include "core/quant_search/iq_grids.h"

enum lmi_search_lattice_sign {
	LMI_SEARCH_SIGN_FREE,   /* each value has its own sign */
	LMI_SEARCH_SIGN_EVEN,   /* the number of minus signs in 8 values is even */
	LMI_SEARCH_SHIFT_GROUP, /* no signs; one shift per group */
	LMI_SEARCH_SHIFT_CELL   /* no signs; one shift per cell */
};

struct lmi_search_lattice_shape {
	const uint16_t *codes; /* part of lmi_search_iq_codes */
	int n_codes;           /* a multiple of 256 */
	int cell;              /* values in a cell: 8 or 4 */
	int bits;              /* bits of a level in a code: 2 or 3 */
	int8_t level[8];
	int group; /* values in a group: 16 or 32 */
	enum lmi_search_lattice_sign sign;
	int n_scales; /* scale s = 0 .. n_scales - 1 stands for scale0 + s * step */
	float scale0, step;
};

struct lmi_search_lattice_block {
	float d;            /* an f16 value, not negative */
	uint8_t s[16];      /* scale of each group */
	uint16_t point[64]; /* grid point of each cell */
	uint8_t signs[32];  /* signs of each 8 values; bit 1 = minus */
	uint8_t minus[32];  /* for each cell of 8: 1 if the shift is -1/8 */
};

void lmi_search_lattice(const struct lmi_search_lattice_shape *shape, const float *x,
			const float *w, struct lmi_search_lattice_block *out);

#endif /* LLAMAD_CORE_QUANT_SEARCH_LATTICE_SEARCH_H */
