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
#define PLAIN(ID, type, bytes)         ROW(ID, #type, 1, bytes, .dequant = lmi_##type##_dequant, .quant = lmi_##type##_quant)
#define INTEGER(ID, type, bytes)       ROW(ID, #type, 1, bytes, .dequant = lmi_##type##_dequant)
#define WEIGHT(ID, type, elems, bytes) ROW(ID, #type, elems, bytes, .is_quant = true, .dequant = lmi_##type##_dequant, .quant = lmi_##type##_quant)
#define DECODE(ID, type, elems, bytes) ROW(ID, #type, elems, bytes, .is_quant = true, .dequant = lmi_##type##_dequant)
#define ACTIV(ID, type, elems, bytes)  ROW(ID, #type, elems, bytes, .is_activation = true, .dequant = lmi_##type##_dequant, .quant = lmi_##type##_quant)

static const struct lmi_dtype table[LMD_DTYPE_END] = {
	PLAIN(F32, f32, 4),
	PLAIN(F16, f16, 2),
	PLAIN(BF16, bf16, 2),
	PLAIN(F64, f64, 8),
	INTEGER(I8, i8, 1),
	INTEGER(I16, i16, 2),
	INTEGER(I32, i32, 4),
	INTEGER(I64, i64, 8),
	WEIGHT(Q4_0, q4_0, 32, 18),
	WEIGHT(Q4_1, q4_1, 32, 20),
	WEIGHT(Q5_0, q5_0, 32, 22),
	WEIGHT(Q5_1, q5_1, 32, 24),
	WEIGHT(Q8_0, q8_0, 32, 34),
	DECODE(Q4_K, q4_k, 256, 144),
	DECODE(Q5_K, q5_k, 256, 176),
	DECODE(Q6_K, q6_k, 256, 210),
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

const char *lmi_dtype_refusal(uint32_t id, char *buf, size_t n)
{
	static const struct {
		uint32_t id;
		const char *name;
	} removed[] = {
		{4, "q4_2"},	  {5, "q4_3"},	      {31, "q4_0_4_4"},	  {32, "q4_0_4_8"},
		{33, "q4_0_8_8"}, {36, "iq4_nl_4_4"}, {37, "iq4_nl_4_8"}, {38, "iq4_nl_8_8"},
	};

	for (size_t i = 0; i < LMD_LEN(removed); i++) {
		if (removed[i].id == id) {
			(void)snprintf(buf, n, "type %u (%s) was removed from the format", id,
				       removed[i].name);
			return buf;
		}
	}
	if (id >= 133 && id < 400)
		(void)snprintf(buf, n, "type %u is private to a fork of the format", id);
	else
		(void)snprintf(buf, n, "type %u is unknown", id);
	return buf;
}

bool lmi_row_bytes(const struct lmi_dtype *t, uint64_t n, uint64_t *out)
{
	uint64_t bytes;

	if (n % t->block_elems || !lmi_mul_ok(n / t->block_elems, t->block_bytes, &bytes))
		return false;
	return lmi_add_ok(bytes, t->row_bytes_extra, out);
}
