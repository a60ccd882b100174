/* SPDX-License-Identifier: MIT */
#include "client/llamactl/quantize_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/json_out.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/show.h"
#include "core/quant/quant.h"

static double bpw(uint64_t bytes, uint64_t elements)
{
	return elements ? 8 * (double)bytes / (double)elements : 0;
}

static const char *note_of(const struct lmi_quantize_item *it)
{
	return it->lacks_imatrix  ? "needs an importance matrix"
	       : it->requantized  ? "was quantised"
	       : it->fell_back    ? "rows do not fit larger blocks"
	       : it->importance   ? "importance matrix"
				  : "";
}

static void shape_text(const struct lmd_tensor *t, char *out, size_t n)
{
	size_t at = 0;

	for (uint32_t i = 0; i < t->n_dim && at < n; i++)
		at += (size_t)snprintf(out + at, n - at, "%s%" PRId64, i ? " x " : "", t->dims[i]);
}

void lmi_quantize_print_table(const struct lmi_quantize_plan *p)
{
	char show[72], shape[96], a[24], b[24];
	int wide = 12;

	for (uint32_t i = 0; i < p->n_items; i++) {
		int n = (int)strlen(p->items[i].name);

		wide = n > wide && n < 64 ? n : wide;
	}
	printf("%-*s  %-24s %-8s %-8s %9s %9s\n", wide, "tensor", "shape", "from", "to", "bytes",
	       "bytes");
	for (uint32_t i = 0; i < p->n_items; i++) {
		const struct lmi_quantize_item *it = &p->items[i];

		shape_text(it->src, shape, sizeof(shape));
		printf("%-*s  %-24s %-8s %-8s %9s %9s%s%s\n", wide,
		       lmi_show(show, sizeof(show), it->name, strlen(it->name)), shape,
		       lmi_dtype(it->src->dtype)->name, lmi_dtype(it->type)->name,
		       lmi_show_bytes(a, sizeof(a), (int64_t)it->src->bytes),
		       lmi_show_bytes(b, sizeof(b), (int64_t)it->bytes), *note_of(it) ? "  " : "",
		       note_of(it));
	}
}

void lmi_quantize_print_sum(const struct lmi_quantize_plan *p, bool dry)
{
	const struct lmi_ftype *t = p->opts.ftype;
	char a[24], b[24];

	printf("%s: %u tensors, %s (%.2f bits a weight) to %s (%.2f)%s\n", t ? t->name : "copy",
	       p->n_items, lmi_show_bytes(a, sizeof(a), (int64_t)p->bytes_in),
	       bpw(p->bytes_in, p->elements), lmi_show_bytes(b, sizeof(b), (int64_t)p->bytes_out),
	       bpw(p->bytes_out, p->elements), dry ? "; nothing was written" : "");
	if (p->n_fell_back)
		printf("%u tensors have rows that are not a multiple of the type's block and got "
		       "another type\n",
		       p->n_fell_back);
}

static void json_item(struct lmi_json *o, const struct lmi_quantize_item *it)
{
	lmi_json_flat_object(o, NULL);
	lmi_json_str(o, "name", it->name);
	lmi_json_flat_array(o, "dims");
	for (uint32_t i = 0; i < it->src->n_dim; i++)
		lmi_json_int(o, NULL, it->src->dims[i]);
	lmi_json_end(o);
	lmi_json_str(o, "from", lmi_dtype(it->src->dtype)->name);
	lmi_json_str(o, "to", lmi_dtype(it->type)->name);
	lmi_json_uint(o, "bytes_from", it->src->bytes);
	lmi_json_uint(o, "bytes", it->bytes);
	lmi_json_bool(o, "fallback", it->fell_back);
	lmi_json_bool(o, "requantized", it->requantized);
	lmi_json_bool(o, "imatrix", it->importance != NULL);
	lmi_json_bool(o, "lacks_imatrix", it->lacks_imatrix);
	lmi_json_end(o);
}

enum lmd_status lmi_quantize_print_json(const struct lmi_quantize_plan *p, const char *path,
					bool dry, struct lmd_error *err)
{
	struct lmi_json o;

	lmi_json_init(&o, stdout);
	lmi_json_object(&o, NULL);
	lmi_json_str(&o, "type", p->opts.ftype ? p->opts.ftype->name : NULL);
	lmi_json_bool(&o, "dry_run", dry);
	lmi_json_flat_array(&o, "files");
	for (uint32_t i = 0; i < p->n_files; i++) {
		char *name = lmi_quantize_path(p, path, i);

		if (!name)
			return lmd_fail(err, LMD_NOMEM, "no memory for a path");
		lmi_json_str(&o, NULL, name);
		lmi_free(name);
	}
	lmi_json_end(&o);
	lmi_json_uint(&o, "elements", p->elements);
	lmi_json_uint(&o, "bytes_from", p->bytes_in);
	lmi_json_uint(&o, "bytes", p->bytes_out);
	lmi_json_f64(&o, "bpw_from", bpw(p->bytes_in, p->elements));
	lmi_json_f64(&o, "bpw", bpw(p->bytes_out, p->elements));
	lmi_json_uint(&o, "fallbacks", p->n_fell_back);
	lmi_json_uint(&o, "requantized", p->n_requantized);
	lmi_json_uint(&o, "lacking_imatrix", p->n_lacks_imatrix);
	lmi_json_array(&o, "tensors");
	for (uint32_t i = 0; i < p->n_items; i++)
		json_item(&o, &p->items[i]);
	lmi_json_end(&o);
	lmi_json_end(&o);
	lmi_json_fini(&o);
	return LMD_OK;
}
