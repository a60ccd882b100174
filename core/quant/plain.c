/* SPDX-License-Identifier: MIT
 *
 * Types without blocks: floats and integers of one element each, little-endian.  Integers are index
 * tables; they decode to the nearest float and have no encoder. */
#include <stdint.h>

#include "core/base/bytes.h"
#include "core/quant/codec.h"
#include "core/quant/half.h"

LMI_DECODER(f32)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = lmi_bits_f32(lmi_get_le32(p + 4 * i));
}

LMI_ENCODER(f32)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++)
		lmi_put_le32(p + 4 * i, lmi_f32_bits(src[i]));
}

LMI_DECODER(f16)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = lmi_get_f16(p + 2 * i);
}

LMI_ENCODER(f16)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++)
		lmi_put_f16(p + 2 * i, src[i]);
}

LMI_DECODER(bf16)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = lmi_bf16_to_f32(lmi_get_le16(p + 2 * i));
}

LMI_ENCODER(bf16)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++)
		lmi_put_le16(p + 2 * i, lmi_f32_to_bf16(src[i]));
}

LMI_DECODER(f64)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)lmi_bits_f64(lmi_get_le64(p + 8 * i));
}

LMI_ENCODER(f64)
{
	uint8_t *p = dst;

	(void)importance;
	for (size_t i = 0; i < n; i++)
		lmi_put_le64(p + 8 * i, lmi_f64_bits(src[i]));
}

LMI_DECODER(i8)
{
	const int8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = p[i];
}

LMI_DECODER(i16)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (int16_t)lmi_get_le16(p + 2 * i);
}

LMI_DECODER(i32)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)(int32_t)lmi_get_le32(p + 4 * i);
}

LMI_DECODER(i64)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)(int64_t)lmi_get_le64(p + 8 * i);
}
