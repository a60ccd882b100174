/* SPDX-License-Identifier: MIT
 *
 * Tests repacked weights: each kernel that this machine can run gives the bits of the exact kernel
 * in C, which kern_test compares with backend ref, on the rows as they lie in the file. */
#include <stdlib.h>
#include <string.h>

#include "amx_permit.h"
#include "amx_twin.h"
#include "core/base/cpu.h"
#include "core/plugin/host_services.h"
#include "core/quant/quant.h"
#include "kern.h"
#include "kern_data_test.h"
#include "tests/lmd_check.h"

#define MAX_ROW 35
#define MAX_COL 37
#define GROUPS  ((MAX_ROW + KERN_GROUP - 1) / KERN_GROUP)

static struct kern_iq_tables *points;

static void points_create(void)
{
	struct lmd_host *host = NULL;

	points = calloc(1, kern_iq_tables_bytes());
	ck_assert_ptr_nonnull(points);
	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	ck_assert_int_eq(kern_iq_tables_init(points, host), LMD_OK);
	lmi_host_destroy(host);
}

static void points_destroy(void)
{
	free(points);
}

struct kase {
	const struct lmi_dtype *type;
	uint32_t k;
	size_t stride, group;         /* bytes of a row, of a group */
	struct kern_guarded w, packed; /* [MAX_ROW] rows, [GROUPS] groups */
	char *q8;                     /* [MAX_COL] prepared rows of x */
	float want[MAX_COL][MAX_ROW];
	float got[MAX_COL][MAX_ROW + 1];
};

/* The kernels of the table, then those over the twin of AMX. */
static const struct kern_packed *kernel_at(size_t i)
{
	size_t n = 0;

	while (kern_packed_at(n))
		n++;
	return i < n				 ? kern_packed_at(i)
	       : kern_packed_amx_twin[i - n].run ? &kern_packed_amx_twin[i - n]
						 : NULL;
}

static void *make(size_t bytes)
{
	void *p = aligned_alloc(KERN_ALIGN, (bytes + KERN_ALIGN - 1) / KERN_ALIGN * KERN_ALIGN);

	ck_assert_ptr_nonnull(p);
	return p;
}

static void want(struct kase *c)
{
	const struct kern_linear *l = kern_linear_find(c->type->id, KERN_ACT_Q8, 0);
	const void *x[MAX_COL];
	float *y[MAX_COL];
	struct kern_product p = {.w = c->w.data,
				 .w_stride = c->stride,
				 .x = x,
				 .y = y,
				 .k = c->k,
				 .n_row = MAX_ROW,
				 .n_col = MAX_COL,
				 .points = points,
				 .scratch = make(l->scratch_bytes(c->k))};

	for (uint32_t i = 0; i < MAX_COL; i++) {
		x[i] = c->q8 + i * KERN_Q8_BYTES(c->k);
		y[i] = c->want[i];
	}
	l->run(l, &p);
	free(p.scratch);
}

static void kase_create(struct kase *c, uint32_t dtype, uint32_t k, enum kern_data kind,
			uint64_t *seed)
{
	const struct kern_act *act = kern_act_find(0);
	float *x = make(k * sizeof(*x));
	const void *rows[MAX_ROW];
	uint64_t row;

	memset(c, 0, sizeof(*c));
	c->type = lmi_dtype(dtype);
	c->k = k;
	ck_assert(c->type && lmi_quant_row_bytes(c->type, k, &row));
	c->stride = row;
	c->group = kern_group_bytes(dtype, k);
	ck_assert_uint_eq(c->group % KERN_ALIGN, 0);
	ck_assert(kern_guarded_create(&c->w, row * MAX_ROW));
	ck_assert(kern_guarded_create(&c->packed, c->group * GROUPS));
	ck_assert(kern_fill_weights(c->w.data, dtype, k, MAX_ROW, row, kind, seed));
	memset(c->packed.data, 0xa5, c->group * GROUPS);
	for (uint32_t r = 0; r < MAX_ROW; r++)
		rows[r] = c->w.data + r * row;
	for (uint32_t r = 0; r < MAX_ROW; r += KERN_GROUP)
		kern_pack(dtype, points, rows + r,
			  MAX_ROW - r < KERN_GROUP ? MAX_ROW - r : KERN_GROUP, k,
			  c->packed.data + r / KERN_GROUP * c->group);
	c->q8 = make(MAX_COL * KERN_Q8_BYTES(k));
	for (uint32_t i = 0; i < MAX_COL; i++) {
		kern_fill_floats(x, k, kind, seed);
		act->row(x, k, 1, c->q8 + i * KERN_Q8_BYTES(k));
	}
	free(x);
	want(c);
}

static void kase_destroy(struct kase *c)
{
	kern_guarded_destroy(&c->w);
	kern_guarded_destroy(&c->packed);
	free(c->q8);
}

/* Multiplies n_row rows from group g on with n_col rows of x. */
static void check(const struct kern_packed *l, struct kase *c, uint32_t g, uint32_t n_row,
		  uint32_t c0, uint32_t n_col)
{
	const void *x[MAX_COL];
	float *y[MAX_COL];
	struct kern_product p = {.w = c->packed.data + g * c->group,
				 .w_stride = c->group,
				 .x = x,
				 .y = y,
				 .k = c->k,
				 .n_row = n_row,
				 .n_col = n_col};

	memset(c->got, 0x5a, sizeof(c->got));
	for (uint32_t i = 0; i < n_col; i++) {
		x[i] = c->q8 + (c0 + i) * KERN_Q8_BYTES(c->k);
		y[i] = c->got[i];
	}
	l->run(l, &p);
	for (uint32_t i = 0; i < n_col; i++) {
		if (memcmp(c->got[i], c->want[c0 + i] + g * KERN_GROUP, n_row * sizeof(float)))
			ck_abort_msg("%s %s k %u: rows %u+%u, column %u of %u differ",
				     c->type->name, l->isa, c->k, g * KERN_GROUP, n_row, i, n_col);
		ck_assert(!memcmp(&c->got[i][n_row], "\x5a\x5a\x5a\x5a", 4));
	}
}

static unsigned check_case(const struct kern_packed *l, struct kase *c, uint64_t *seed)
{
	/* The portable kernel multiplies each row of x alone, and takes long for it. */
	const uint32_t by = l->flags ? 1 : 12;
	unsigned n = 0;

	for (uint32_t n_col = 0; n_col <= MAX_COL; n_col += by, n++) {
		uint32_t g = (uint32_t)(lmd_rand(seed) % GROUPS);
		uint32_t most = MAX_ROW - g * KERN_GROUP;

		check(l, c, g, (uint32_t)(lmd_rand(seed) % (most + 1)),
		      (uint32_t)(lmd_rand(seed) % (MAX_COL - n_col + 1)), n_col);
		check(l, c, 0, MAX_ROW, 0, n_col);
	}
	return n;
}

START_TEST(same_bits)
{
	static const uint32_t blocks[] = {1, 2, 3, 5, 8, 18, 33};
	const struct kern_packed *l;
	uint64_t seed = lmd_seed("packed", 5);
	struct lmd_cpu cpu;
	unsigned n = 0;
	char why[128];

	lmi_cpu_detect(&cpu);
	cpu.flags = kern_amx_flags(cpu.flags, true, kern_amx_ask, why, sizeof(why));
	for (size_t i = 0; (l = kernel_at(i)) != NULL; i++) {
		if ((l->flags & cpu.flags) != l->flags)
			continue;
		for (size_t j = 0; j < LMD_LEN(blocks); j++) {
			struct kase c;

			kase_create(&c, l->dtype, blocks[j] * lmi_dtype(l->dtype)->block_elems,
				    (enum kern_data)(j % KERN_DATA_N), &seed);
			n += check_case(l, &c, &seed);
			kase_destroy(&c);
		}
	}
	LMD_CASES("repacked weights", n, 0, 0);
}
END_TEST

/* Neighbouring values share bits in the file. */
static bool shares_bits(uint32_t dtype)
{
	switch (dtype) {
	case LMD_DTYPE_IQ2_XXS:
	case LMD_DTYPE_IQ2_XS:
	case LMD_DTYPE_IQ2_S:
	case LMD_DTYPE_IQ3_XXS:
	case LMD_DTYPE_IQ3_S:
	case LMD_DTYPE_TQ1_0:
		return true;
	default:
		return false;
	}
}

/* The chosen kernel is the best that the flags allow; a group is not much larger than its rows. */
START_TEST(choice)
{
	const struct kern_packed *l;

	for (size_t i = 0; (l = kern_packed_at(i)) != NULL; i++) {
		uint64_t row;

		ck_assert_ptr_eq(kern_packed_find(l->dtype, l->flags), l);
		ck_assert_ptr_nonnull(kern_linear_find(l->dtype, KERN_ACT_Q8, 0));
		ck_assert(lmi_quant_row_bytes(lmi_dtype(l->dtype), 2048, &row));
		ck_assert_uint_le(kern_group_bytes(l->dtype, 2048),
				  16 * row * (shares_bits(l->dtype) ? 175 : 106) / 100);
	}
	ck_assert_ptr_null(kern_packed_find(LMD_DTYPE_F32, UINT64_MAX));
	ck_assert_str_eq(kern_packed_find(LMD_DTYPE_Q4_0, 0)->isa, "c");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("repacked weights of backend cpu");
	TCase *t = tcase_create("packed");

	tcase_set_timeout(t, 600);
	tcase_add_unchecked_fixture(t, points_create, points_destroy);
	tcase_add_test(t, same_bits);
	tcase_add_test(t, choice);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
