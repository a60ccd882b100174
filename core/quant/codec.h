/* SPDX-License-Identifier: MIT
 *
 * codec.h - what the file of a tensor type is made of.
 *
 * Each file TYPE.c contains everything about one type.  The comment at its head states the fields of
 * a block and the formula of a value; docs/formats.md is made from it.  Then come the layout of a
 * block as a struct of bytes (so that a block may lie at any address, on a host of any byte order), a
 * static assertion on its size, the decoder, the encoders, and the type's description:
 *
 *     const struct lmi_dtype lmi_quant_TYPE = {LMI_QUANT_NAMES(CONSTANT, TYPE), ...};
 *
 * The list of types is LMD_DTYPES_* in llamad/dtypes.h.
 *
 * Decoders compute in the order of the formula, in float, without fused multiply-add, so the result
 * is defined to the last bit.  Encoders minimise the sum of importance * (x - decoded)^2 over a
 * block. */
#ifndef LLAMAD_CORE_QUANT_CODEC_H
#define LLAMAD_CORE_QUANT_CODEC_H

#include <stddef.h>

#include "core/quant/quant.h"

#define LMI_QUANT_DECODER(type) static void type##_dequant(const void *src, float *dst, size_t n)
#define LMI_QUANT_ENCODER(type)                                                                    \
	static void type##_quant(const float *src, void *dst, size_t n, const float *importance)
/* Plain rounding without a search. */
#define LMI_QUANT_NEAREST(type)                                                                    \
	static void type##_nearest(const float *src, void *dst, size_t n, const float *importance)

#define LMI_QUANT_NAMES(ID, type) .id = LMD_DTYPE_##ID, .name = #type

#define LMI_QUANT_DECLARE(ID, type, number) extern const struct lmi_dtype lmi_quant_##type;
LMD_DTYPES_NUMBER(LMI_QUANT_DECLARE)
LMD_DTYPES_WEIGHT(LMI_QUANT_DECLARE)
LMD_DTYPES_ACTIVATION(LMI_QUANT_DECLARE)

#endif /* LLAMAD_CORE_QUANT_CODEC_H */
