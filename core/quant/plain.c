/* SPDX-License-Identifier: MIT
 *
 * Types without blocks: floats and integers of one element each, little-endian.  Integers are index
 * tables; they decode to the nearest float and have no encoder. */
#include <stdint.h>

#include "core/base/bytes.h"
#include "core/quant/codec.h"
#include "core/base/float16.h"

LMI_QUANT_DECODER(f32)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = lmi_bits_f32(lmi_get_le32(p + 4 * i));
}

LMI_QUANT_ENCODER(f32)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++)
		lmi_put_le32(p + 4 * i, lmi_f32_bits(src[i]));
}

LMI_QUANT_DECODER(f16)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = lmi_get_f16(p + 2 * i);
}

LMI_QUANT_ENCODER(f16)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++)
		lmi_put_f16(p + 2 * i, src[i]);
}

LMI_QUANT_DECODER(bf16)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = lmi_bf16_to_f32(lmi_get_le16(p + 2 * i));
}

LMI_QUANT_ENCODER(bf16)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++)
		lmi_put_le16(p + 2 * i, lmi_f32_to_bf16(src[i]));
}

LMI_QUANT_DECODER(f64)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)lmi_bits_f64(lmi_get_le64(p + 8 * i));
}

LMI_QUANT_ENCODER(f64)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++)
		lmi_put_le64(p + 8 * i, lmi_f64_bits(src[i]));
}

LMI_QUANT_DECODER(i8)
{
	const int8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = p[i];
}

LMI_QUANT_DECODER(i16)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (int16_t)lmi_get_le16(p + 2 * i);
}

LMI_QUANT_DECODER(i32)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)(int32_t)lmi_get_le32(p + 4 * i);
}

LMI_QUANT_DECODER(i64)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)(int64_t)lmi_get_le64(p + 8 * i);
}

const struct lmi_dtype lmi_quant_f32 = {
	LMI_QUANT_NAMES(F32, f32),
	.block_elems = 1,
	.block_bytes = 4,
	.file_type = {0, "F32", NULL, LMD_DTYPE_F32},
	.dequant = f32_dequant,
	.quant = f32_quant,
	.decode_hash = 0x2126CCFF770EE5A9,
};

const struct lmi_dtype lmi_quant_f16 = {
	LMI_QUANT_NAMES(F16, f16),
	.block_elems = 1,
	.block_bytes = 2,
	.file_type = {1, "F16", NULL, LMD_DTYPE_F16},
	.dequant = f16_dequant,
	.quant = f16_quant,
	.decode_hash = 0xF168EF480EF6A325,
};

const struct lmi_dtype lmi_quant_bf16 = {
	LMI_QUANT_NAMES(BF16, bf16),
	.block_elems = 1,
	.block_bytes = 2,
	.file_type = {32, "BF16", NULL, LMD_DTYPE_BF16},
	.dequant = bf16_dequant,
	.quant = bf16_quant,
	.decode_hash = 0x9E67E384ACA5A325,
};

const struct lmi_dtype lmi_quant_f64 = {
	LMI_QUANT_NAMES(F64, f64),
	.block_elems = 1,
	.block_bytes = 8,
	.dequant = f64_dequant,
	.quant = f64_quant,
	.decode_hash = 0x07D223F71CACFC7E,
};

const struct lmi_dtype lmi_quant_i8 = {
	LMI_QUANT_NAMES(I8, i8),
	.block_elems = 1,
	.block_bytes = 1,
	.dequant = i8_dequant,
	.decode_hash = 0x54A41A3EF7EAA325,
};

const struct lmi_dtype lmi_quant_i16 = {
	LMI_QUANT_NAMES(I16, i16),
	.block_elems = 1,
	.block_bytes = 2,
	.dequant = i16_dequant,
	.decode_hash = 0x93A496067D8E7125,
};

const struct lmi_dtype lmi_quant_i32 = {
	LMI_QUANT_NAMES(I32, i32),
	.block_elems = 1,
	.block_bytes = 4,
	.dequant = i32_dequant,
	.decode_hash = 0x92FFFA2D7115AB48,
};

const struct lmi_dtype lmi_quant_i64 = {
	LMI_QUANT_NAMES(I64, i64),
	.block_elems = 1,
	.block_bytes = 8,
	.dequant = i64_dequant,
	.decode_hash = 0x56576DB30531A547,
};
