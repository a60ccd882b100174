/* SPDX-License-Identifier: MIT
 *
 * A generation and the disk tier of the prefix cache. Neither a restore nor a save changes the answer: what
 * is not there, or takes too long, is computed. */
#include "service/generate_work.h"
#include "service/prefix_tier.h"

static struct lmi_svc_prefix_rows rows_of(const struct lmi_svc_generation *g)
{
	return (struct lmi_svc_prefix_rows){.loaded = g->loaded,
					    .tenant = lmi_svc_gen_tenant(g),
					    .adapter = g->adapter,
					    .tokens = g->rows.id,
					    .n_tokens = (uint32_t)g->rows.n};
}

static void restored(void *arg, uint64_t now)
{
	struct lmi_svc_generation *g = arg;

	g->prefix_work = NULL;
	lmi_svc_gen_prompt_items(g, now);
}

void lmi_svc_gen_prefix_restore(struct lmi_svc_generation *g, uint64_t now)
{
	struct lmi_svc_prefix_rows rows;

	if (lmi_svc_prefix_tier_is_on(g->request.svc) && lmi_svc_gen_request(g)->cache_prompt &&
	    lmi_text_token_buf_append(&g->rows, g->tokens.id, g->tokens.n, NULL) == LMD_OK &&
	    lmi_text_token_buf_append(&g->rows, g->taken.id, g->taken.n, NULL) == LMD_OK) {
		rows = rows_of(g);
		rows.n_tokens -= rows.n_tokens > 0; /* the last one is computed in any case */
		g->prefix_work =
			lmi_svc_prefix_tier_restore(g->request.svc, now, &rows, restored, g);
	}
	if (!g->prefix_work)
		lmi_svc_gen_prompt_items(g, now);
}

static void save(struct lmi_svc_generation *g, bool shared)
{
	const struct lmi_svc_prefix_rows rows = rows_of(g);

	if (g->rows.n)
		lmi_svc_prefix_tier_save(g->request.svc, &rows, shared);
}

void lmi_svc_gen_prefix_token(struct lmi_svc_generation *g, lmd_token token)
{
	if (!g->rows.n)
		return;
	if (g->n_out == g->n_resumed + 1)
		save(g, false);
	if (lmi_text_token_buf_append(&g->rows, &token, 1, NULL) != LMD_OK)
		lmi_text_token_buf_fini(&g->rows);
}

void lmi_svc_gen_prefix_end(struct lmi_svc_generation *g, const struct lmi_svc_end *end)
{
	if (end->n_prompt > end->n_cached)
		lmi_svc_prefix_tier_measure(g->loaded, (uint64_t)(end->n_prompt - end->n_cached),
					    end->prompt_ns);
	if (!end->n_shift) /* otherwise the rows are those of other tokens */
		save(g, end->n_cached > 0);
}

void lmi_svc_gen_prefix_forget(struct lmi_service *svc, uint64_t now, uint64_t tenant)
{
	for (struct lmi_svc_generation *g = svc->generations; g; g = g->next)
		if (lmi_svc_gen_tenant(g) == tenant)
			lmi_text_token_buf_fini(&g->rows);
	lmi_svc_prefix_tier_forget(svc, now, tenant);
}

void lmi_svc_gen_prefix_leave(struct lmi_svc_generation *g)
{
	if (g->prefix_work)
		lmi_svc_prefix_tier_leave(g->prefix_work);
	g->prefix_work = NULL;
}
