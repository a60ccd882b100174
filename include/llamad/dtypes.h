/* SPDX-License-Identifier: MIT
 *
 * dtypes.h - the list of tensor types: X(constant without LMD_DTYPE_, name, id in GGUF files).
 *
 * A type is added with one row here and one file, core/quant/NAME.c of the host
 * (docs/tensor-types-howto.md).  The host's table, the float kernels of the backends, the conformance
 * cases and the documentation are made from these rows. */
#ifndef LLAMAD_DTYPES_H
#define LLAMAD_DTYPES_H

/* clang-format off */

/* Numbers: a block is one element. */
#define LMD_DTYPES_NUMBER(X) \
	X(F32, f32, 0) \
	X(F16, f16, 1) \
	X(I8, i8, 24) \
	X(I16, i16, 25) \
	X(I32, i32, 26) \
	X(I64, i64, 27) \
	X(F64, f64, 28) \
	X(BF16, bf16, 30)

/* Quantised weights.  Ids from 133 on are those of forks of llama.cpp.  Q8_A exists only in
 * memory. */
#define LMD_DTYPES_WEIGHT(X) \
	X(Q4_0, q4_0, 2) \
	X(Q4_1, q4_1, 3) \
	X(Q5_0, q5_0, 6) \
	X(Q5_1, q5_1, 7) \
	X(Q8_0, q8_0, 8) \
	X(Q2_K, q2_k, 10) \
	X(Q3_K, q3_k, 11) \
	X(Q4_K, q4_k, 12) \
	X(Q5_K, q5_k, 13) \
	X(Q6_K, q6_k, 14) \
	X(IQ2_XXS, iq2_xxs, 16) \
	X(IQ2_XS, iq2_xs, 17) \
	X(IQ3_XXS, iq3_xxs, 18) \
	X(IQ1_S, iq1_s, 19) \
	X(IQ4_NL, iq4_nl, 20) \
	X(IQ3_S, iq3_s, 21) \
	X(IQ2_S, iq2_s, 22) \
	X(IQ4_XS, iq4_xs, 23) \
	X(IQ1_M, iq1_m, 29) \
	X(TQ1_0, tq1_0, 34) \
	X(TQ2_0, tq2_0, 35) \
	X(MXFP4, mxfp4, 39) \
	X(NVFP4, nvfp4, 40) \
	X(Q1_0, q1_0, 41) \
	X(Q2_0, q2_0, 42) \
	X(Q8_A, q8_a, 63) \
	X(Q6_0, q6_0, 133) \
	X(IQ1_BN, iq1_bn, 134) \
	X(IQ2_BN, iq2_bn, 135) \
	X(IQ2_K, iq2_k, 137) \
	X(IQ3_K, iq3_k, 138) \
	X(IQ4_K, iq4_k, 139) \
	X(IQ5_K, iq5_k, 140) \
	X(IQ6_K, iq6_k, 141) \
	X(PQ2_0, pq2_0, 142) \
	X(IQ4_KS, iq4_ks, 144) \
	X(IQ2_KS, iq2_ks, 145) \
	X(IQ4_KSS, iq4_kss, 146) \
	X(Q8_KV, q8_kv, 151) \
	X(IQ5_KS, iq5_ks, 152) \
	X(IQ2_KT, iq2_kt, 153) \
	X(IQ3_KT, iq3_kt, 154) \
	X(IQ4_KT, iq4_kt, 155) \
	X(IQ3_KS, iq3_ks, 156) \
	X(IQ2_KL, iq2_kl, 157) \
	X(IQ1_KT, iq1_kt, 158)

/* Activations, never weights.  F8_E4M3 and Q4_0_ROT exist only in KV caches. */
#define LMD_DTYPES_ACTIVATION(X) \
	X(Q8_1, q8_1, 9) \
	X(Q8_K, q8_k, 15) \
	X(F8_E4M3, f8_e4m3, 60) \
	X(Q4_0_ROT, q4_0_rot, 64)

/* clang-format on */

#endif /* LLAMAD_DTYPES_H */
