/* SPDX-License-Identifier: MIT
 *
 * The pages of a prefix in the tiers. What a page's rows depend on is hashed into the first link of a chain
 * of SHA-256; each further link adds the tokens of one page. So the name of a page says all that its
 * rows depend on, and equal names mean equal rows. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "service/loaded_model.h"
#include "service/prefix_tier_impl.h"
#include "service/rows_head.h"
#include "service/service_state.h"

/* ---- names ---- */

/* The first link; kept for rows without an adapter. */
static bool first_link(lmi_svc_prefix_link out, struct lmi_svc_loaded_model *r, int32_t adapter)
{
	struct lmi_engine_saved_head h;
	struct lmi_engine_info info;
	struct lmi_sha256 sha;

	if (!adapter && r->has_rows_digest) {
		memcpy(out, r->rows_digest, sizeof(lmi_svc_prefix_link));
		return true;
	}
	if (lmi_svc_rows_head(&h, r, adapter, NULL) != LMD_OK || !lmi_sha256_init(&sha))
		return false;
	lmi_engine_info(r->engine, &info);
	lmi_sha256_update(&sha, h.model, sizeof(h.model));
	lmi_sha256_update(&sha, h.adapter, sizeof(h.adapter));
	lmi_sha256_update(&sha, h.layout.digest, sizeof(h.layout.digest));
	/* another backend or version may compute other bits */
	lmi_sha256_update(&sha, info.backend, strlen(info.backend) + 1);
	lmi_sha256_update(&sha, r->svc->o.version, strlen(r->svc->o.version) + 1);
	if (!lmi_sha256_final(&sha, out))
		return false;
	if (!adapter) {
		memcpy(r->rows_digest, out, sizeof(lmi_svc_prefix_link));
		r->has_rows_digest = true;
	}
	return true;
}

static bool next_link(lmi_svc_prefix_link out, const lmi_svc_prefix_link before, const lmd_token *tokens, uint32_t n)
{
	struct lmi_sha256 sha;
	uint8_t b[4];

	if (!lmi_sha256_init(&sha))
		return false;
	lmi_sha256_update(&sha, before, sizeof(lmi_svc_prefix_link));
	for (uint32_t i = 0; i < n; i++) {
		lmi_put_le32(b, (uint32_t)tokens[i]);
		lmi_sha256_update(&sha, b, sizeof(b));
	}
	return lmi_sha256_final(&sha, out);
}

bool lmi_svc_prefix_make_chain(struct lmi_svc_prefix_work *w)
{
	lmi_svc_prefix_link first;
	bool ok = first_link(first, w->loaded, w->adapter);

	for (uint32_t i = 0; i < w->n_page && ok; i++)
		ok = next_link(w->chain[i], i ? w->chain[i - 1] : first,
			       w->tokens + (size_t)i * w->page_tokens, w->page_tokens);
	return ok;
}

static struct lmi_svc_prefix_key key_of(const struct lmi_svc_prefix_work *w,
					const struct lmi_engine_saved_part *p)
{
	struct lmi_svc_prefix_key key = {.tenant = w->tenant, .group = p->group};

	memcpy(key.chain, w->chain[p->index], sizeof(lmi_svc_prefix_link));
	return key;
}

static bool has_part(const struct lmi_svc_prefix_work *w, const struct lmi_engine_saved_part *p)
{
	const struct lmi_svc_prefix_tier *t = w->svc->prefix_tier;
	const struct lmi_svc_prefix_key key = key_of(w, p);

	if (w->in_memory && lmi_svc_prefix_memory_has(t->memory, &key) != w->saves)
		return !w->saves;
	return w->on_disk ? lmi_svc_prefix_files_has(t->files, &key) : w->saves;
}

/* Lists the parts of the first n pages; NULL: out of memory. */
static struct lmi_engine_saved_part *list_parts(const struct lmi_svc_prefix_work *w, uint32_t n,
						uint32_t *n_part)
{
	const struct lmi_engine *e = w->loaded->engine;
	struct lmi_engine_saved_part *v;

	*n_part = lmi_engine_saved_parts(e, n * w->page_tokens, NULL);
	v = lmi_alloc(*n_part + (size_t)1, sizeof(*v));
	if (v && lmi_engine_saved_parts(e, n * w->page_tokens, v) == *n_part)
		return v;
	lmi_free(v);
	return NULL;
}

static bool is_skipped(const struct lmi_svc_prefix_work *w, const struct lmi_engine_saved_part *p)
{
	return !p->is_state && p->index < w->n_skip;
}

/* A longer prefix than that before a missing page needs the page as well; a state may be there earlier. */
uint32_t lmi_svc_prefix_n_kept(const struct lmi_svc_prefix_work *w, uint32_t n)
{
	while (n) {
		uint32_t n_part, i = 0;
		struct lmi_engine_saved_part *v = list_parts(w, n, &n_part);

		if (!v)
			return 0;
		while (i < n_part && has_part(w, &v[i]))
			i++;
		if (i == n_part) {
			lmi_free(v);
			return n;
		}
		if (v[i].is_state)
			while (--n && (v[i].index = n - 1, !has_part(w, &v[i])))
				;
		else
			n = v[i].index;
		lmi_free(v);
	}
	return 0;
}

bool lmi_svc_prefix_count_bytes(struct lmi_svc_prefix_work *w)
{
	const struct lmi_svc_prefix_tier *t = w->svc->prefix_tier;
	uint32_t n_part;
	struct lmi_engine_saved_part *v = list_parts(w, w->n_end, &n_part);

	for (uint32_t i = 0; v && i < n_part; i++) {
		const struct lmi_svc_prefix_key key = key_of(w, &v[i]);

		if (is_skipped(w, &v[i]))
			continue;
		w->n_bytes += v[i].n_bytes;
		if (!w->in_memory || !lmi_svc_prefix_memory_has(t->memory, &key))
			w->n_disk_bytes += v[i].n_bytes;
	}
	lmi_free(v);
	return v != NULL;
}

/* ---- jobs ---- */

/* Puts a part into the tiers, or counts it as used there. A tier that fails takes nothing more of this save;
 * an error is returned when none is left. */
static enum lmd_status write_part(struct lmi_svc_prefix_work *w, const struct lmi_engine_saved_part *p)
{
	const struct lmi_svc_prefix_tier *t = w->svc->prefix_tier;
	const struct lmi_svc_prefix_key key = key_of(w, p);
	const uint8_t *rows = w->saved->bytes + p->at;
	enum lmd_status st = LMD_OK;

	if (w->in_memory) {
		st = lmi_svc_prefix_memory_put(t->memory, &key, rows, (size_t)p->n_bytes, &w->err);
		w->in_memory = st == LMD_OK;
	}
	if (w->on_disk) {
		st = lmi_svc_prefix_files_put(t->files, &key, rows, (size_t)p->n_bytes, &w->err);
		w->on_disk = st == LMD_OK;
		if (st != LMD_OK)
			w->disk_err = w->err;
	}
	return w->in_memory || w->on_disk ? LMD_OK : st;
}

static void touch_part(const struct lmi_svc_prefix_work *w, const struct lmi_engine_saved_part *p)
{
	const struct lmi_svc_prefix_tier *t = w->svc->prefix_tier;
	const struct lmi_svc_prefix_key key = key_of(w, p);

	if (w->in_memory)
		lmi_svc_prefix_memory_touch(t->memory, &key);
	if (w->on_disk)
		lmi_svc_prefix_files_touch(t->files, &key);
}

/* The last ones first: so the beginning of a prefix, which others share, is removed last. */
static void write_parts(struct lmi_svc_prefix_work *w)
{
	uint32_t n_part, n = w->saved->n_token / w->page_tokens;
	struct lmi_engine_saved_part *v = list_parts(w, n, &n_part);

	w->err.status = v ? LMD_OK : lmd_fail(&w->err, LMD_NOMEM, "no memory for a list of pages");
	for (uint32_t i = v ? n_part : 0; i-- > 0 && w->err.status == LMD_OK;) {
		if (is_skipped(w, &v[i]))
			touch_part(w, &v[i]);
		else
			w->err.status = write_part(w, &v[i]);
	}
	lmi_free(v);
}

/* Reads a part from memory, or from the disk and keeps it in memory then. */
static enum lmd_status read_part(struct lmi_svc_prefix_work *w, const struct lmi_engine_saved_part *p,
				 bool *from_disk)
{
	const struct lmi_svc_prefix_tier *t = w->svc->prefix_tier;
	const struct lmi_svc_prefix_key key = key_of(w, p);
	uint8_t *rows = w->saved->bytes + p->at;
	size_t n = (size_t)p->n_bytes;
	enum lmd_status st;

	*from_disk = false;
	if (w->in_memory && lmi_svc_prefix_memory_get(t->memory, &key, rows, n))
		return LMD_OK;
	if (!w->on_disk)
		return lmd_fail(&w->err, LMD_NOTFOUND, "the page is no longer in memory");
	*from_disk = true;
	st = lmi_svc_prefix_files_get(t->files, &key, rows, n, &w->err);
	if (st == LMD_OK && w->in_memory) /* it is on the disk in any case */
		(void)lmi_svc_prefix_memory_put(t->memory, &key, rows, n, NULL);
	return st;
}

static void read_parts(struct lmi_svc_prefix_work *w)
{
	uint32_t n_part;
	struct lmi_engine_saved_part *v = list_parts(w, w->n_end, &n_part);
	uint64_t bytes = lmi_engine_saved_bytes(w->loaded->engine, w->n_end * w->page_tokens);
	bool *from_disk = lmi_alloc(w->n_end, sizeof(*from_disk)), disk;

	w->saved = v && from_disk ? lmi_engine_saved_create(w->n_end * w->page_tokens, bytes) : NULL;
	w->err.status = w->saved ? LMD_OK
				 : lmd_fail(&w->err, LMD_NOMEM, "no memory for %llu bytes of rows",
					    (unsigned long long)bytes);
	if (w->saved)
		memcpy(w->saved->tokens, w->tokens,
		       (size_t)w->n_end * w->page_tokens * sizeof(*w->tokens));
	for (uint32_t i = v ? n_part : 0; i-- > 0 && w->err.status == LMD_OK;) {
		if (lmi_cancel_is_set(&w->job.cancel)) {
			w->err.status = lmd_fail(&w->err, LMD_CANCELLED, "nobody waits for it");
		} else if (!is_skipped(w, &v[i])) {
			w->err.status = read_part(w, &v[i], &disk);
			from_disk[v[i].index] |= disk;
		}
		if (w->err.status == LMD_OK)
			touch_part(w, &v[i]);
	}
	for (uint32_t i = 0; from_disk && i < w->n_end; i++)
		w->n_disk_page += from_disk[i];
	lmi_free(from_disk);
	lmi_free(v);
}

void lmi_svc_prefix_run(void *arg)
{
	struct lmi_svc_prefix_work *w = arg;

	if (w->saves)
		write_parts(w);
	else
		read_parts(w);
}
