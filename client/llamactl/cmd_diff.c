/* SPDX-License-Identifier: MIT
 *
 * llamactl diff: compares two model files. How the tensors are distributed over the files of a set
 * (the keys split.*) does not count as a difference. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checkpoint/open.h"
#include "client/llamactl/ctl.h"
#include "client/llamactl/meta_text.h"
#include "client/llamactl/progress.h"
#include "client/llamactl/tensor_diff.h"
#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/quant/quant.h"

#define SHOWN 4 /* elements of an array in the text form */

enum kind { SAME, ONLY_A, ONLY_B, SHAPE, TYPE, VALUES };

static const char *const kind_names[] = {"same", "only_a", "only_b", "shape", "type", "values"};

struct key_row {
	enum kind kind; /* SAME, ONLY_*, VALUES */
	const struct lmd_meta *a, *b;
};

struct tensor_row {
	enum kind kind;
	bool read; /* d is valid: how far the values are apart */
	const struct lmd_tensor *a, *b;
	struct lmi_ctl_tensor_diff d;
};

struct diff {
	struct lmi_model *ma, *mb;
	const struct lmd_model *a, *b;
	struct key_row *keys; /* [n_key] */
	struct tensor_row *tensors;
	uint32_t n_key, n_tensor;
	uint32_t key_diffs, tensor_diffs;
};

static bool is_split(const char *key)
{
	return !strncmp(key, "split.", 6);
}

static void add_key(struct diff *d, enum kind kind, const struct lmd_meta *a,
		    const struct lmd_meta *b)
{
	d->keys[d->n_key++] = (struct key_row){.kind = kind, .a = a, .b = b};
	d->key_diffs += kind != SAME;
}

static void diff_keys(struct diff *d)
{
	for (uint32_t i = 0; i < d->a->n_meta; i++) {
		const struct lmd_meta *a = &d->a->meta[i], *b = d->b->find_meta(d->b, a->key);

		if (!is_split(a->key))
			add_key(d, !b ? ONLY_A : lmi_ctl_meta_same(a, b) ? SAME : VALUES, a, b);
	}
	for (uint32_t i = 0; i < d->b->n_meta; i++) {
		const struct lmd_meta *b = &d->b->meta[i];

		if (!is_split(b->key) && !d->a->find_meta(d->a, b->key))
			add_key(d, ONLY_B, NULL, b);
	}
}

static enum lmd_status diff_tensor(struct diff *d, const struct lmd_tensor *a, bool values,
				   double limit, struct lmd_error *err)
{
	struct tensor_row *r = &d->tensors[d->n_tensor++];
	enum lmd_status st = LMD_OK;

	*r = (struct tensor_row){.a = a, .b = d->b->find_tensor(d->b, a->name)};
	if (!r->b) {
		r->kind = ONLY_A;
	} else if (a->n_dim != r->b->n_dim || memcmp(a->dims, r->b->dims, sizeof(a->dims)) != 0) {
		r->kind = SHAPE;
	} else {
		r->kind = a->dtype == r->b->dtype ? SAME : TYPE;
		r->read = values;
		if (values)
			st = lmi_ctl_tensor_diff(&r->d, d->ma, a, d->mb, r->b, err);
		/* without a limit, zeros of different sign have different bytes, which counts as a
		 * difference */
		if (values && r->kind == SAME && !r->d.same_bytes && !(r->d.nmse <= limit))
			r->kind = VALUES;
	}
	d->tensor_diffs += r->kind != SAME;
	return st;
}

static enum lmd_status diff_tensors(struct diff *d, bool values, double limit,
				    struct lmd_error *err)
{
	struct lmi_ctl_progress bar;
	enum lmd_status st = LMD_OK;
	uint64_t done = 0, total = 0;

	for (uint32_t i = 0; i < d->a->n_tensors; i++)
		total += d->a->tensors[i].bytes;
	lmi_ctl_progress_init(&bar);
	for (uint32_t i = 0; st == LMD_OK && i < d->a->n_tensors; i++) {
		st = diff_tensor(d, &d->a->tensors[i], values, limit, err);
		done += d->a->tensors[i].bytes;
		lmi_ctl_progress_show(&bar, "diff", done, total);
	}
	lmi_ctl_progress_end(&bar);
	for (uint32_t i = 0; i < d->b->n_tensors; i++)
		if (!d->a->find_tensor(d->a, d->b->tensors[i].name)) {
			d->tensors[d->n_tensor++] = (struct tensor_row){
				.kind = ONLY_B, .b = &d->b->tensors[i]};
			d->tensor_diffs++;
		}
	return st;
}

/* ---- text ---- */

static void print_key(const struct key_row *r)
{
	static const char *const words[] = {[ONLY_A] = "only in A", [ONLY_B] = "only in B",
					    [VALUES] = "differs"};
	const struct lmd_meta *v = r->a ? r->a : r->b;
	char show[160];

	printf("  %-10s %s: ", words[r->kind],
	       lmi_printable(show, sizeof(show), v->key, strlen(v->key)));
	lmi_ctl_meta_print(v, SHOWN);
	if (r->kind == VALUES) {
		fputs("  ->  ", stdout);
		lmi_ctl_meta_print(r->b, SHOWN);
		if (r->a->file_type != r->b->file_type)
			printf(" (type %u -> %u)", r->a->file_type, r->b->file_type);
	}
	putchar('\n');
}

static void print_shape(const struct lmd_tensor *t)
{
	printf("%s", lmi_dtype(t->dtype)->name);
	for (uint32_t i = 0; i < t->n_dim; i++)
		printf("%s%" PRId64, i ? " x " : " ", t->dims[i]);
}

static void print_tensor(const struct tensor_row *r)
{
	static const char *const words[] = {"same", "only in A", "only in B", "shape", "type",
					    "values"};
	const struct lmd_tensor *t = r->a ? r->a : r->b;
	char show[80];

	printf("  %-10s %-40s ", words[r->kind],
	       lmi_printable(show, sizeof(show), t->name, strlen(t->name)));
	print_shape(t);
	if (r->kind == SHAPE || r->kind == TYPE) {
		fputs("  ->  ", stdout);
		print_shape(r->b);
	}
	if (r->read && !r->d.same_bytes)
		printf("  max %.3g at %" PRIu64 ", rms %.3g, nmse %.3g, %" PRIu64 " of %" PRIu64
		       " values",
		       r->d.max, r->d.at, r->d.rms, r->d.nmse, r->d.n_diff, r->d.n);
	putchar('\n');
}

static void print_text(const struct diff *d, bool all)
{
	printf("keys: %u compared, %u differ\n", d->n_key, d->key_diffs);
	for (uint32_t i = 0; i < d->n_key; i++)
		if (d->keys[i].kind != SAME)
			print_key(&d->keys[i]);
	printf("tensors: %u compared, %u differ\n", d->n_tensor, d->tensor_diffs);
	for (uint32_t i = 0; i < d->n_tensor; i++)
		if (all || d->tensors[i].kind != SAME)
			print_tensor(&d->tensors[i]);
}

/* ---- JSON ---- */

static void json_tensor(struct lmi_ctl_json *j, const char *key, const struct lmd_tensor *t)
{
	if (!t)
		return;
	lmi_ctl_json_flat_object(j, key);
	lmi_ctl_json_str(j, "type", lmi_dtype(t->dtype)->name);
	lmi_ctl_json_flat_array(j, "dims");
	for (uint32_t i = 0; i < t->n_dim; i++)
		lmi_ctl_json_int(j, NULL, t->dims[i]);
	lmi_ctl_json_end(j);
	lmi_ctl_json_end(j);
}

static void print_json(const struct diff *d, bool all)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_bool(&j, "same", !d->key_diffs && !d->tensor_diffs);
	lmi_ctl_json_array(&j, "keys");
	for (uint32_t i = 0; i < d->n_key; i++) {
		const struct key_row *r = &d->keys[i];

		if (r->kind == SAME)
			continue;
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_str(&j, "key", r->a ? r->a->key : r->b->key);
		lmi_ctl_json_str(&j, "difference", kind_names[r->kind]);
		if (r->a)
			lmi_ctl_meta_json(&j, "a", r->a, 64);
		if (r->b)
			lmi_ctl_meta_json(&j, "b", r->b, 64);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_array(&j, "tensors");
	for (uint32_t i = 0; i < d->n_tensor; i++) {
		const struct tensor_row *r = &d->tensors[i];

		if (!all && r->kind == SAME)
			continue;
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_str(&j, "name", r->a ? r->a->name : r->b->name);
		lmi_ctl_json_str(&j, "difference", kind_names[r->kind]);
		json_tensor(&j, "a", r->a);
		json_tensor(&j, "b", r->b);
		if (r->read) {
			lmi_ctl_json_f64(&j, "max", r->d.max);
			lmi_ctl_json_f64(&j, "rms", r->d.rms);
			lmi_ctl_json_f64(&j, "nmse", r->d.nmse);
			lmi_ctl_json_uint(&j, "values", r->d.n);
			lmi_ctl_json_uint(&j, "unequal", r->d.n_diff);
		}
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status compare(struct diff *d, const struct lmi_args *a, struct lmd_error *err)
{
	d->a = lmi_model_view(d->ma);
	d->b = lmi_model_view(d->mb);
	d->keys = lmi_alloc((size_t)d->a->n_meta + d->b->n_meta + 1, sizeof(*d->keys));
	d->tensors = lmi_alloc((size_t)d->a->n_tensors + d->b->n_tensors + 1, sizeof(*d->tensors));
	if (!d->keys || !d->tensors)
		return lmd_fail(err, LMD_NOMEM, "no memory to compare %u and %u tensors",
				d->a->n_tensors, d->b->n_tensors);
	diff_keys(d);
	return diff_tensors(d, !lmi_arg_flag(a, "no-values"), lmi_arg_float(a, "nmse"), err);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	struct diff d = {0};
	enum lmd_status st = lmi_ctl_open_model(ctl, &d.ma, lmi_arg_pos(a, 0),
						LMI_OPEN_HEADER_ONLY, err);

	if (st == LMD_OK)
		st = lmi_ctl_open_model(ctl, &d.mb, lmi_arg_pos(a, 1), LMI_OPEN_HEADER_ONLY, err);
	if (st == LMD_OK)
		st = compare(&d, a, err);
	if (st == LMD_OK) {
		(lmi_arg_flag(a, "json") ? print_json : print_text)(&d, lmi_arg_flag(a, "all"));
		if (d.key_diffs || d.tensor_diffs)
			st = lmd_fail(err, LMD_INVALID, "%u of %u keys and %u of %u tensors differ",
				      d.key_diffs, d.n_key, d.tensor_diffs, d.n_tensor);
	}
	lmi_free(d.keys);
	lmi_free(d.tensors);
	lmi_model_close(d.ma);
	lmi_model_close(d.mb);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "nmse",
	 .type = LMI_OPT_FLOAT,
	 .value = "X",
	 .def = "0",
	 .min = 0,
	 .max = 1e30,
	 .doc = "Tolerance: tensors of the same type and shape count as equal if their squared "
		"error divided by the squares of A is at most X."},
	{.name = "no-values",
	 .type = LMI_OPT_FLAG,
	 .doc = "Compare only keys, types and shapes, without reading the tensor data."},
	{.name = "all", .type = LMI_OPT_FLAG, .doc = "Also list the tensors that are equal."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_diff = {
	.name = "diff",
	.args = "A B",
	.brief = "Compare two model files: keys, tensors, values",
	.doc = "Prints the keys and tensors that only one of the files has, keys with different "
	       "values, tensors with a different shape or type, and for tensors of the same "
	       "shape how far their decoded values are apart: the largest difference (max), the "
	       "root mean square (rms) and the squared error divided by the squares of A (nmse). "
	       "How a set is split into files does not matter. The exit status is 1 if anything "
	       "differs.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
