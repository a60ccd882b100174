/* SPDX-License-Identifier: MIT
 *
 * The tile operations in plain C; see amx_twin.h. */
#define KERN_AMX_TWIN
#include "amx_tile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILES     8
#define ROWS      16
#define ROW_BYTES 64

static _Thread_local struct {
	bool configured;
	struct kern_amx_config config;
	uint8_t data[TILES][ROWS][ROW_BYTES];
} tiles;

static void need(bool condition, const char *fault, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "tiles: %s: %s\n", fault, what);
	abort();
}

void kern_amx_twin_configure(const struct kern_amx_config *c)
{
	need(c->palette <= 1, "#GP", "there are palettes 0 and 1");
	if (!c->palette) {
		kern_amx_twin_release();
		return;
	}
	for (int i = 0; i < 14; i++)
		need(!c->zero[i], "#GP", "a reserved byte is not 0");
	for (int t = 0; t < 16; t++) {
		need(t < TILES || (!c->bytes[t] && !c->rows[t]), "#GP", "palette 1 has 8 tiles");
		need(c->bytes[t] <= ROW_BYTES, "#GP", "a row has more than 64 bytes");
		need(c->rows[t] <= ROWS, "#GP", "a tile has more than 16 rows");
		need(!c->bytes[t] == !c->rows[t], "#GP", "a tile has rows or bytes, but not both");
	}
	memset(&tiles, 0, sizeof(tiles));
	tiles.config = *c;
	tiles.configured = true;
}

void kern_amx_twin_release(void)
{
	memset(&tiles, 0, sizeof(tiles));
}

bool kern_amx_twin_configured(void)
{
	return tiles.configured;
}

static void need_tile(int t)
{
	need(tiles.configured, "#UD", "no tiles are configured");
	need(t >= 0 && t < TILES && tiles.config.rows[t], "#UD", "the tile is not configured");
}

void kern_amx_twin_zero(int t)
{
	need_tile(t);
	memset(tiles.data[t], 0, sizeof(tiles.data[t]));
}

void kern_amx_twin_load(int t, const void *p, ptrdiff_t stride)
{
	need_tile(t);
	need(tiles.config.bytes[t] % 4 == 0, "#UD", "the bytes of a row are no multiple of 4");
	need(!tiles.config.start_row, "#UD", "a load begins after row 0");
	memset(tiles.data[t], 0, sizeof(tiles.data[t]));
	for (int r = 0; r < tiles.config.rows[t]; r++)
		memcpy(tiles.data[t][r], (const char *)p + r * stride, tiles.config.bytes[t]);
}

void kern_amx_twin_store(int t, void *p, ptrdiff_t stride)
{
	need_tile(t);
	need(tiles.config.bytes[t] % 4 == 0, "#UD", "the bytes of a row are no multiple of 4");
	need(!tiles.config.start_row, "#UD", "a store begins after row 0");
	for (int r = 0; r < tiles.config.rows[t]; r++)
		memcpy((char *)p + r * stride, tiles.data[t][r], tiles.config.bytes[t]);
}

/* The sizes of a product: rows m of a and c, dwords k of a row of a, dwords n of a row of b and c. */
struct sizes {
	int m, k, n;
};

static struct sizes need_product(int c, int a, int b)
{
	const struct kern_amx_config *f = &tiles.config;

	need(c != a && a != b && c != b, "#UD", "a product has the same tile twice");
	need_tile(c);
	need_tile(a);
	need_tile(b);
	need(f->bytes[c] % 4 == 0 && f->bytes[a] % 4 == 0 && f->bytes[b] % 4 == 0, "#UD",
	     "the bytes of a row are no multiple of 4");
	need(f->rows[c] == f->rows[a], "#UD", "sums and the first factor differ in rows");
	need(f->bytes[c] == f->bytes[b], "#UD", "sums and the second factor differ in bytes");
	need(f->bytes[a] / 4 == f->rows[b], "#UD", "the rows of the factors do not match");
	return (struct sizes){f->rows[c], f->bytes[a] / 4, f->bytes[c] / 4};
}

/* Rows past the last one, and bytes past the end of a row, become 0. */
static void write_row(int t, int m, const void *row, int n)
{
	memset(tiles.data[t][m], 0, ROW_BYTES);
	memcpy(tiles.data[t][m], row, (size_t)n * 4);
}

static void clear_other_rows(int t, int m)
{
	for (; m < ROWS; m++)
		memset(tiles.data[t][m], 0, ROW_BYTES);
}

void kern_amx_twin_dpbssd(int c, int a, int b)
{
	const struct sizes s = need_product(c, a, b);

	for (int m = 0; m < s.m; m++) {
		const int8_t *x = (const int8_t *)tiles.data[a][m];
		uint32_t sum[ROW_BYTES / 4];

		memcpy(sum, tiles.data[c][m], sizeof(sum));
		for (int k = 0; k < s.k; k++) {
			const int8_t *w = (const int8_t *)tiles.data[b][k];

			for (int n = 0; n < s.n; n++)
				for (int i = 0; i < 4; i++)
					sum[n] += (uint32_t)(x[4 * k + i] * w[4 * n + i]);
		}
		write_row(c, m, sum, s.n);
	}
	clear_other_rows(c, s.m);
}

/* Signed zero for a number below the smallest normal one. */
static float flush(float v)
{
	return fabsf(v) < 0x1p-126f ? copysignf(0, v) : v;
}

static float bf16(const uint8_t *p)
{
	uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
	float v;

	memcpy(&v, &bits, sizeof(v));
	return flush(v);
}

void kern_amx_twin_dpbf16ps(int c, int a, int b)
{
	const struct sizes s = need_product(c, a, b);

	for (int m = 0; m < s.m; m++) {
		float sum[ROW_BYTES / 4], out[ROW_BYTES / 4];

		memcpy(sum, tiles.data[c][m], sizeof(sum));
		for (int n = 0; n < s.n; n++) {
			float t[2] = {0, 0};

			for (int k = 0; k < s.k; k++)
				for (int i = 0; i < 2; i++)
					t[i] = flush(fmaf(bf16(&tiles.data[a][m][4 * k + 2 * i]),
							  bf16(&tiles.data[b][k][4 * n + 2 * i]),
							  t[i]));
			out[n] = flush(flush(sum[n]) + flush(t[0] + t[1]));
		}
		write_row(c, m, out, s.n);
	}
	clear_other_rows(c, s.m);
}
