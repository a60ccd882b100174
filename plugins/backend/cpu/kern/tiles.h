/* SPDX-License-Identifier: MIT
 *
 * Products by tiles of ROWS weight rows and up to TILE rows of x, for kernels that define
 *     vec, SUM(v)     a vector of sums, and the sum of its lanes in a fixed order
 *     TILE            rows of x that are multiplied together, 2, 3, 4 or 6
 *     SPAN            values of a row that are multiplied at a time
 *     ALONE           weight rows that are multiplied together with a single row of x: as few as
 *                     hide the latency of an addition, since memory delivers few streams fastest
 *     add_tile        after `struct sums`; see tile_sums.h
 * Few rows of x: the weights stream by once.  Many: a strip of weight rows stays in the second-level
 * cache while all rows of x are multiplied with it, SPAN values at a time, so that those of the rows
 * of x stay in the first. */
#ifndef LLAMAD_CPU_KERN_TILES_H
#define LLAMAD_CPU_KERN_TILES_H

/* add_tile for an n_col that is not constant. */
INLINE void add(uint32_t dtype, const uint8_t *const w[ROWS], const uint8_t *later,
		const void *const *x, uint32_t from, uint32_t to, uint32_t n_col, struct sums *s)
{
#define ADD_CASE(n)                                                                                \
	case n:                                                                                    \
		add_tile(dtype, ROWS, w, later, x, from, to, n, s);                                \
		break;
	switch (n_col) {
		ADD_CASE(1)
		ADD_CASE(2)
#if TILE > 2
		ADD_CASE(3)
#endif
#if TILE > 3
		ADD_CASE(4)
#endif
#if TILE > 4
		ADD_CASE(5)
		ADD_CASE(6)
#endif
	}
#undef ADD_CASE
}

/* Writes n <= ROWS outputs from r on of rows [c, c + n_col) of x. */
INLINE void finish(const struct sums *s, const struct kern_product *p, uint32_t r, uint32_t n,
		   uint32_t c, uint32_t n_col)
{
	for (uint32_t i = 0; i < n_col; i++)
		for (uint32_t j = 0; j < n; j++)
			p->y[c + i][r + j] = SUM(s->v[i][j]);
}

/* How many of the n rows of x that are left are multiplied next: tiles are about equal. */
INLINE uint32_t tile_of(uint32_t n)
{
	uint32_t n_tile = (n + TILE - 1) / TILE;

	return (n + n_tile - 1) / n_tile;
}

/* A single row of x. */
INLINE void alone(uint32_t dtype, const struct kern_product *p)
{
	for (uint32_t r = 0; r < p->n_row; r += ALONE) {
		uint32_t n = p->n_row - r < ALONE ? p->n_row - r : ALONE;
		const uint8_t *w[ALONE], *later = kern_later_rows(p, r, ALONE);
		struct sums s;

		kern_row_addresses(p, r, ALONE, w);
		add_tile(dtype, ALONE, w, later, p->x, 0, p->k, 1, &s);
		finish(&s, p, r, n, 0, 1);
	}
}

/* Few rows of x: the weights stream by once for up to TILE of them. */
INLINE void in_place(uint32_t dtype, const struct kern_product *p)
{
	if (p->n_col == 1) {
		alone(dtype, p);
		return;
	}
	for (uint32_t c = 0, n_col; c < p->n_col; c += n_col) {
		n_col = tile_of(p->n_col - c);
		for (uint32_t r = 0; r < p->n_row; r += ROWS) {
			uint32_t n = p->n_row - r < ROWS ? p->n_row - r : ROWS;
			const uint8_t *w[ROWS], *later = kern_later_rows(p, r, ROWS);
			struct sums s;

			kern_row_addresses(p, r, ROWS, w);
			add(dtype, w, later, p->x + c, 0, p->k, n_col, &s);
			finish(&s, p, r, n, c, n_col);
		}
	}
}

/* Rows [r, r + n_row) of the slice, n_row <= STRIP_ROWS, which begin at w and are `stride` bytes
 * apart, times all rows of x.  Tiles of x stay in the cache while the rows stream by. */
INLINE void strip(uint32_t dtype, const uint8_t *w, size_t stride, const struct kern_product *p,
		  uint32_t r, uint32_t n_row)
{
	struct sums s[STRIP_ROWS / ROWS];

	for (uint32_t c = 0, n_col; c < p->n_col; c += n_col) {
		n_col = tile_of(p->n_col - c);
		for (uint32_t from = 0; from < p->k; from += SPAN) {
			uint32_t to = p->k - from < SPAN ? p->k : from + SPAN;

			for (uint32_t i = 0; i < n_row; i += ROWS) {
				const uint8_t *rows[ROWS];

				for (uint32_t j = 0; j < ROWS; j++)
					rows[j] = w + (i + j < n_row ? i + j : n_row - 1) * stride;
				add(dtype, rows, NULL, p->x + c, from, to, n_col, &s[i / ROWS]);
			}
		}
		for (uint32_t i = 0; i < n_row; i += ROWS)
			finish(&s[i / ROWS], p, r + i, n_row - i < ROWS ? n_row - i : ROWS, c,
			       n_col);
	}
}

/* Rows of a strip of k values of so many bytes. */
INLINE uint32_t strip_rows(uint32_t k, size_t bytes)
{
	size_t n = STRIP_BYTES / bytes / k / ROWS * ROWS;

	return n < ROWS ? ROWS : n > STRIP_ROWS ? STRIP_ROWS : (uint32_t)n;
}

#endif /* LLAMAD_CPU_KERN_TILES_H */
