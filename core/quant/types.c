/* SPDX-License-Identifier: MIT
 *
 * The table of tensor types: one line per type. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/checked.h"
#include "core/quant/codec.h"
#include "core/quant/quant.h"

/* clang-format off */
#define ROW(ID, text, elems, bytes, ...)                                                           \
	[LMD_DTYPE_##ID] = {.id = LMD_DTYPE_##ID, .name = text, .block_elems = elems,              \
			    .block_bytes = bytes, __VA_ARGS__}
#define IN(type)                       .dequant = lmi_quant_##type##_dequant
#define IN_OUT(type)                   IN(type), .quant = lmi_quant_##type##_quant
#define PLAIN(ID, type, bytes)         ROW(ID, #type, 1, bytes, IN_OUT(type))
#define INTEGER(ID, type, bytes)       ROW(ID, #type, 1, bytes, IN(type))
#define WEIGHT(ID, type, elems, bytes) ROW(ID, #type, elems, bytes, IN_OUT(type), .is_quant = true)
#define CACHE(ID, type, elems, bytes)                                                              \
	ROW(ID, #type, elems, bytes, IN_OUT(type), .is_quant = true,                               \
	    .quant_nearest = lmi_quant_##type##_nearest)
#define ACTIV(ID, type, elems, bytes)                                                              \
	ROW(ID, #type, elems, bytes, IN_OUT(type), .is_activation = true)

/* A type whose rows start with a header of `head` bytes. */
#define ROWS(ID, type, elems, bytes, head)                                                         \
	ROW(ID, #type, elems, bytes, IN_OUT(type), .is_quant = true, .row_bytes_extra = head)

static const struct lmi_dtype table[LMD_DTYPE_END] = {
	PLAIN(F32, f32, 4),
	PLAIN(F16, f16, 2),
	PLAIN(BF16, bf16, 2),
	PLAIN(F64, f64, 8),
	INTEGER(I8, i8, 1),
	INTEGER(I16, i16, 2),
	INTEGER(I32, i32, 4),
	INTEGER(I64, i64, 8),
	CACHE(Q4_0, q4_0, 32, 18),
	CACHE(Q4_1, q4_1, 32, 20),
	CACHE(Q5_0, q5_0, 32, 22),
	CACHE(Q5_1, q5_1, 32, 24),
	WEIGHT(Q8_0, q8_0, 32, 34),
	WEIGHT(Q2_K, q2_k, 256, 84),
	WEIGHT(Q3_K, q3_k, 256, 110),
	WEIGHT(Q4_K, q4_k, 256, 144),
	WEIGHT(Q5_K, q5_k, 256, 176),
	WEIGHT(Q6_K, q6_k, 256, 210),
	WEIGHT(IQ2_XXS, iq2_xxs, 256, 66),
	WEIGHT(IQ2_XS, iq2_xs, 256, 74),
	WEIGHT(IQ2_S, iq2_s, 256, 82),
	WEIGHT(IQ3_XXS, iq3_xxs, 256, 98),
	WEIGHT(IQ3_S, iq3_s, 256, 110),
	WEIGHT(IQ1_S, iq1_s, 256, 50),
	WEIGHT(IQ1_M, iq1_m, 256, 56),
	CACHE(IQ4_NL, iq4_nl, 32, 18),
	WEIGHT(IQ4_XS, iq4_xs, 256, 136),
	WEIGHT(TQ1_0, tq1_0, 256, 54),
	WEIGHT(TQ2_0, tq2_0, 256, 66),
	WEIGHT(MXFP4, mxfp4, 32, 17),
	WEIGHT(NVFP4, nvfp4, 64, 36),
	WEIGHT(Q1_0, q1_0, 128, 18),
	WEIGHT(Q2_0, q2_0, 64, 18),
	ROW(Q8_A, "q8_a", 32, 40, IN(q8_a), .is_quant = true, .memory_only = true),
	CACHE(Q6_0, q6_0, 32, 26),
	ROWS(IQ1_BN, iq1_bn, 64, 13, 2),
	ROWS(IQ2_BN, iq2_bn, 64, 16, 4),
	WEIGHT(IQ2_K, iq2_k, 256, 76),
	WEIGHT(IQ3_K, iq3_k, 256, 110),
	WEIGHT(IQ4_K, iq4_k, 256, 144),
	WEIGHT(IQ5_K, iq5_k, 256, 176),
	WEIGHT(IQ6_K, iq6_k, 256, 212),
	ROWS(IQ2_KS, iq2_ks, 256, 70, 2),
	ROWS(IQ3_KS, iq3_ks, 256, 102, 2),
	ROWS(IQ4_KS, iq4_ks, 256, 136, 4),
	ROWS(IQ5_KS, iq5_ks, 256, 168, 4),
	ROWS(IQ4_KSS, iq4_kss, 256, 128, 4),
	ROWS(IQ2_KL, iq2_kl, 256, 86, 2),
	ROWS(IQ1_KT, iq1_kt, 256, 56, 4),
	ROWS(IQ2_KT, iq2_kt, 256, 68, 4),
	ROWS(IQ3_KT, iq3_kt, 256, 100, 4),
	ROWS(IQ4_KT, iq4_kt, 256, 128, 4),
	ROWS(Q8_KV, q8_kv, 32, 32, 8),
	ACTIV(Q8_1, q8_1, 32, 36),
	ACTIV(Q8_K, q8_k, 256, 292),
};
/* clang-format on */

const struct lmi_dtype *lmi_dtype(uint32_t id)
{
	return id < LMD_DTYPE_END && table[id].name ? &table[id] : NULL;
}

const struct lmi_dtype *lmi_dtype_by_name(const char *name)
{
	for (uint32_t i = 0; i < LMD_DTYPE_END; i++)
		if (table[i].name && !strcasecmp(table[i].name, name))
			return &table[i];
	return NULL;
}

const char *lmi_dtype_explain_unknown(uint32_t id, char *buf, size_t n)
{
	static const struct {
		uint32_t id;
		const char *name;
	} removed[] = {
		{4, "q4_2"},      {5, "q4_3"},        {31, "q4_0_4_4"},   {32, "q4_0_4_8"},
		{33, "q4_0_8_8"}, {36, "iq4_nl_4_4"}, {37, "iq4_nl_4_8"}, {38, "iq4_nl_8_8"},
	};

	/* row-interleaved types of ik_llama.cpp */
	static const struct {
		uint32_t id;
		const char *name;
	} repacks[] = {
		{202, "q4_0_r8"},    {206, "q5_0_r4"},    {208, "q8_0_r8"},   {210, "q2_k_r4"},
		{211, "q3_k_r4"},    {212, "q4_k_r4"},    {213, "q5_k_r4"},   {214, "q6_k_r4"},
		{216, "iq2_xxs_r4"}, {217, "iq2_xs_r4"},  {218, "iq3_xxs_r4"}, {219, "iq1_s_r4"},
		{220, "iq4_nl_r4"},  {221, "iq3_s_r4"},   {222, "iq2_s_r4"},  {223, "iq4_xs_r8"},
		{229, "iq1_m_r4"},   {230, "bf16_r16"},   {233, "q6_0_r4"},   {335, "iq2_bn_r4"},
		{337, "iq2_k_r4"},   {338, "iq3_k_r4"},   {339, "iq4_k_r4"},  {340, "iq5_k_r4"},
		{344, "iq4_ks_r4"},  {352, "iq5_ks_r4"},  {353, "mxfp4_r8"},  {397, "q8_k_r16"},
		{398, "q8_kv_r8"},   {399, "q8_k_r8"},
	};

	for (size_t i = 0; i < LMD_LEN(removed); i++) {
		if (removed[i].id == id) {
			(void)snprintf(buf, n, "type %u (%s) was removed from the format", id,
				       removed[i].name);
			return buf;
		}
	}
	for (size_t i = 0; i < LMD_LEN(repacks); i++) {
		if (repacks[i].id == id) {
			(void)snprintf(
				buf, n,
				"type %u (%s) has rows interleaved for one kind of processor; "
				"use the file from before it was repacked",
				id, repacks[i].name);
			return buf;
		}
	}
	(void)snprintf(buf, n, "type %u is unknown", id);
	return buf;
}

uint32_t lmi_dtype_in_file(uint32_t id)
{
	const struct lmi_dtype *t = lmi_dtype(id);

	return t && t->memory_only ? LMD_DTYPE_F16 : id;
}

bool lmi_quant_row_bytes(const struct lmi_dtype *t, uint64_t n, uint64_t *out)
{
	uint64_t bytes;

	if (n % t->block_elems || !lmi_mul_ok(n / t->block_elems, t->block_bytes, &bytes))
		return false;
	return lmi_add_ok(bytes, t->row_bytes_extra, out);
}

void lmi_quant_dequant_rows(const struct lmi_dtype *t, const void *src, float *dst, size_t n,
			    size_t n_row)
{
	const uint8_t *p = src;
	uint64_t bytes = 0;

	if (!t->row_bytes_extra) {
		t->dequant(src, dst, n * n_row);
		return;
	}
	(void)lmi_quant_row_bytes(t, n, &bytes); /* cannot fail: the rows exist */
	for (size_t i = 0; i < n_row; i++)
		t->dequant(p + i * bytes, dst + i * n, n);
}
