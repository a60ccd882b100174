/* SPDX-License-Identifier: MIT
 *
 * amx_rows_c.h - weight rows of any type in the file as panels (amx_panel.h), portably: for the twin.  A row is
 * unpacked as a whole each time, into scratch. */
#ifndef LLAMAD_CPU_KERN_AMX_ROWS_C_H
#define LLAMAD_CPU_KERN_AMX_ROWS_C_H

#include <string.h>

#include "amx_int8.h"
#include "unpack.h"

static size_t amx_rows_scratch(uint32_t k)
{
	const size_t bytes = (k + k / 16) * sizeof(int16_t) + k / 32 * 2 * sizeof(float);

	return (bytes + KERN_ALIGN - 1) / KERN_ALIGN * KERN_ALIGN;
}

static void amx_put(char *to, int v)
{
	*to = (char)(int8_t)v;
}

/* Block b of weight row r of a panel; block: where it goes. */
static void amx_put_row(uint32_t dtype, const struct kern_row *w, size_t b, uint32_t r, char *block)
{
	const enum amx_kind kind = amx_kind_of(dtype);

	for (uint32_t e = 0; e < 32; e++) {
		const int v = w->p[32 * b + e];
		char *to = block + 64 * (e / 4) + 4 * r + e % 4;

		if (kind == AMX_WIDE) {
			amx_put(to, v & 127);
			amx_put(to + 512, (v - (v & 127)) / 128);
		} else if (kern_has_two_d(dtype)) {
			amx_put(to, e < 16 ? v : 0);
			amx_put(to + 512, e < 16 ? 0 : v);
		} else {
			amx_put(to, v);
		}
		if (kern_has_minima(dtype))
			amx_put(to + 512, w->mn[2 * b + e / 16]);
	}
	memcpy(block + amx_d(kind) + 4 * r, &w->d[b], sizeof(float));
	if (kind == AMX_MIN || kind == AMX_TWO)
		memcpy(block + amx_m(kind) + 4 * r, &w->m[b], sizeof(float));
}

static void amx_unpack_rows(uint32_t dtype, const struct kern_product *p, uint32_t r, size_t b,
			    size_t n, char *panel)
{
	const struct host_mem_int8_type *t = host_mem_int8_type(dtype);
	const size_t block = amx_block(amx_kind_of(dtype)), nb = p->k / 32;
	struct kern_row w = {.d = p->scratch};

	w.m = w.d + nb;
	w.p = (int16_t *)(void *)(w.m + nb);
	w.mn = w.p + p->k;
	memset(panel, 0, AMX_PANEL_BYTES);
	for (uint32_t i = 0; i < AMX_ROWS && r + i < p->n_row; i++) {
		kern_unpack(t, p->points, (const uint8_t *)p->w + (r + i) * p->w_stride, p->k, &w);
		for (size_t j = 0; j < n; j++)
			amx_put_row(dtype, &w, b + j, i, panel + j * block);
	}
}

/* Defines amx_rows_TYPE, an amx_unpack_fn. */
#define AMX_ROWS_TYPE(type)                                                                        \
	static void amx_rows_##type(const struct kern_product *p, uint32_t r, size_t b, size_t n,  \
				    char *panel)                                                   \
	{                                                                                          \
		amx_unpack_rows(LMD_DTYPE_##type, p, r, b, n, panel);                              \
	}

#endif /* LLAMAD_CPU_KERN_AMX_ROWS_C_H */
