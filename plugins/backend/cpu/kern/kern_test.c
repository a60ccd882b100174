/* SPDX-License-Identifier: MIT
 *
 * Tests each kernel that this machine can run: exact ones bit for bit against the arithmetic of
 * backend ref on given activations, float ones against a sum in double within the bound of
 * kern.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amx_permit.h"
#include "amx_twin.h"
#include "core/base/cpu.h"
#include "core/plugin/host_services.h"
#include "core/quant/quant.h"
#include "kern.h"
#include "kern_data_test.h"
#include "plugins/backend/common/int8_types.h"
#include "plugins/backend/ref/kernels.h"
#include "plugins/backend/ref/product.h"
#include "tests/lmd_check.h"

#define MAX_ROW 35
#define MAX_COL 37

static struct lmd_host *host;
static struct lmd_cpu cpu;
static struct kern_iq_tables *points;

static void setup(void)
{
	char why[128];

	lmi_cpu_detect(&cpu);
	cpu.flags = kern_amx_flags(cpu.flags, true, kern_amx_ask, why, sizeof(why));
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	points = calloc(1, kern_iq_tables_bytes());
	ck_assert_ptr_nonnull(points);
	ck_assert_int_eq(kern_iq_tables_init(points, host), LMD_OK);
}

static void teardown(void)
{
	free(points);
	lmi_host_destroy(host);
}

/* The kernels of the table, then those over the twin of AMX. */
static const struct kern_linear *kernel_at(size_t i)
{
	size_t n = 0;

	while (kern_linear_at(n))
		n++;
	return i < n				 ? kern_linear_at(i)
	       : kern_linear_amx_twin[i - n].run ? &kern_linear_amx_twin[i - n]
						 : NULL;
}

/* One type of each kind of panel (amx_panel.h): the twin is slow. */
static bool twin_with_many_rows(const struct kern_linear *l)
{
	return !strcmp(l->isa, "amx twin") &&
	       (l->dtype == LMD_DTYPE_Q8_0 || l->dtype == LMD_DTYPE_Q4_1 || l->dtype == LMD_DTYPE_Q6_K ||
		l->dtype == LMD_DTYPE_Q2_K || l->dtype == LMD_DTYPE_BF16);
}

static void *make(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);

	ck_assert_ptr_nonnull(p);
	memset(p, 0xa5, bytes);
	return p;
}

/* ---- one case: a type, a length, a kind of data ---- */

struct kase {
	const struct lmi_dtype *type;
	uint32_t k, n_q8; /* n_q8: 2 for activations of 16 bits, otherwise 1 */
	enum kern_data kind;
	size_t stride;
	struct kern_guarded w, x; /* [MAX_ROW] rows, [MAX_COL][k] */
	char *q8;                 /* [MAX_COL][n_q8] prepared rows */
	char *bf16;               /* [MAX_COL] prepared rows */
	float *want;              /* [MAX_COL][MAX_ROW] */
	double *sum, *bound;      /* [MAX_COL][MAX_ROW], for float kernels */
	float *y;                 /* [MAX_COL * n_q8][MAX_ROW + 1] */
	void *scratch;            /* large enough for all kernels so far */
	size_t scratch_bytes;
};

static void kase_create(struct kase *c, uint32_t dtype, uint32_t k, uint32_t n_q8,
			enum kern_data kind, uint64_t *seed)
{
	uint64_t row;

	memset(c, 0, sizeof(*c));
	c->type = lmi_dtype(dtype);
	c->k = k;
	c->n_q8 = n_q8;
	c->kind = kind;
	ck_assert(c->type && lmi_quant_row_bytes(c->type, k, &row));
	c->stride = (size_t)row + (k % 3 == 1 ? 5 : 0); /* rows need not be contiguous */
	ck_assert(kern_guarded_create(&c->w, c->stride * (MAX_ROW - 1) + (size_t)row));
	ck_assert(kern_guarded_create(&c->x, sizeof(float) * MAX_COL * k));
	ck_assert(kern_fill_weights(c->w.data, dtype, k, MAX_ROW, c->stride, kind, seed));
	kern_fill_floats((float *)(void *)c->x.data, (size_t)MAX_COL * k, kind, seed);
	c->q8 = make(KERN_Q8_BYTES(k) * MAX_COL * n_q8);
	c->bf16 = make(KERN_BF16_BYTES(k) * MAX_COL);
	c->want = make(sizeof(float) * MAX_ROW * MAX_COL);
	c->y = make(sizeof(float) * (MAX_ROW + 1) * MAX_COL * n_q8);
	c->sum = make(sizeof(double) * MAX_ROW * MAX_COL);
	c->bound = make(sizeof(double) * MAX_ROW * MAX_COL);
}

static void kase_destroy(struct kase *c)
{
	kern_guarded_destroy(&c->w);
	kern_guarded_destroy(&c->x);
	free(c->q8);
	free(c->bf16);
	free(c->want);
	free(c->y);
	free(c->sum);
	free(c->bound);
	free(c->scratch);
}

static const float *x_row(const struct kase *c, uint32_t col)
{
	return (const float *)(const void *)c->x.data + (size_t)col * c->k;
}

/* ---- expected results ---- */

static void keep(void *arg, uint32_t i, uint32_t n0, uint32_t n, const float *v)
{
	struct kase *c = arg;

	memcpy(c->want + (size_t)i * MAX_ROW + n0, v, n * sizeof(*v));
}

static void want_exact(struct kase *c)
{
	struct lmd_weight_piece piece = {
		.data = c->w.data, .row_bytes = c->stride, .n_row = MAX_ROW, .n_slice = 1};
	struct lmd_weight w = {.dtype = c->type->id,
			       .block_elems = c->type->block_elems,
			       .block_bytes = c->type->block_bytes,
			       .n_stack = 1,
			       .n = MAX_ROW,
			       .k = c->k,
			       .n_piece = 1,
			       .pieces = &piece};
	struct ref_dev dev = {.host = host, .kernels = ref_kernels_select(&cpu)};
	struct ref_run run = {.host_mem = {.host = host}, .dev = &dev};
	struct ref_items items = {.count = MAX_COL, .div = 1};
	struct ref_x x = {.k = c->k, .n_q8 = c->n_q8};
	char *scratch = make(ref_int8_bytes(c->k));

	ck_assert_ptr_nonnull(host_mem_int8_type(c->type->id));
	x.q = make((size_t)c->k * MAX_COL * c->n_q8);
	x.d = make(sizeof(float) * c->k / 32 * MAX_COL * c->n_q8);
	for (uint32_t i = 0; i < MAX_COL; i++)
		ref_int8_quantise(x_row(c, i), c->k, c->n_q8, x.q + (size_t)i * c->n_q8 * c->k,
				  x.d + (size_t)i * c->n_q8 * (c->k / 32));
	ref_int8_product(&run, &x, &items, &w, 0, MAX_ROW, scratch, keep, c);
	free(x.q);
	free(x.d);
	free(scratch);
}

/* x rounded to bf16, ties to even; denormal floats are 0. */
static double as_bf16(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	if (!(bits & 0x7f800000))
		return 0;
	bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
	memcpy(&x, &bits, sizeof(x));
	return (double)x;
}

static void want_float(struct kase *c, enum kern_act_kind act)
{
	/* What is lost below the smallest normal number, which bf16 products treat as 0. */
	const double low = act == KERN_ACT_BF16 ? 0x1p-126 : 0x1p-149;
	float *w = make(sizeof(float) * c->k);

	for (uint32_t r = 0; r < MAX_ROW; r++) {
		c->type->dequant(c->w.data + r * c->stride, w, c->k);
		for (uint32_t i = 0; i < MAX_COL; i++) {
			double sum = 0, abs = 0, great = 1;

			for (uint32_t j = 0; j < c->k; j++) {
				float f = x_row(c, i)[j];
				double x = act == KERN_ACT_BF16 ? as_bf16(f) : (double)f;

				sum += (double)w[j] * x;
				abs += fabs((double)w[j] * x);
				great = act == KERN_ACT_BF16 ? fmax(great, fabs(x)) : great;
			}
			c->sum[i * MAX_ROW + r] = sum;
			/* Products below the smallest normal number lose additional bits. */
			c->bound[i * MAX_ROW + r] =
				(c->k / 8.0 + 12) * 0x1p-24 * abs + c->k * low * great;
		}
	}
	free(w);
}

/* ---- actual results ---- */

static void *scratch_for(const struct kern_linear *l, struct kase *c)
{
	size_t bytes = l->scratch_bytes(c->k);

	ck_assert_uint_eq(bytes % KERN_ALIGN, 0);
	if (bytes > c->scratch_bytes || !c->scratch) {
		free(c->scratch);
		c->scratch = make(bytes);
		c->scratch_bytes = bytes;
	}
	return c->scratch;
}

static float *out(const struct kase *c, uint32_t n_col, uint32_t i)
{
	return c->y + (size_t)(n_col - 1 - i) * (MAX_ROW + 1);
}

/* Computes rows [r0, r0 + n_row) times columns [c0, c0 + n_col) into c->y and checks that nothing
 * else of it changes. */
static void run(const struct kern_linear *l, struct kase *c, uint32_t r0, uint32_t n_row,
		uint32_t c0, uint32_t n_col)
{
	const uint32_t n = n_col * c->n_q8;
	const void *x[2 * MAX_COL];
	float *y[2 * MAX_COL];
	struct kern_product p = {.host = host,
				 .w = c->w.data + r0 * c->stride,
				 .w_stride = c->stride,
				 .x = x,
				 .y = y,
				 .k = c->k,
				 .n_row = n_row,
				 .n_col = n,
				 .points = points,
				 .scratch = scratch_for(l, c)};

	memset(c->y, 0xa5, sizeof(float) * (MAX_ROW + 1) * MAX_COL * c->n_q8);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t col = c0 + i / c->n_q8;

		x[i] = l->act == KERN_ACT_Q8 ? (const void *)(c->q8 + (col * c->n_q8 + i % c->n_q8) *
								      KERN_Q8_BYTES(c->k))
		       : l->act == KERN_ACT_BF16
			       ? (const void *)(c->bf16 + col * KERN_BF16_BYTES(c->k))
			       : x_row(c, col);
		y[i] = out(c, n_col, i / c->n_q8) + i % c->n_q8 * MAX_COL * (MAX_ROW + 1);
	}
	l->run(l, &p);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t r = n_row; r <= MAX_ROW; r++)
			if (memcmp(y[i] + r, "\xa5\xa5\xa5\xa5", 4))
				ck_abort_msg("%s %s: output after row %u of column %u was written",
					     c->type->name, l->isa, n_row, i);
	for (uint32_t i = 0; c->n_q8 == 2 && i < n_col; i++)
		for (uint32_t r = 0; r < n_row; r++)
			y[2 * i][r] += y[2 * i + 1][r];
}

static void same(const struct kern_linear *l, const struct kase *c, uint32_t r0, uint32_t n_row,
		 uint32_t c0, uint32_t n_col)
{
	for (uint32_t i = 0; i < n_col; i++)
		for (uint32_t r = 0; r < n_row; r++) {
			float got = out(c, n_col, i)[r],
			      want = c->want[(c0 + i) * MAX_ROW + r0 + r];

			/* An assertion of Check costs a system call. */
			if (memcmp(&got, &want, sizeof(got)))
				ck_abort_msg("%s %s int%u k %u data %d rows %u+%u columns %u+%u: "
					     "row %u column %u is %.9g, not %.9g",
					     c->type->name, l->isa, 8 * c->n_q8, c->k, c->kind, r0,
					     n_row, c0, n_col, r, i, (double)got, (double)want);
		}
}

static void near(const struct kern_linear *l, struct kase *c)
{
	for (uint32_t i = 0; i < MAX_COL; i++)
		for (uint32_t r = 0; r < MAX_ROW; r++) {
			size_t at = i * MAX_ROW + r;
			float got = out(c, MAX_COL, i)[r];

			c->want[at] = got;
			if (!(fabs((double)got - c->sum[at]) <= c->bound[at]))
				ck_abort_msg("%s %s k %u data %d: row %u column %u is %.9g, not "
					     "%.9g +- %.3g",
					     c->type->name, l->isa, c->k, c->kind, r, i,
					     (double)got, c->sum[at], c->bound[at]);
		}
}

static unsigned check(const struct kern_linear *l, struct kase *c, uint64_t *seed)
{
	static const uint32_t rows[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, MAX_ROW};
	static const uint32_t cols[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 32, 33, MAX_COL};
	unsigned n = 0;

	for (uint32_t i = 0; l->prepare && i < MAX_COL; i++)
		l->prepare(x_row(c, i), c->k, c->bf16 + i * KERN_BF16_BYTES(c->k));
	run(l, c, 0, MAX_ROW, 0, MAX_COL);
	if (l->exact)
		same(l, c, 0, MAX_ROW, 0, MAX_COL);
	else
		near(l, c);
	run(l, c, 0, 0, 0, MAX_COL);
	run(l, c, 0, MAX_ROW, 0, 0);
	for (size_t i = 0; i < LMD_LEN(cols); i++) {
		uint32_t n_row = rows[lmd_rand(seed) % LMD_LEN(rows)], n_col = cols[i];
		uint32_t r0 = (uint32_t)(lmd_rand(seed) % (MAX_ROW - n_row + 1));
		uint32_t c0 = (uint32_t)(lmd_rand(seed) % (MAX_COL - n_col + 1));

		run(l, c, r0, n_row, c0, n_col);
		same(l, c, r0, n_row, c0, n_col);
		n++;
	}
	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		uint32_t n_col = cols[lmd_rand(seed) % 9];

		run(l, c, MAX_ROW - rows[i], rows[i], 0, n_col);
		same(l, c, MAX_ROW - rows[i], rows[i], 0, n_col);
		n++;
	}
	return n;
}

/* Runs all kernels of a type and kind of activations with all kinds of data and all lengths, with
 * 16 bits half of them. */
static unsigned check_type(uint32_t dtype, enum kern_act_kind act, uint32_t n_q8,
			   const struct kern_act *prepare, uint64_t *seed)
{
	static const uint32_t blocks[] = {1, 2, 3, 4, 5, 8, 9, 16, 18, 33, 129};
	const struct lmi_dtype *t = lmi_dtype(dtype);
	unsigned n = 0;

	ck_assert_ptr_nonnull(t);
	for (size_t i = 0; i < LMD_LEN(blocks); i += n_q8) {
		uint32_t k = blocks[i] * t->block_elems;
		enum kern_data kind = (enum kern_data)(i % KERN_DATA_N);
		const struct kern_linear *l;
		struct kase c;

		if (i + 1 == LMD_LEN(blocks) && t->block_elems > 32)
			continue;
		/* the long ones take most of the time */
		if (blocks[i] >= 16 && blocks[i] != 18 && t->block_elems > 32 && !lmd_long())
			continue;
		if (t->block_elems == 1 && i % 2)
			k *= 29;
		kase_create(&c, dtype, k, n_q8,
			    kind == KERN_DATA_ZERO && i != 2 ? KERN_DATA_PLAIN : kind, seed);
		for (uint32_t j = 0; prepare && j < MAX_COL; j++)
			prepare->row(x_row(&c, j), k, n_q8, c.q8 + j * n_q8 * KERN_Q8_BYTES(k));
		if (act == KERN_ACT_Q8)
			want_exact(&c);
		else
			want_float(&c, act);
		for (size_t j = 0; (l = kernel_at(j)) != NULL; j++)
			if (l->dtype == dtype && l->act == act &&
			    (l->flags & cpu.flags) == l->flags)
				n += check(l, &c, seed);
		kase_destroy(&c);
	}
	return n;
}

static void check_all(enum kern_act_kind act, uint32_t n_q8, const struct kern_act *prepare)
{
	const struct kern_linear *l;
	uint64_t seed = lmd_seed("kernels", 7);
	bool done[LMD_DTYPE_END] = {false};
	unsigned n = 0;

	for (size_t i = 0; (l = kernel_at(i)) != NULL; i++) {
		ck_assert_uint_lt(l->dtype, LMD_DTYPE_END);
		if (l->act != act || done[l->dtype])
			continue;
		done[l->dtype] = true;
		n += check_type(l->dtype, act, n_q8, prepare, &seed);
	}
	LMD_CASES(act == KERN_ACT_Q8	 ? "exact kernels"
		  : act == KERN_ACT_BF16 ? "bf16 kernels"
					 : "float kernels",
		  n, 0, 0);
	ck_assert(n || act == KERN_ACT_BF16); /* few processors have these */
}

/* With activations of 8 and of 16 bits. */
START_TEST(exact_kernels)
{
	check_all(KERN_ACT_Q8, (uint32_t)_i, kern_act_find(0));
}
END_TEST

START_TEST(float_kernels)
{
	check_all(KERN_ACT_F32, 1, NULL);
}
END_TEST

START_TEST(bf16_kernels)
{
	check_all(KERN_ACT_BF16, 1, NULL);
}
END_TEST

/* Both rows of 16-bit activations together are within half a step, 1/254 of that of 8 bits. */
START_TEST(precision)
{
	enum { K = 32 * 9 };
	uint64_t seed = lmd_seed("precision", 5);
	char *out8 = make(2 * KERN_Q8_BYTES(K));
	float x[K];

	kern_fill_floats(x, K, KERN_DATA_PLAIN, &seed);
	kern_act_find(cpu.flags)->row(x, K, 2, out8);
	for (size_t i = 0; i < K; i++) {
		double sum = 0, step = 0;

		for (size_t j = 0; j < 2; j++) {
			const char *row = out8 + j * KERN_Q8_BYTES(K);
			float d;

			memcpy(&d, row + KERN_Q8_D(K) + i / 32 * sizeof(d), sizeof(d));
			sum += (double)d * ((const int8_t *)row)[i];
			step = j ? step : (double)d;
		}
		ck_assert_double_le(fabs(sum - (double)x[i]), step / 254 / 2 * 1.01);
	}
	free(out8);
}
END_TEST

/* All variants of the preparation give the same bytes, and the numbers of ref. */
START_TEST(activations)
{
	enum { K = 32 * 37 };
	uint64_t seed = lmd_seed("activations", 3);
	const size_t bytes = 2 * KERN_Q8_BYTES(K);
	float *x = make(K * sizeof(*x)), d[2 * K / 32];
	char *a = make(bytes), *b = make(bytes);
	const struct kern_act *c = kern_act_find(0), *v;
	int8_t q[2 * K];

	for (int i = 0; i < 200; i++) {
		uint32_t k = i % 2 ? K : 32 * (1 + (uint32_t)(lmd_rand(&seed) % 37));
		uint32_t n_q8 = 1 + i / 2 % 2;

		kern_fill_floats(x, k, (enum kern_data)(i % KERN_DATA_N), &seed);
		if (i % 5 == 0)
			x[lmd_rand(&seed) % k] = i % 2 ? NAN : INFINITY;
		memset(a, 0x5a, bytes);
		c->row(x, k, n_q8, a);
		ref_int8_quantise(x, k, n_q8, q, d);
		for (uint32_t j = 0; j < n_q8; j++) {
			const char *row = a + j * KERN_Q8_BYTES(k);

			ck_assert(!memcmp(row, q + j * k, k));
			ck_assert(!memcmp(row + KERN_Q8_D(k), d + j * (k / 32),
					  k / 32 * sizeof(*d)));
		}
		for (size_t j = 0; (v = kern_act_at(j)) != NULL; j++) {
			if ((v->flags & cpu.flags) != v->flags)
				continue;
			memset(b, 0x5a, bytes);
			v->row(x, k, n_q8, b);
			ck_assert_msg(!memcmp(a, b, bytes), "%s differs from c at k %u", v->isa, k);
		}
	}
	free(x);
	free(a);
	free(b);
}
END_TEST

/* More rows of weights and of x than any kernel takes at once: an output has the same bits as when
 * its row of x is multiplied alone. */
START_TEST(many_rows)
{
	enum { ROWS = 161, COLS = 515, MAX_K = 768 };
	static const uint32_t cols[] = {0, 1, 63, 64, 255, 256, 509, 510, 511, 512, 513, 514};
	uint64_t seed = lmd_seed("many rows", 9);
	float *x = make(sizeof(float) * COLS * MAX_K), *out_all = make(sizeof(float) * COLS * ROWS);
	char *q8 = make(COLS * KERN_Q8_BYTES(MAX_K)), *bf16 = make(COLS * KERN_BF16_BYTES(MAX_K));
	float *y[COLS], alone[ROWS];
	const void *row[COLS];
	const struct kern_linear *l;
	unsigned n = 0;

	for (size_t i = 0; (l = kernel_at(i)) != NULL; i++) {
		const struct lmi_dtype *t = lmi_dtype(l->dtype);
		const uint32_t k = t->block_elems > 32 ? MAX_K : 544;
		struct kern_product p = {.host = host, .x = row, .y = y, .k = k, .n_row = ROWS,
					 .n_col = COLS, .points = points};
		uint64_t bytes;
		void *w;

		if (l != kern_linear_find(l->dtype, l->act, cpu.flags) && !twin_with_many_rows(l))
			continue;
		ck_assert(lmi_quant_row_bytes(t, k, &bytes));
		p.w = w = make(bytes * ROWS);
		p.w_stride = bytes;
		p.scratch = make(l->scratch_bytes(k));
		ck_assert(kern_fill_weights(w, l->dtype, k, ROWS, bytes, KERN_DATA_PLAIN, &seed));
		kern_fill_floats(x, (size_t)COLS * k, KERN_DATA_PLAIN, &seed);
		for (size_t c = 0; c < COLS; c++) {
			char *q = q8 + c * KERN_Q8_BYTES(k);

			kern_act_find(cpu.flags)->row(x + c * k, k, 1, q);
			if (l->prepare)
				l->prepare(x + c * k, k, bf16 + c * KERN_BF16_BYTES(k));
			row[c] = l->act == KERN_ACT_Q8	   ? (const void *)q
				 : l->act == KERN_ACT_BF16 ? (const void *)(bf16 + c * KERN_BF16_BYTES(k))
							   : x + c * k;
			y[c] = out_all + c * ROWS;
		}
		l->run(l, &p);
		p.n_col = 1;
		for (size_t c = 0; c < LMD_LEN(cols); c++, n++) {
			float *to = alone;

			p.x = &row[cols[c]];
			p.y = &to;
			l->run(l, &p);
			ck_assert_msg(!memcmp(alone, y[cols[c]], sizeof(alone)), "%s %s column %u",
				      t->name, l->isa, cols[c]);
		}
		free(p.scratch);
		free(w);
	}
	LMD_CASES("kernels with many rows", n, 0, 0);
	ck_assert_uint_ge(n, 20 * LMD_LEN(cols));
	free(x);
	free(out_all);
	free(q8);
	free(bf16);
}
END_TEST

/* The chosen kernel is the best that the flags allow, and each type of weights has a float
 * kernel. */
START_TEST(choice)
{
	const struct kern_linear *l;

	for (size_t i = 0; (l = kern_linear_at(i)) != NULL; i++)
		ck_assert_ptr_eq(kern_linear_find(l->dtype, l->act, l->flags), l);
	for (uint32_t t = 0; t < LMD_DTYPE_END; t++) {
		const struct lmi_dtype *type = lmi_dtype(t);
		bool weights = type && !type->is_activation && type->dequant &&
			       !(t >= LMD_DTYPE_I8 && t <= LMD_DTYPE_I64);

		l = kern_linear_find(t, KERN_ACT_F32, 0);
		ck_assert_msg(!l == !weights, "type %u", t);
		ck_assert_int_eq(kern_linear_find(t, KERN_ACT_Q8, 0) != NULL, host_mem_int8_type(t) != NULL);
	}
	ck_assert_str_eq(kern_act_find(0)->isa, "c");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernels of backend cpu");
	TCase *t = tcase_create("kernels");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 600);
	tcase_add_test(t, choice);
	tcase_add_test(t, activations);
	tcase_add_test(t, precision);
	tcase_add_loop_test(t, exact_kernels, 1, 3);
	tcase_add_test(t, float_kernels);
	tcase_add_test(t, bf16_kernels);
	tcase_add_test(t, many_rows);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
