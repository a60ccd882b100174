/* SPDX-License-Identifier: MIT
 *
 * codec.h - decoder and encoder of each tensor type.  Outside of tests they are called only through
 * the table in types.c.
 *
 * Each file TYPE.c contains the layout of a block as a struct of bytes (so that a block may lie at
 * any address, on a host of any byte order), a static assertion on its size, and the two functions.
 * Decoders compute in the order of the formula in docs/formats.md, in float, without fused
 * multiply-add, so the result is defined to the last bit.  Encoders minimise the sum of importance
 * * (x - decoded)^2 over a block. */
#ifndef LLAMAD_CORE_QUANT_CODEC_H
#define LLAMAD_CORE_QUANT_CODEC_H

#include <stddef.h>

#define LMI_QUANT_DECODER(type)                                                                    \
	void lmi_quant_##type##_dequant(const void *src, float *dst, size_t n)
#define LMI_QUANT_ENCODER(type)                                                                    \
	void lmi_quant_##type##_quant(const float *src, void *dst, size_t n,                       \
				      const float *importance)

LMI_QUANT_DECODER(f32);
LMI_QUANT_DECODER(f16);
LMI_QUANT_DECODER(bf16);
LMI_QUANT_DECODER(f64);
LMI_QUANT_DECODER(i8);
LMI_QUANT_DECODER(i16);
LMI_QUANT_DECODER(i32);
LMI_QUANT_DECODER(i64);
LMI_QUANT_DECODER(q4_0);
LMI_QUANT_DECODER(q4_1);
LMI_QUANT_DECODER(q5_0);
LMI_QUANT_DECODER(q5_1);
LMI_QUANT_DECODER(q8_0);
LMI_QUANT_DECODER(q8_1);
LMI_QUANT_DECODER(q8_a);
LMI_QUANT_DECODER(q8_k);
LMI_QUANT_DECODER(q4_k);
LMI_QUANT_DECODER(q5_k);
LMI_QUANT_DECODER(q6_k);
LMI_QUANT_DECODER(q2_k);
LMI_QUANT_DECODER(q3_k);
LMI_QUANT_DECODER(iq2_xxs);
LMI_QUANT_DECODER(iq2_xs);
LMI_QUANT_DECODER(iq2_s);
LMI_QUANT_DECODER(iq3_xxs);
LMI_QUANT_DECODER(iq3_s);
LMI_QUANT_DECODER(iq1_s);
LMI_QUANT_DECODER(iq1_m);
LMI_QUANT_DECODER(iq4_nl);
LMI_QUANT_DECODER(iq4_xs);
LMI_QUANT_DECODER(tq1_0);
LMI_QUANT_DECODER(tq2_0);
LMI_QUANT_DECODER(mxfp4);
LMI_QUANT_DECODER(nvfp4);
LMI_QUANT_DECODER(q1_0);
LMI_QUANT_DECODER(q2_0);
LMI_QUANT_DECODER(q6_0);
LMI_QUANT_DECODER(iq1_bn);
LMI_QUANT_DECODER(iq2_bn);
LMI_QUANT_DECODER(iq2_k);
LMI_QUANT_DECODER(iq3_k);
LMI_QUANT_DECODER(iq4_k);
LMI_QUANT_DECODER(iq5_k);
LMI_QUANT_DECODER(iq6_k);
LMI_QUANT_DECODER(iq2_ks);
LMI_QUANT_DECODER(iq3_ks);
LMI_QUANT_DECODER(iq4_ks);
LMI_QUANT_DECODER(iq5_ks);
LMI_QUANT_DECODER(iq4_kss);
LMI_QUANT_DECODER(iq2_kl);
LMI_QUANT_DECODER(iq1_kt);
LMI_QUANT_DECODER(iq2_kt);
LMI_QUANT_DECODER(iq3_kt);
LMI_QUANT_DECODER(iq4_kt);
LMI_QUANT_DECODER(q8_kv);
LMI_QUANT_DECODER(f8_e4m3);
LMI_QUANT_DECODER(f8_e5m2);

LMI_QUANT_ENCODER(f32);
LMI_QUANT_ENCODER(f16);
LMI_QUANT_ENCODER(bf16);
LMI_QUANT_ENCODER(f64);
LMI_QUANT_ENCODER(q4_0);
LMI_QUANT_ENCODER(q4_1);
LMI_QUANT_ENCODER(q5_0);
LMI_QUANT_ENCODER(q5_1);
LMI_QUANT_ENCODER(q8_0);
LMI_QUANT_ENCODER(q8_1);
LMI_QUANT_ENCODER(q8_k);
LMI_QUANT_ENCODER(iq2_xxs);
LMI_QUANT_ENCODER(iq2_xs);
LMI_QUANT_ENCODER(iq2_s);
LMI_QUANT_ENCODER(iq3_xxs);
LMI_QUANT_ENCODER(iq3_s);
LMI_QUANT_ENCODER(iq1_s);
LMI_QUANT_ENCODER(iq1_m);
LMI_QUANT_ENCODER(q2_k);
LMI_QUANT_ENCODER(q3_k);
LMI_QUANT_ENCODER(q4_k);
LMI_QUANT_ENCODER(q5_k);
LMI_QUANT_ENCODER(q6_k);
LMI_QUANT_ENCODER(iq4_xs);
LMI_QUANT_ENCODER(iq4_nl);
LMI_QUANT_ENCODER(tq1_0);
LMI_QUANT_ENCODER(tq2_0);
LMI_QUANT_ENCODER(mxfp4);
LMI_QUANT_ENCODER(nvfp4);
LMI_QUANT_ENCODER(q1_0);
LMI_QUANT_ENCODER(q2_0);
LMI_QUANT_ENCODER(q6_0);
LMI_QUANT_ENCODER(iq1_bn);
LMI_QUANT_ENCODER(iq2_bn);
LMI_QUANT_ENCODER(iq2_k);
LMI_QUANT_ENCODER(iq3_k);
LMI_QUANT_ENCODER(iq4_k);
LMI_QUANT_ENCODER(iq5_k);
LMI_QUANT_ENCODER(iq6_k);
LMI_QUANT_ENCODER(iq2_ks);
LMI_QUANT_ENCODER(iq3_ks);
LMI_QUANT_ENCODER(iq4_ks);
LMI_QUANT_ENCODER(iq5_ks);
LMI_QUANT_ENCODER(iq4_kss);
LMI_QUANT_ENCODER(iq2_kl);
LMI_QUANT_ENCODER(iq1_kt);
LMI_QUANT_ENCODER(iq2_kt);
LMI_QUANT_ENCODER(iq3_kt);
LMI_QUANT_ENCODER(iq4_kt);
LMI_QUANT_ENCODER(q8_kv);
LMI_QUANT_ENCODER(f8_e4m3);
LMI_QUANT_ENCODER(f8_e5m2);

/* Plain rounding without a search, for KV caches: round_nearest.c. */
void lmi_quant_q4_0_nearest(const float *src, void *dst, size_t n, const float *importance);
void lmi_quant_q4_1_nearest(const float *src, void *dst, size_t n, const float *importance);
void lmi_quant_q5_0_nearest(const float *src, void *dst, size_t n, const float *importance);
void lmi_quant_q5_1_nearest(const float *src, void *dst, size_t n, const float *importance);
void lmi_quant_q6_0_nearest(const float *src, void *dst, size_t n, const float *importance);
void lmi_quant_iq4_nl_nearest(const float *src, void *dst, size_t n, const float *importance);

#endif /* LLAMAD_CORE_QUANT_CODEC_H */
