/* SPDX-License-Identifier: MIT
 *
 * A list of adapter pairs, filled by the reader of the file's format. */
#include "core/checkpoint/adapter/adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/checkpoint/adapter/adapter_impl.h"
#include "core/sign/policy.h"

struct lmi_adapter_pair *lmi_adapter_get_pair(struct lmi_adapter_file *f, const char *site,
					      uint32_t rank, uint32_t n, uint32_t k,
					      uint32_t n_slice, const char *what,
					      struct lmd_error *err)
{
	uint64_t na = (uint64_t)rank * k, nb = (uint64_t)(rank ? rank : 1) * n;
	bool numbers = !f->sizes_only;
	struct lmi_adapter_pair *p;

	for (uint32_t i = 0; i < f->n; i++) {
		p = &f->v[i];
		if (strcmp(p->site, site) != 0)
			continue;
		if (p->rank == rank && p->n == n && p->k == k && p->n_slice == n_slice)
			return p;
		(void)lmd_fail(err, LMD_UNSUPPORTED,
			       "%s: rank %u of %u x %u, but another part of %s has rank %u of %u x "
			       "%u",
			       what, rank, n, k, site, p->rank, p->n, p->k);
		return NULL;
	}
	if (f->n == f->cap) {
		p = lmi_realloc(f->v, f->cap ? 2 * f->cap : 64, sizeof(*p));
		if (!p) {
			(void)lmd_fail(err, LMD_NOMEM, "%s: no memory for pairs", what);
			return NULL;
		}
		f->v = p;
		f->cap = f->cap ? 2 * f->cap : 64;
	}
	p = &f->v[f->n];
	*p = (struct lmi_adapter_pair){
		.rank = rank, .n = n, .k = k, .n_slice = n_slice, .scale = 1};
	p->site = lmi_arena_strndup(f->arena, site, strlen(site));
	if (!lmi_mul_ok(na, n_slice, &na) || !lmi_mul_ok(nb, n_slice, &nb))
		na = nb = UINT64_MAX / 8;
	p->a = numbers && rank ? lmi_arena_array(f->arena, na, sizeof(float)) : NULL;
	p->b = numbers ? lmi_arena_array(f->arena, nb, sizeof(float)) : NULL;
	if (!p->site || (numbers && rank && !p->a) || (numbers && !p->b)) {
		(void)lmd_fail(err, LMD_NOMEM,
			       "%s: no memory for rank %u of %u x %u", what, rank, n, k);
		return NULL;
	}
	f->n++;
	return p;
}

const struct lmd_tensor *lmi_adapter_find_base(const struct lmi_adapter_file *f, const char *site,
					       const char *what, struct lmd_error *err)
{
	return lmi_adapter_find_tensor(f->base, site, what, err);
}

const struct lmd_tensor *lmi_adapter_find_tensor(const struct lmd_model *m, const char *site,
						 const char *what, struct lmd_error *err)
{
	const struct lmd_tensor *t;
	char name[128];

	(void)snprintf(name, sizeof(name), "%.100s.weight", site);
	t = m->find_tensor(m, name);
	if (!t)
		(void)lmd_fail(err, LMD_NOTFOUND, "%s: the model has no tensor %s", what, name);
	return t;
}

const struct lmd_tensor *lmi_adapter_find_scale(const struct lmd_model *m, const char *site)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%.100s.scale", site);
	return m->find_tensor(m, name);
}

void lmi_adapter_add_row(const struct lmi_adapter_pair *p, bool transposed, float scale, size_t row,
			 float *v)
{
	uint32_t width = transposed ? p->n : p->k, n_row = transposed ? p->k : p->n;
	size_t slice = row / n_row, r = row % n_row;
	const float *a = p->a + slice * p->rank * p->k;
	const float *b = p->b + slice * p->n * p->rank;

	for (uint32_t j = 0; j < p->rank; j++) {
		float f = scale * (transposed ? a[(size_t)j * p->k + r] : b[r * p->rank + j]);

		for (uint32_t c = 0; c < width; c++)
			v[c] += f * (transposed ? b[(size_t)c * p->rank + j]
						: a[(size_t)j * p->k + c]);
	}
}

static int by_site(const void *a, const void *b)
{
	return strcmp(((const struct lmi_adapter_pair *)a)->site,
		      ((const struct lmi_adapter_pair *)b)->site);
}

/* Sets *out to true for a folder or a file of one, to false for a GGUF file; anything else is an
 * error. */
static enum lmd_status is_peft(const char *path, bool *out, struct lmd_error *err)
{
	const char *base = lmi_file_base_name(path);
	size_t n = strlen(path);
	struct lmi_file f;
	struct stat st;
	enum lmd_status s;
	char magic[4];

	*out = true;
	if ((!stat(path, &st) && S_ISDIR(st.st_mode)) || !strcmp(base, "adapter_config.json") ||
	    (n > 12 && !strcmp(path + n - 12, ".safetensors")))
		return LMD_OK;
	*out = false;
	s = lmi_file_open(&f, path, err);
	if (s == LMD_OK && f.bytes >= sizeof(magic))
		s = lmi_file_read(&f, 0, magic, sizeof(magic), err);
	if (s == LMD_OK && (f.bytes < sizeof(magic) || memcmp(magic, "GGUF", 4) != 0))
		s = lmd_fail(err, LMD_UNSUPPORTED,
			     "%.200s: neither a GGUF file nor a PEFT folder", path);
	lmi_file_close(&f);
	return s;
}

static enum lmd_status open_checked(struct lmi_adapter_file **out, const char *path,
				    const struct lmd_model *base,
				    struct lmi_plugin_registry *plugins, bool sizes_only,
				    struct lmd_error *err)
{
	struct lmi_adapter_file *f;
	bool peft = false;
	enum lmd_status st = is_peft(path, &peft, err);
	char show[112];

	if (st != LMD_OK)
		return st;
	f = lmi_alloc(1, sizeof(*f));
	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for an adapter");
	f->base = base;
	f->sizes_only = sizes_only;
	f->arena = lmi_arena_create(LMI_ADAPTER_BYTES);
	if (!f->arena)
		st = lmd_fail(err, LMD_NOMEM, "no memory for an adapter");
	else if (peft)
		st = lmi_adapter_read_peft(f, path, plugins, err);
	else
		st = lmi_adapter_read_gguf(f, path, err);
	if (st == LMD_OK && !f->n)
		st = lmd_fail(err, LMD_INVALID, "contains no adapter pairs");
	if (st != LMD_OK) {
		if (!err || !strstr(err->text, path))
			lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), path));
		lmi_adapter_close(f);
		return st;
	}
	qsort(f->v, f->n, sizeof(*f->v), by_site);
	*out = f;
	return LMD_OK;
}

static enum lmd_status open_file(struct lmi_adapter_file **out, const char *path,
				 const struct lmd_model *base, struct lmi_plugin_registry *plugins,
				 bool sizes_only, struct lmd_error *err)
{
	struct lmi_sign_scope scope;
	enum lmd_status st = lmi_sign_scope_begin_path(&scope, path, err);

	if (st == LMD_OK)
		st = open_checked(out, path, base, plugins, sizes_only, err);
	lmi_sign_scope_end(&scope);
	return st;
}

enum lmd_status lmi_adapter_open(struct lmi_adapter_file **out, const char *path,
				 const struct lmd_model *base, struct lmi_plugin_registry *plugins,
				 struct lmd_error *err)
{
	return open_file(out, path, base, plugins, false, err);
}

enum lmd_status lmi_adapter_open_sizes(struct lmi_adapter_file **out, const char *path,
				       const struct lmd_model *base,
				       struct lmi_plugin_registry *plugins, struct lmd_error *err)
{
	return open_file(out, path, base, plugins, true, err);
}

void lmi_adapter_close(struct lmi_adapter_file *f)
{
	if (!f)
		return;
	lmi_arena_destroy(f->arena);
	lmi_free(f->v);
	lmi_free(f);
}

uint32_t lmi_adapter_n(const struct lmi_adapter_file *f)
{
	return f->n;
}

const struct lmi_adapter_pair *lmi_adapter_pair(const struct lmi_adapter_file *f, uint32_t i)
{
	return &f->v[i];
}

const int32_t *lmi_adapter_invocation(const struct lmi_adapter_file *f, uint32_t *n)
{
	*n = f->n_invocation;
	return f->invocation;
}
