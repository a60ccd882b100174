/* SPDX-License-Identifier: MIT
 *
 * Q8_KV: one d per row and the sum of the row's codes, which products use; x = d * q.
 *
 * Fields: f32 d, i32 sum of the codes; blocks: i8 qs[32]
 * Value:  d * q */
#include <math.h>
#include <stdint.h>

#include "core/quant/codec.h"
#include "core/quant_search/scale_search.h"
#include "core/base/float16.h"

struct row {
	uint8_t d[4];   /* f32 */
	uint8_t sum[4]; /* i32 */
	int8_t qs[];    /* the number of codes is a multiple of 32 */
};
_Static_assert(sizeof(struct row) == 8, "q8_kv header");

LMI_QUANT_DECODER(q8_kv)
{
	const struct row *r = src;
	float d = lmi_bits_f32(lmi_get_le32(r->d));

	for (size_t i = 0; i < n; i++)
		dst[i] = d * (float)r->qs[i];
}

LMI_QUANT_ENCODER(q8_kv)
{
	struct row *r = dst;
	float peak = 0, d, inv, x;
	int32_t sum = 0;

	(void)importance;
	for (size_t i = 0; i < n; i++) {
		lmi_search_fit_clean(src + i, &x, 1);
		peak = fmaxf(peak, fabsf(x));
	}
	d = peak / 127;
	inv = d > 1e-38f ? 1 / d : 0;
	for (size_t i = 0; i < n; i++) {
		lmi_search_fit_clean(src + i, &x, 1);
		r->qs[i] = (int8_t)lmi_search_fit_round(x * inv, -127, 127);
		sum += r->qs[i];
	}
	lmi_put_le32(r->d, lmi_f32_bits(d));
	lmi_put_le32(r->sum, (uint32_t)sum);
}

const struct lmi_dtype lmi_quant_q8_kv = {
	LMI_QUANT_NAMES(Q8_KV, q8_kv),
	.block_elems = 32,
	.block_bytes = 32,
	.row_bytes_extra = 8,
	.is_quant = true,
	.file_type = {149, "Q8_KV", NULL, LMD_DTYPE_Q8_KV},
	.dequant = q8_kv_dequant,
	.quant = q8_kv_quant,
	.decode_hash = 0x81903AFAA0C091E4,
};
