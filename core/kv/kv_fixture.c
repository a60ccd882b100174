/* SPDX-License-Identifier: MIT
 *
 * The simulated device of the random walk. */
#include "core/kv/kv_fixture.h"

#include <string.h>

#include "core/kv/kv_impl.h"

static const struct lmd_group all_groups[] = {
	{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
	{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 20, .ratio = 1},
	{.name = "state", .kind = LMD_GROUP_STATE},
	{.name = "chunk", .kind = LMD_GROUP_PAGED, .causal = 1, .chunk = 33, .ratio = 1},
	{.name = "blocks", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 3},
	{.name = "cross", .kind = LMD_GROUP_CROSS, .ratio = 1},
	{.name = "batch", .kind = LMD_GROUP_BATCH, .ratio = 1},
};
/* those whose prefixes can be found */
static const struct lmd_group cached_groups[] = {
	{.name = "full", .kind = LMD_GROUP_PAGED, .causal = 1, .ratio = 1},
	{.name = "window", .kind = LMD_GROUP_PAGED, .causal = 1, .window = 20, .ratio = 1},
	{.name = "chunk", .kind = LMD_GROUP_PAGED, .causal = 1, .chunk = 33, .ratio = 1},
	{.name = "state", .kind = LMD_GROUP_STATE},
};
_Static_assert(LMD_LEN(all_groups) == N_GROUP_MAX, "tables have a place for each group");

const struct lmd_group *kv_fixture_groups = all_groups;
uint32_t kv_fixture_n_group = LMD_LEN(all_groups);
uint32_t kv_fixture_g_state = 2;

uint32_t kv_fixture_below(struct world *w, uint32_t n)
{
	return (uint32_t)(lmd_rand(&w->rnd) % n);
}

/* The state after the first n tokens; 0 = zeros. */
static uint32_t state_after(const struct model_seq *m, uint32_t n)
{
	uint32_t h = 0;

	for (uint32_t i = 0; i < n; i++)
		h = h * 31 + m->tag[i];
	return h;
}

uint32_t kv_fixture_tag_of(const struct model_seq *m, uint32_t i)
{
	uint32_t h = i ? m->tag[i - 1] : 77 + m->id % 2;

	return (h ^ (uint32_t)m->token[i]) * 0x9e3779b1u % (LOST - 1) + 1;
}

void kv_fixture_random_tokens(struct world *w, lmd_token *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i] = !kv_fixture_below(w, 20);
}

void kv_fixture_init(struct world *w, uint64_t seed, uint32_t depth, bool cached, bool states)
{
	struct lmi_kv_opts o = {.page_tokens = PT,
				.n_seq = N_SEQ,
				.n_ctx = N_CTX,
				.n_cross = N_CROSS};

	if (cached) {
		kv_fixture_groups = cached_groups;
		kv_fixture_n_group = LMD_LEN(cached_groups) - !states;
		kv_fixture_g_state = 3;
	}
	o.groups = kv_fixture_groups;
	o.n_group = kv_fixture_n_group;
	memset(w, 0, sizeof(*w));
	w->rnd = seed;
	w->depth = depth;
	w->cached = o.cache_prefixes = cached;
	for (uint32_t i = 0; i < LMD_LEN(w->text); i++)
		kv_fixture_random_tokens(w, w->text[i], N_CTX);
	w->who[1].tenant = 1;
	w->next_tag = w->next_id = 1;
	for (uint32_t g = 0; g < kv_fixture_n_group; g++) {
		o.n_page[g] = N_PAGE - 8 * (g % 2);
		o.n_slot[g] = N_SEQ + 4;
	}
	ck_assert_int_eq(lmi_kv_create(&w->kv, &o, NULL), LMD_OK);
	if (cached)
		ck_assert_int_eq(lmi_kv_prefix_index_pages(&w->kv->tree), LMD_OK);
}

uint32_t kv_fixture_ratio(uint32_t g)
{
	return kv_fixture_groups[g].ratio > 1 ? kv_fixture_groups[g].ratio : 1;
}

bool kv_fixture_is_paged(uint32_t g)
{
	return kv_fixture_groups[g].kind == LMD_GROUP_PAGED || kv_fixture_groups[g].kind == LMD_GROUP_CROSS;
}

bool kv_fixture_has_states(void)
{
	return kv_fixture_g_state < kv_fixture_n_group;
}
/* ---- the device ---- */

/* Looks up a row of the simulated device as a kernel does. */
static uint32_t device_read(const struct world *w, uint32_t g, uint32_t seq, uint32_t row)
{
	uint32_t page = w->table[g][seq][row / PT];

	MUST(page < N_PAGE);
	return w->row[g][page * PT + row % PT];
}

/* Checks that everything the row of token `pos` sees is what was written for it. */
static void verify_row(const struct world *w, const struct part *p, uint32_t pos)
{
	const struct model_seq *m = &w->seq[p->s];

	for (uint32_t g = 0; g < kv_fixture_n_group; g++) {
		struct lmi_kv_span v;

		if (kv_fixture_groups[g].kind == LMD_GROUP_CROSS) {
			for (uint32_t r = 0; r < p->cross; r++)
				MUST(device_read(w, g, p->s, r) == m->cross_tag + r);
			continue;
		}
		if (kv_fixture_groups[g].kind != LMD_GROUP_PAGED)
			continue;
		v = lmi_kv_interval(w->kv, g, pos, p->first + p->n);
		for (int32_t r = v.lo; r < v.hi; r++)
			MUST(device_read(w, g, p->s, (uint32_t)r) ==
			     m->tag[((uint32_t)r + 1) * kv_fixture_ratio(g) - 1]);
	}
}

static void apply_tables(struct world *w, const struct flight *f)
{
	for (uint32_t i = 0; i < f->n_copy; i++, w->n_copied++)
		memmove(&w->row[f->copy[i].group][f->copy[i].dst * PT],
			&w->row[f->copy[i].group][f->copy[i].src * PT], PT * sizeof(uint32_t));
	for (uint32_t g = 0; g < kv_fixture_n_group; g++)
		for (uint32_t i = 0; i < f->n_set[g]; i++)
			w->table[g][f->set[g][i].seq_slot][f->set[g][i].index] = f->set[g][i].page;
}

/* Does the part continue rows that count, of a sequence that is still there? */
static bool counts(const struct world *w, const struct part *p)
{
	const struct model_seq *m = &w->seq[p->s];

	return m->open && m->id == p->id && !m->n_void;
}

static void write_rows(struct world *w, const struct part *p, bool valid)
{
	for (uint32_t i = 0; p->cross_tag && i < p->cross; i++)
		w->row[G_CROSS][p->cross_row[i]] = valid ? p->cross_tag + i : LOST;
	for (uint32_t g = 0; g < kv_fixture_n_group; g++)
		for (uint32_t i = 0; i < p->n && kv_fixture_groups[g].kind == LMD_GROUP_PAGED; i++)
			if (p->row[g][i] >= 0)
				w->row[g][p->row[g][i]] = valid ? p->tag[i] : LOST;
}

static void write_states(struct world *w, const struct part *p, bool valid)
{
	if (!kv_fixture_has_states())
		return;
	const struct model_seq *m = &w->seq[p->s];

	w->state[p->out] = valid ? state_after(m, p->first + p->n) : LOST;
	for (uint32_t i = 0; i < p->n_mark; i++)
		w->state[p->mark_slot[i]] = valid ? state_after(m, p->first + p->mark[i]) : LOST;
}

void kv_fixture_run(struct world *w, struct flight *f)
{
	f->has_run = true;
	f->failed = !kv_fixture_below(w, 30);
	apply_tables(w, f);
	for (uint32_t k = 0; k < f->n_part && !f->failed; k++) {
		const struct part *p = &f->part[k];

		MUST(!kv_fixture_has_states() || !counts(w, p) || (p->in < 0 ? 0 : w->state[p->in]) ==
					      state_after(&w->seq[p->s], p->first));
	}
	for (uint32_t k = 0; k < f->n_part && !f->failed; k++)
		write_rows(w, &f->part[k], counts(w, &f->part[k]));
	for (uint32_t k = 0; k < f->n_part && !f->failed; k++) {
		const struct part *p = &f->part[k];

		write_states(w, p, counts(w, p));
		for (uint32_t i = 0; i < p->n && counts(w, p); i++)
			verify_row(w, p, p->first + i);
	}
	/* the rows that a failed step did not write are missing for those after it */
	for (uint32_t k = 0; k < f->n_part && f->failed; k++)
		if (counts(w, &f->part[k]))
			w->seq[f->part[k].s].n_void = w->seq[f->part[k].s].n_pending;
}
