/* SPDX-License-Identifier: MIT
 *
 * A sampler runs alone, as a partial chain: the chain checks after each call that candidates are left,
 * that they are those it gave, and that the choice is one of them. */
#include "client/llamactl/plugin_check.h"

#include <math.h>
#include <stdio.h>

#include "client/llamactl/json_out.h"
#include "core/engine/sample.h"
#include "llamad/attr.h"

#define N_VOCAB 1000u
#define N_ROWS	64u

void lmi_ctl_plugin_parts_add(struct lmi_ctl_plugin_parts *p, const struct lmi_factory_info *info)
{
	if (p->n == LMD_LEN(p->part))
		return;
	p->part[p->n].kind = (enum lmd_kind)info->kind;
	(void)snprintf(p->part[p->n].name, sizeof(p->part[p->n].name), "%s", info->name);
	p->n++;
}

/* Random logits; some rows have NaN and infinities, or are all equal. */
static void fill(struct lmd_cand *v, uint64_t row)
{
	static const float odd[] = {NAN, INFINITY, -INFINITY, 0};

	for (uint32_t i = 0; i < N_VOCAB; i++) {
		float x = lmd_sample_rand(1, row, i);

		v[i] = (struct lmd_cand){.id = (lmd_token)i, .logit = 20 * x - 10};
		if (row % 4 == 1 && x < 0.1f)
			v[i].logit = odd[i % LMD_LEN(odd)];
		else if (row % 4 == 2)
			v[i].logit = odd[row / 4 % LMD_LEN(odd)];
	}
}

static enum lmd_status run_sampler(struct lmi_plugin_registry *r, const struct lmd_host *host,
				   const char *name, struct lmd_error *err)
{
	static struct lmd_cand v[N_VOCAB]; /* too large for the stack; only this thread runs */
	const struct lmi_sampler_spec spec = {.name = name};
	const struct lmi_sampler_chain_opts o = {.registry = r,
						 .host = host,
						 .specs = &spec,
						 .n_specs = 1,
						 .n_vocab = N_VOCAB,
						 .seed = 1,
						 .partial = true};
	struct lmi_sampler_chain *ch = NULL;
	enum lmd_status st = lmi_sampler_chain_create(&ch, &o, err);

	for (uint64_t row = 0; row < N_ROWS && st == LMD_OK; row++) {
		struct lmd_cands c = {.v = v, .n = N_VOCAB, .selected = -1};

		fill(v, row);
		st = lmi_sampler_chain_apply(ch, &c);
		if (st != LMD_OK)
			st = lmd_fail(err, st, "row %llu: it left no candidates, or others than it got",
				      (unsigned long long)row);
		else
			lmi_sampler_chain_accept(ch, v[c.selected < 0 ? 0 : c.selected].id, false);
	}
	lmi_sampler_chain_destroy(ch);
	return st;
}

static enum lmd_status check(struct lmi_plugin_registry *r, const struct lmd_host *host,
			     enum lmd_kind kind, const char *name, struct lmd_error *err)
{
	const struct lmi_factory *f;
	enum lmd_status st = lmi_factory_take(r, kind, name, &f, err);

	if (st != LMD_OK)
		return st;
	if (kind == LMD_KIND_SAMPLER)
		st = run_sampler(r, host, name, err);
	lmi_factory_give(r, f);
	return st;
}

enum lmd_status lmi_ctl_plugin_check(struct lmi_plugin_registry *r, const struct lmd_host *host,
				     const struct lmi_ctl_plugin_parts *parts, bool json,
				     struct lmd_error *err)
{
	struct lmi_ctl_json j;
	uint32_t n_fail = 0;

	lmi_ctl_json_init(&j, stdout);
	if (json)
		lmi_ctl_json_array(&j, NULL);
	for (uint32_t i = 0; i < parts->n; i++) {
		struct lmd_error e = {0};
		const char *kind = lmi_plugin_kind_id(parts->part[i].kind);
		bool ok = check(r, host, parts->part[i].kind, parts->part[i].name, &e) == LMD_OK;

		n_fail += !ok;
		if (!json) {
			printf("%-4s %s %s%s%s\n", ok ? "ok" : "FAIL", kind, parts->part[i].name,
			       ok ? "" : ": ", e.text);
			continue;
		}
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_str(&j, "kind", kind);
		lmi_ctl_json_str(&j, "name", parts->part[i].name);
		lmi_ctl_json_str(&j, "verdict", ok ? "pass" : "fail");
		lmi_ctl_json_str(&j, "text", e.text);
		lmi_ctl_json_end(&j);
	}
	if (json) {
		lmi_ctl_json_end(&j);
		lmi_ctl_json_fini(&j);
	}
	return n_fail ? lmd_fail(err, LMD_INVALID, "%u of %u parts failed", n_fail, parts->n)
		      : LMD_OK;
}
