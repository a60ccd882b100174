/* SPDX-License-Identifier: MIT
 *
 * The table of tensor types, from the list in llamad/dtypes.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/checked.h"
#include "core/quant/codec.h"
#include "core/quant/quant.h"

#define ROW(ID, type, number) [LMD_DTYPE_##ID] = &lmi_quant_##type,

static const struct lmi_dtype *const table[LMD_DTYPE_END] = {
	LMD_DTYPES_NUMBER(ROW) LMD_DTYPES_WEIGHT(ROW) LMD_DTYPES_ACTIVATION(ROW)};

const struct lmi_dtype *lmi_dtype(uint32_t id)
{
	return id < LMD_DTYPE_END ? table[id] : NULL;
}

const struct lmi_dtype *lmi_dtype_by_name(const char *name)
{
	for (uint32_t i = 0; i < LMD_DTYPE_END; i++)
		if (table[i] && !strcasecmp(table[i]->name, name))
			return table[i];
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
