/* SPDX-License-Identifier: MIT
 *
 * unpack.h - unpacks weights to integers, portably.
 *
 * In each block of 32 a weight is D * P + M, all three exact in f32; types/NAME.h
 * says which (layouts: docs/formats.md).  For the IQ1, IQ2 and IQ3 types see iq_tables.h. */
#ifndef LLAMAD_CPU_KERN_UNPACK_H
#define LLAMAD_CPU_KERN_UNPACK_H

#include "backend/common/int8_types.h"
#include "iq_tables.h"

/* An unpacked row. */
struct kern_row {
	int16_t *p;   /* [k] */
	float *d, *m; /* [k/32] */
	int16_t *mn;  /* [k/16] minima of Q2_K */
};

/* Unpacks k values.  points: tables of the IQ types. */
void kern_unpack(const struct host_mem_int8_type *t, const struct kern_iq_tables *points,
		 const uint8_t *block, uint32_t k, const struct kern_row *out);

#endif /* LLAMAD_CPU_KERN_UNPACK_H */
