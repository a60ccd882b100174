/* SPDX-License-Identifier: MIT
 *
 * The pages of a prefix on the disk. What a page's rows depend on is hashed into the first link of a chain
 * of SHA-256; each further link adds the tokens of one page. So the name of a file says all that its
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
	const struct lmi_svc_prefix_key key = key_of(w, p);

	return lmi_svc_prefix_files_has(w->svc->prefix_tier->files, &key);
}

/* Lists the parts of the first n pages; NULL: out of memory. */
struct lmi_engine_saved_part *lmi_svc_prefix_list_parts(const struct lmi_svc_prefix_work *w, uint32_t n,
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

bool lmi_svc_prefix_is_skipped(const struct lmi_svc_prefix_work *w, const struct lmi_engine_saved_part *p)
{
	return !p->is_state && p->index < w->n_skip;
}

/* Returns with how many pages a restore could end, at most n: the disk has all their parts. A longer
 * prefix than that before a missing page needs the page as well; a state may be there earlier. */
uint32_t lmi_svc_prefix_n_on_disk(const struct lmi_svc_prefix_work *w, uint32_t n)
{
	while (n) {
		uint32_t n_part, i = 0;
		struct lmi_engine_saved_part *v = lmi_svc_prefix_list_parts(w, n, &n_part);

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

/* ---- jobs ---- */

/* The last ones first: so the beginning of a prefix, which others share, is removed last. */
static void write_parts(struct lmi_svc_prefix_work *w)
{
	uint32_t n_part, n = w->saved->n_token / w->page_tokens;
	struct lmi_engine_saved_part *v = lmi_svc_prefix_list_parts(w, n, &n_part);

	w->err.status = v ? LMD_OK : lmd_fail(&w->err, LMD_NOMEM, "no memory for a list of pages");
	for (uint32_t i = v ? n_part : 0; i-- > 0 && w->err.status == LMD_OK;) {
		const struct lmi_svc_prefix_key key = key_of(w, &v[i]);

		if (lmi_svc_prefix_is_skipped(w, &v[i]))
			lmi_svc_prefix_files_touch(w->svc->prefix_tier->files, &key);
		else
			w->err.status = lmi_svc_prefix_files_put(w->svc->prefix_tier->files, &key,
								 w->saved->bytes + v[i].at,
								 (size_t)v[i].n_bytes, &w->err);
	}
	lmi_free(v);
}

static void read_parts(struct lmi_svc_prefix_work *w)
{
	uint32_t n_part;
	struct lmi_engine_saved_part *v = lmi_svc_prefix_list_parts(w, w->n_end, &n_part);
	uint64_t bytes = lmi_engine_saved_bytes(w->loaded->engine, w->n_end * w->page_tokens);

	w->saved = v ? lmi_engine_saved_create(w->n_end * w->page_tokens, bytes) : NULL;
	w->err.status = w->saved ? LMD_OK
				 : lmd_fail(&w->err, LMD_NOMEM, "no memory for %llu bytes of rows",
					    (unsigned long long)bytes);
	if (w->saved)
		memcpy(w->saved->tokens, w->tokens,
		       (size_t)w->n_end * w->page_tokens * sizeof(*w->tokens));
	for (uint32_t i = v ? n_part : 0; i-- > 0 && w->err.status == LMD_OK;) {
		const struct lmi_svc_prefix_key key = key_of(w, &v[i]);

		if (lmi_cancel_is_set(&w->job.cancel))
			w->err.status = lmd_fail(&w->err, LMD_CANCELLED, "nobody waits for it");
		else if (!lmi_svc_prefix_is_skipped(w, &v[i]))
			w->err.status = lmi_svc_prefix_files_get(w->svc->prefix_tier->files, &key,
								 w->saved->bytes + v[i].at,
								 (size_t)v[i].n_bytes, &w->err);
		if (w->err.status == LMD_OK)
			lmi_svc_prefix_files_touch(w->svc->prefix_tier->files, &key);
	}
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
