/* SPDX-License-Identifier: MIT
 *
 * Sizes of tensors from untrusted types and shapes, and whether their data overlaps. */
#include "core/format/tensor_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/base/printable.h"
#include "core/quant/quant.h"

enum lmd_status lmi_model_tensor_size(const char *what, struct lmd_tensor *t, struct lmd_error *err)
{
	const struct lmi_dtype *type = lmi_dtype(t->dtype);
	uint64_t rows = 1, bytes = 0;
	bool ok = true;
	char why[160];

	if (type && type->is_activation)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%s: type %u (%s) is for activations or KV caches, not for weights", what,
				(unsigned)t->dtype, type->name);
	if (!type || type->memory_only)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: %s", what,
				lmi_dtype_explain_unknown(t->dtype, why, sizeof(why)));
	if (t->dims[0] % type->block_elems)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: rows of %lld values, must be a multiple of the %s block of %u",
				what, (long long)t->dims[0], type->name, type->block_elems);
	for (uint32_t i = 1; i < LMD_MAX_DIMS; i++)
		ok = ok && lmi_mul_ok(rows, (uint64_t)t->dims[i], &rows);
	ok = ok && lmi_quant_row_bytes(type, (uint64_t)t->dims[0], &bytes) &&
	     lmi_mul_ok(bytes, rows, &bytes);
	if (!ok || bytes > INT64_MAX)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: %lld x %lld x %lld x %lld of %s exceeds 2^63 bytes", what,
				(long long)t->dims[0], (long long)t->dims[1], (long long)t->dims[2],
				(long long)t->dims[3], type->name);
	t->bytes = bytes;
	return LMD_OK;
}

static int by_place(const void *a, const void *b)
{
	const struct lmd_tensor *const *x = a, *const *y = b;

	if ((*x)->file != (*y)->file)
		return (*x)->file > (*y)->file ? 1 : -1;
	return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

enum lmd_status lmi_model_check_overlap(const struct lmd_tensor *t, uint32_t n,
					struct lmd_error *err)
{
	const struct lmd_tensor **order;
	enum lmd_status st = LMD_OK;
	uint32_t k = 0;
	char show[2][80];

	if (!n)
		return LMD_OK;
	order = lmi_alloc(n, sizeof(*order));
	if (!order)
		return lmd_fail(err, LMD_NOMEM, "no memory to order %u tensors", n);
	for (uint32_t i = 0; i < n; i++)
		if (t[i].file != LMD_FORMAT_NO_FILE)
			order[k++] = &t[i];
	if (k)
		qsort(order, k, sizeof(*order), by_place);
	for (uint32_t i = 1; i < k && st == LMD_OK; i++) {
		const struct lmd_tensor *a = order[i - 1], *b = order[i];

		if (a->file == b->file && b->offset < a->offset + a->bytes)
			st = lmd_fail(
				err, LMD_CORRUPT,
				"tensor %s at byte %llu overlaps tensor %s, which ends at %llu",
				lmi_printable(show[0], sizeof(show[0]), b->name, strlen(b->name)),
				(unsigned long long)b->offset,
				lmi_printable(show[1], sizeof(show[1]), a->name, strlen(a->name)),
				(unsigned long long)(a->offset + a->bytes));
	}
	lmi_free(order);
	return st;
}
