/* SPDX-License-Identifier: MIT
 *
 * Holds a reference to the plugin's factory, the plugin's state, and what the plugin reported at
 * open. */
#include "core/text/tokenizer.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/plugin/registry.h"

struct lmi_tokenizer {
	struct lmi_plugin_registry *registry;
	const struct lmi_factory *factory;
	const struct lmd_tokenizer_ops *ops;
	void *state;
	struct lmd_tok_info info;
};

/* The ids that a plugin reports serve as array bounds and for binary search, so they are checked
 * once, at open. */
static enum lmd_status check_info(const struct lmi_tokenizer *t, struct lmd_error *err)
{
	const struct lmd_tok_info *f = &t->info;
	const int32_t ids[] = {f->bos, f->eos, f->eot, f->eom, f->unk, f->sep, f->pad, f->cls,
			       f->mask, f->fim_pre, f->fim_suf, f->fim_mid, f->fim_pad, f->fim_rep,
			       f->fim_sep};

	for (size_t i = 0; i < LMD_LEN(ids); i++)
		if (ids[i] < -1 || ids[i] >= (int64_t)f->n_tokens)
			return lmd_fail(err, LMD_INTERNAL,
					"tokenizer plugin %s: special token id %d is outside the "
					"vocabulary of %u tokens",
					t->factory->plugin, ids[i], f->n_tokens);
	for (uint32_t i = 0; i < f->n_eog; i++)
		if (f->eog[i] < 0 || f->eog[i] >= (int64_t)f->n_tokens ||
		    (i && f->eog[i] <= f->eog[i - 1]))
			return lmd_fail(
				err, LMD_INTERNAL,
				"tokenizer plugin %s: end-of-generation token %d at index %u "
				"is out of order or out of range",
				t->factory->plugin, f->eog[i], i);
	return LMD_OK;
}

enum lmd_status lmi_tokenizer_open(struct lmi_tokenizer **out, struct lmi_plugin_registry *registry,
				   const struct lmd_host *host, const struct lmd_tok_spec *spec,
				   struct lmd_error *err)
{
	struct lmi_tokenizer *t = lmi_alloc(1, sizeof(*t));
	enum lmd_status st;

	if (!t)
		return lmd_fail(err, LMD_NOMEM, "tokenizer: no memory");
	t->registry = registry;
	st = lmi_factory_take(registry, LMD_KIND_TOKENIZER, spec->kind ? spec->kind : "none",
			      &t->factory, err);
	if (st != LMD_OK)
		goto undo_alloc;
	t->ops = t->factory->ops.tokenizer;
	t->state = lmi_alloc(1, t->factory->f->state_bytes ? t->factory->f->state_bytes : 1);
	if (!t->state) {
		st = lmd_fail(err, LMD_NOMEM, "tokenizer: no memory");
		goto undo_take;
	}
	st = t->ops->open(t->state, host, spec, &t->info, err);
	if (st != LMD_OK)
		goto undo_state;
	st = check_info(t, err);
	if (st != LMD_OK) {
		t->ops->close(t->state);
		goto undo_state;
	}
	*out = t;
	return LMD_OK;
undo_state:
	lmi_free(t->state);
undo_take:
	lmi_factory_give(registry, t->factory);
undo_alloc:
	lmi_free(t);
	return st;
}

void lmi_tokenizer_close(struct lmi_tokenizer *t)
{
	if (!t)
		return;
	t->ops->close(t->state);
	lmi_free(t->state);
	lmi_factory_give(t->registry, t->factory);
	lmi_free(t);
}

const struct lmi_factory *lmi_tokenizer_factory(const struct lmi_tokenizer *t)
{
	return t->factory;
}

const struct lmd_tok_info *lmi_tokenizer_info(const struct lmi_tokenizer *t)
{
	return &t->info;
}

bool lmi_tokenizer_is_eog(const struct lmi_tokenizer *t, lmd_token id)
{
	uint32_t lo = 0, hi = t->info.n_eog;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (t->info.eog[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->info.n_eog && t->info.eog[lo] == id;
}

void lmi_text_token_buf_fini(struct lmi_text_token_buf *t)
{
	lmi_free(t->id);
	memset(t, 0, sizeof(*t));
}

void lmi_text_byte_buf_fini(struct lmi_text_byte_buf *t)
{
	lmi_free(t->p);
	memset(t, 0, sizeof(*t));
}

enum lmd_status lmi_text_token_buf_append(struct lmi_text_token_buf *t, const lmd_token *id,
					  size_t n, struct lmd_error *err)
{
	if (n > t->cap - t->n) {
		size_t cap = 2 * (t->n + n) + 64;
		lmd_token *p = lmi_realloc(t->id, cap, sizeof(*p));

		if (!p)
			return lmd_fail(err, LMD_NOMEM, "no memory for %zu tokens", cap);
		t->id = p;
		t->cap = cap;
	}
	if (n)
		memcpy(t->id + t->n, id, n * sizeof(*id));
	t->n += n;
	return LMD_OK;
}

enum lmd_status lmi_text_byte_buf_append(struct lmi_text_byte_buf *t, const char *p, size_t n,
					 struct lmd_error *err)
{
	if (n > t->cap - t->n) {
		size_t cap = 2 * (t->n + n) + 256;
		char *q = lmi_realloc(t->p, cap, 1);

		if (!q)
			return lmd_fail(err, LMD_NOMEM, "no memory for %zu bytes of text", cap);
		t->p = q;
		t->cap = cap;
	}
	if (n)
		memcpy(t->p + t->n, p, n);
	t->n += n;
	return LMD_OK;
}

/* Frees the old buffer first, because its content need not be kept. */
static bool reserve_tokens(struct lmi_text_token_buf *t, size_t n)
{
	if (n <= t->cap)
		return true;
	lmi_text_token_buf_fini(t);
	t->id = lmi_alloc(n, sizeof(*t->id));
	t->cap = t->id ? n : 0;
	return t->id != NULL;
}

static bool reserve_text(struct lmi_text_byte_buf *t, size_t n)
{
	if (n <= t->cap)
		return true;
	lmi_text_byte_buf_fini(t);
	t->p = lmi_alloc(n, 1);
	t->cap = t->p ? n : 0;
	return t->p != NULL;
}

enum lmd_status lmi_tokenizer_encode(const struct lmi_tokenizer *t, const char *text, size_t bytes,
				     uint32_t flags, struct lmi_text_token_buf *out,
				     struct lmd_error *err)
{
	size_t n = bytes / 2 + 16; /* more tokens than most texts have */

	out->n = 0;
	for (int round = 0; round < 2; round++) {
		enum lmd_status st;

		if (!reserve_tokens(out, n))
			return lmd_fail(err, LMD_NOMEM, "tokenizer: no memory for %zu tokens", n);
		st = t->ops->encode(t->state, text, bytes, flags, out->id, out->cap, &n, err);
		if (st != LMD_OK)
			return st;
		if (n <= out->cap) {
			out->n = n;
			return LMD_OK;
		}
	}
	return lmd_fail(err, LMD_INTERNAL,
			"tokenizer plugin %s: asked for a buffer of %zu tokens, then for more",
			t->factory->plugin, out->cap);
}

enum lmd_status lmi_tokenizer_decode(const struct lmi_tokenizer *t, const lmd_token *ids,
				     size_t n_ids, uint32_t flags, struct lmi_text_byte_buf *out,
				     struct lmd_error *err)
{
	size_t n = n_ids < SIZE_MAX / 16 ? n_ids * 8 + 16 : n_ids;

	out->n = 0;
	for (int round = 0; round < 2; round++) {
		enum lmd_status st;

		if (!reserve_text(out, n))
			return lmd_fail(err, LMD_NOMEM, "tokenizer: no memory for %zu bytes", n);
		st = t->ops->decode(t->state, ids, n_ids, flags, out->p, out->cap, &n, err);
		if (st != LMD_OK)
			return st;
		if (n <= out->cap) {
			out->n = n;
			return LMD_OK;
		}
	}
	return lmd_fail(err, LMD_INTERNAL,
			"tokenizer plugin %s: asked for a buffer of %zu bytes, then for more",
			t->factory->plugin, out->cap);
}

size_t lmi_tokenizer_piece(const struct lmi_tokenizer *t, lmd_token id, uint32_t flags, char *out,
			   size_t cap)
{
	return t->ops->piece(t->state, id, flags, out, cap);
}
