// SPDX-License-Identifier: MIT
//
// Reads little-endian numbers at any byte of a row, which begins at a multiple of 4 bytes, and defines
// what the headers that are shared with backend gpu ask for (device_decode.h, device_cache.h).

uint u32_at(Words row, uint byte)
{
	uint i = byte >> 2, s = (byte & 3u) * 8u;

	return s == 0u ? row.w[i] : row.w[i] >> s | row.w[i + 1u] << (32u - s);
}

uint u16_at(Words row, uint byte)
{
	uint s = (byte & 3u) * 8u;
	uint v = row.w[byte >> 2] >> s;

	return (s == 24u ? v | row.w[(byte >> 2) + 1u] << 8 : v) & 0xffffu;
}

uint u8_at(Words row, uint byte)
{
	return row.w[byte >> 2] >> ((byte & 3u) * 8u) & 0xffu;
}

float f16_at(Words row, uint byte)
{
	return f16(u16_at(row, byte));
}

// the values of iq4_nl, and those of mxfp4 doubled
const int table_nl[16] = int[16](-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89,
				 113);
const int table_fp4[16] = int[16](0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

#define uint32_t uint
#define int32_t int
#define DEVICE_FN
#define DEVICE_ROW Words row
#define DEVICE_U8(row, at) u8_at(row, at)
#define DEVICE_U16(row, at) u16_at(row, at)
#define DEVICE_U32(row, at) u32_at(row, at)
#define DEVICE_F16(bits) f16(bits)
#define DEVICE_F32(bits) uintBitsToFloat(bits)
#define DEVICE_FLOAT(x) float(x)
#define DEVICE_INT(x) int(x)
#define DEVICE_IQ4(n) table_nl[n]
#define DEVICE_FP4(n) table_fp4[n]
