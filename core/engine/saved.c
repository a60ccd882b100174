/* SPDX-License-Identifier: MIT
 *
 * How large saved rows are, what they depend on, and the commands on the submitting thread. */
#include "core/engine/saved.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/sha256.h"
#include "core/engine/engine_impl.h"
#include "core/engine/transfer.h"
#include "core/quant/quant.h"

struct lmi_engine_saved *lmi_engine_saved_create(uint32_t n_token, uint64_t n_bytes)
{
	struct lmi_engine_saved *s = lmi_alloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->n_token = n_token;
	s->n_bytes = n_bytes;
	s->tokens = lmi_alloc(n_token + (size_t)1, sizeof(*s->tokens));
	s->bytes = lmi_alloc(1, n_bytes + 1);
	if (s->tokens && s->bytes)
		return s;
	lmi_engine_saved_destroy(s);
	return NULL;
}

void lmi_engine_saved_destroy(struct lmi_engine_saved *s)
{
	if (!s)
		return;
	lmi_free(s->tokens);
	lmi_free(s->bytes);
	lmi_free(s);
}

/* ---- sizes ---- */

/* The types are known to the host, so that rows have a length; the sizes were checked at load. */
static uint64_t row_bytes(uint32_t dtype, uint32_t n)
{
	const struct lmi_dtype *t = lmi_dtype(dtype);
	uint64_t bytes = 0;

	return t && lmi_quant_row_bytes(t, n, &bytes) ? bytes : 0;
}

/* The bytes of n rows of a cache, or of the whole state. */
static uint64_t cache_bytes(const struct lmd_cache *c, uint64_t n)
{
	switch ((enum lmd_cache_kind)c->kind) {
	case LMD_CACHE_CONV:
		return row_bytes(c->k_dtype, c->n_head * c->dv) * c->dk;
	case LMD_CACHE_STATE:
		return row_bytes(c->k_dtype, c->dk * c->dv) * c->n_head;
	case LMD_CACHE_KV:
		return (row_bytes(c->k_dtype, c->dk) + row_bytes(c->v_dtype, c->dv)) * c->n_head * n;
	case LMD_CACHE_K_ONLY:
	case LMD_CACHE_V_IN_K:
	case LMD_CACHE_INDEX:
		break;
	}
	return row_bytes(c->k_dtype, c->dk) * c->n_head * n;
}

uint64_t lmi_engine_part_bytes(const struct lmi_inst *inst, const struct lmi_kv_part *part,
			       uint32_t device)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < inst->desc.n_cache; i++)
		if (inst->desc.caches[i].group == part->group &&
		    (device == LMI_ENGINE_MAX_DEVICE || lmi_engine_place_cache(inst, i) == device))
			sum += cache_bytes(&inst->desc.caches[i], part->n_row);
	return sum;
}

uint64_t lmi_engine_parts_max(const struct lmi_inst *inst, uint32_t n, uint32_t *n_part)
{
	uint64_t sum = 0;

	*n_part = 0;
	for (uint32_t g = 0; g < inst->desc.n_group; g++) {
		const struct lmd_group *d = &inst->desc.groups[g];
		struct lmi_kv_part page = {.group = g, .n_row = inst->page_tokens};
		uint32_t width = d->window && d->chunk ? (d->window < d->chunk ? d->window : d->chunk)
				 : d->window	       ? d->window
						       : d->chunk;
		uint32_t n_page = (n - 1) / inst->page_tokens + 1;

		if (d->kind == LMD_GROUP_STATE)
			n_page = 1;
		else if (width && width / inst->page_tokens + 2 < n_page)
			n_page = width / inst->page_tokens + 2;
		*n_part += n_page;
		sum += lmi_engine_part_bytes(inst, &page, LMI_ENGINE_MAX_DEVICE) * n_page;
	}
	return sum;
}

uint64_t lmi_engine_parts_bytes(const struct lmi_inst *inst, uint32_t n, uint32_t *n_part)
{
	struct lmi_kv_part *parts;
	uint64_t sum = 0;

	*n_part = lmi_kv_n_parts(inst->kv, n);
	if (*n_part == UINT32_MAX || !*n_part)
		return 0;
	parts = lmi_alloc(*n_part, sizeof(*parts));
	if (!parts)
		return 0;
	lmi_kv_list_parts(inst->kv, n, parts);
	for (uint32_t i = 0; i < *n_part; i++)
		sum += lmi_engine_part_bytes(inst, &parts[i], LMI_ENGINE_MAX_DEVICE);
	lmi_free(parts);
	return sum;
}

uint64_t lmi_engine_saved_bytes(const struct lmi_engine *e, uint32_t n)
{
	uint32_t n_part;

	return n && n <= e->inst->n_ctx ? lmi_engine_parts_bytes(e->inst, n, &n_part) : 0;
}

bool lmi_engine_rows_on_device(const struct lmi_engine *e)
{
	for (uint32_t i = 0; i < e->inst->desc.n_cache; i++)
		if (!lmi_inst_device_in_host_memory(
			    &e->inst->devices[lmi_engine_place_cache(e->inst, i)]))
			return true;
	return false;
}

uint32_t lmi_engine_saved_parts(const struct lmi_engine *e, uint32_t n,
				struct lmi_engine_saved_part *out)
{
	uint32_t n_part = n && n <= e->inst->n_ctx ? lmi_kv_n_parts(e->inst->kv, n) : 0;
	struct lmi_kv_part *parts;
	uint64_t at = 0;

	if (n_part == UINT32_MAX || !out)
		return n_part == UINT32_MAX ? 0 : n_part;
	parts = lmi_alloc(n_part, sizeof(*parts));
	if (!parts)
		return 0;
	lmi_kv_list_parts(e->inst->kv, n, parts);
	for (uint32_t i = 0; i < n_part; i++) {
		out[i] = (struct lmi_engine_saved_part){
			.group = parts[i].group,
			.index = parts[i].index,
			.is_state = !parts[i].n_row,
			.at = at,
			.n_bytes = lmi_engine_part_bytes(e->inst, &parts[i],
							 LMI_ENGINE_MAX_DEVICE)};
		at += out[i].n_bytes;
	}
	lmi_free(parts);
	return n_part;
}

/* ---- what they depend on ---- */

static void add(struct lmi_sha256 *h, uint32_t v)
{
	uint8_t b[4];

	lmi_put_le32(b, v);
	lmi_sha256_update(h, b, sizeof(b));
}

static enum lmd_status check_cache(const struct lmi_engine *e, struct lmd_error *err)
{
	if (lmi_kv_n_parts(e->inst->kv, 1) != UINT32_MAX)
		return LMD_OK;
	return lmd_fail(err, LMD_UNSUPPORTED,
			"model %s has no prefix cache, so nothing of it can be saved",
			e->inst->model->name ? e->inst->model->name : "");
}

enum lmd_status lmi_engine_saved_layout(const struct lmi_engine *e,
					struct lmi_engine_saved_layout *out, struct lmd_error *err)
{
	const struct lmi_inst *inst = e->inst;
	enum lmd_status st = check_cache(e, err);
	struct lmi_sha256 h;

	if (st != LMD_OK)
		return st;
	*out = (struct lmi_engine_saved_layout){.page_tokens = inst->page_tokens,
						.k_dtype = inst->k_dtype,
						.v_dtype = inst->v_dtype};
	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	add(&h, inst->page_tokens);
	add(&h, inst->device_params.activations);
	add(&h, inst->device_params.attention);
	if (inst->device_params.deterministic)
		add(&h, inst->device_params.deterministic);
	add(&h, inst->n_rank);
	for (uint32_t g = 0; g < inst->desc.n_group; g++) {
		const struct lmd_group *d = &inst->desc.groups[g];

		add(&h, d->kind);
		add(&h, d->window);
		add(&h, d->chunk);
	}
	for (uint32_t i = 0; i < inst->desc.n_cache; i++) {
		const struct lmd_cache *c = &inst->desc.caches[i];

		add(&h, c->group);
		add(&h, c->kind);
		add(&h, c->n_head);
		add(&h, c->dk);
		add(&h, c->dv);
		add(&h, c->k_dtype);
		add(&h, c->v_dtype);
		add(&h, lmi_engine_place_cache(inst, i));
	}
	return lmi_sha256_final(&h, out->digest)
		       ? LMD_OK
		       : lmd_fail(err, LMD_INTERNAL, "a digest could not be computed");
}

/* ---- commands ---- */

/* Takes the transfer. */
static enum lmd_status submit(struct lmi_engine *e, struct lmi_engine_transfer *own_t,
			      struct lmd_error *err)
{
	const struct lmi_engine_command o = {.transfer = own_t};
	uint32_t before = atomic_fetch_add(&e->n_live, 1);
	enum lmd_status st = LMD_OK;

	if (atomic_load(&e->closed))
		st = lmd_fail(err, LMD_CANCELLED, "the engine is closed");
	else if (before >= e->n_request)
		st = lmd_fail(err, LMD_BUSY, "%u sequences are waiting or running, the limit is %u",
			      before, e->n_request);
	else if (!lmi_engine_command_queue_push(&e->commands, &o))
		st = lmd_fail(err, LMD_BUSY,
			      "the queue of %u commands is full, or the engine is stopping",
			      e->commands.size);
	if (st != LMD_OK) {
		atomic_fetch_sub(&e->n_live, 1);
		lmi_engine_transfer_destroy(own_t);
	}
	return st;
}

static enum lmd_status check(const struct lmi_engine *e, uint64_t id, uint32_t n,
			     struct lmd_error *err)
{
	if (!id)
		return lmd_fail(err, LMD_INVALID, "command id 0 is invalid, ids start at 1");
	if (!n || n > e->inst->n_ctx)
		return lmd_fail(err, LMD_INVALID, "%u tokens; allowed are 1 to %u, the context", n,
				e->inst->n_ctx);
	return check_cache(e, err);
}

/* Creates and submits a transfer of the command's tokens, with room for their rows. */
static enum lmd_status submit_tokens(struct lmi_engine *e, const struct lmi_engine_save *cmd,
				     uint32_t n_part, uint64_t bytes, bool finds,
				     struct lmd_error *err)
{
	struct lmi_engine_transfer *t = lmi_engine_transfer_create(n_part);

	if (t)
		t->saved = lmi_engine_saved_create(cmd->n_tokens, bytes);
	if (!t || !t->saved) {
		lmi_engine_transfer_destroy(t);
		return lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of saved rows",
				(unsigned long long)bytes);
	}
	t->id = cmd->id;
	t->saves = !finds;
	t->finds = finds;
	t->identity = (struct lmi_kv_identity){.tenant = cmd->tenant};
	t->adapter = cmd->adapter;
	t->n_asked = cmd->n_tokens;
	t->whole_pages = cmd->whole_pages;
	t->n_skip = cmd->n_skip;
	memcpy(t->saved->tokens, cmd->tokens, cmd->n_tokens * sizeof(*cmd->tokens));
	return submit(e, t, err);
}

enum lmd_status lmi_engine_save(struct lmi_engine *e, const struct lmi_engine_save *cmd,
				struct lmd_error *err)
{
	enum lmd_status st = check(e, cmd->id, cmd->n_tokens, err);
	uint32_t n_part;
	uint64_t bytes;

	if (st != LMD_OK)
		return st;
	bytes = lmi_engine_parts_max(e->inst, cmd->n_tokens, &n_part);
	if (bytes > cmd->max_bytes)
		return lmd_fail(err, LMD_INVALID,
				"the rows of %u tokens take up to %llu bytes, which exceeds the limit "
				"of %llu",
				cmd->n_tokens, (unsigned long long)bytes,
				(unsigned long long)cmd->max_bytes);
	return submit_tokens(e, cmd, n_part, bytes, false, err);
}

enum lmd_status lmi_engine_find(struct lmi_engine *e, const struct lmi_engine_save *cmd,
				struct lmd_error *err)
{
	enum lmd_status st = check(e, cmd->id, cmd->n_tokens, err);

	return st == LMD_OK ? submit_tokens(e, cmd, 0, 0, true, err) : st;
}

enum lmd_status lmi_engine_restore(struct lmi_engine *e, const struct lmi_engine_restore *cmd,
				   struct lmi_engine_saved *own_saved, struct lmd_error *err)
{
	enum lmd_status st = check(e, cmd->id, own_saved->n_token, err);
	struct lmi_engine_transfer *t = NULL;
	uint32_t n_part = 0;
	uint64_t bytes = 0;

	if (st == LMD_OK)
		bytes = lmi_engine_parts_bytes(e->inst, own_saved->n_token, &n_part);
	if (st == LMD_OK && bytes != own_saved->n_bytes)
		st = lmd_fail(err, LMD_INVALID,
			      "%llu bytes of saved rows; %u tokens of this model have %llu",
			      (unsigned long long)own_saved->n_bytes, own_saved->n_token,
			      (unsigned long long)bytes);
	if (st == LMD_OK && !(t = lmi_engine_transfer_create(n_part)))
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u parts", n_part);
	if (st != LMD_OK) {
		lmi_engine_saved_destroy(own_saved);
		return st;
	}
	t->id = cmd->id;
	t->identity = (struct lmi_kv_identity){.tenant = cmd->tenant};
	t->adapter = cmd->adapter;
	t->n_skip = cmd->n_skip;
	t->saved = own_saved;
	return submit(e, t, err);
}
