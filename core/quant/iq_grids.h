/* SPDX-License-Identifier: MIT
 *
 * iq_grids.h - the codebooks of the IQ types.
 *
 * A grid is a list of points with 8 (IQ2, IQ1) or 4 (IQ3) coordinates; a block stores the index of
 * a point.  A code packs one level per coordinate, the first in the lowest bits: 2 bits each for 8
 * coordinates, 3 bits each for 4.  The functions below give the value of a level.  Codes ascend
 * within a grid. */
#ifndef LLAMAD_CORE_QUANT_IQ_GRIDS_H
#define LLAMAD_CORE_QUANT_IQ_GRIDS_H

#include <stdint.h>

#define LMI_IQ_N_CODES 4608

extern const uint16_t lmi_iq_codes[LMI_IQ_N_CODES];

/* Index of the first code of each grid in lmi_iq_codes. */
enum {
	LMI_GRID_IQ2_XXS = 0,    /* 256 points */
	LMI_GRID_IQ2_XS = 256,   /* 512 */
	LMI_GRID_IQ2_S = 768,    /* 1024 */
	LMI_GRID_IQ3_XXS = 1792, /* 256 */
	LMI_GRID_IQ3_S = 2048,   /* 512 */
	LMI_GRID_IQ1_S = 2560    /* 2048 */
};

/* Value of coordinate j of a code. */
static inline int lmi_iq2_value(uint16_t code, int j)
{
	static const uint8_t value[4] = {8, 25, 43, 0};

	return value[code >> 2 * j & 3];
}

static inline int lmi_iq1_value(uint16_t code, int j)
{
	return (code >> 2 * j & 3) - 1;
}

static inline int lmi_iq3_xxs_value(uint16_t code, int j)
{
	static const uint8_t value[8] = {4, 12, 20, 28, 36, 44, 52, 62};

	return value[code >> 3 * j & 7];
}

static inline int lmi_iq3_s_value(uint16_t code, int j)
{
	return 2 * (code >> 3 * j & 7) + 1;
}

/* Returns the eight signs (bit 1 = minus) that a 7-bit index encodes; the number of minus signs is
 * even. */
static inline uint8_t lmi_iq_signs(unsigned index)
{
	return (uint8_t)(index | (unsigned)__builtin_parity(index) << 7);
}

#endif /* LLAMAD_CORE_QUANT_IQ_GRIDS_H */
