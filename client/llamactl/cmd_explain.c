/* SPDX-License-Identifier: MIT
 *
 * llamactl explain: compares what the architecture expects of a model file with what was found.
 * The first place to look when a file does not load or a new architecture is being written. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/model_description.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/remote.h"
#include "core/base/printable.h"
#include "core/plan/model_check.h"
#include "core/quant/quant.h"

static const char *const driver_names[] = {"autoregressive", "encoder", "encoder-decoder",
					   "diffusion", "codec"};
static const char *const group_names[] = {"paged", "state", "cross", "batch"};
/* The kinds of findings, in the order of the text output, with their titles. */
static const struct {
	enum lmi_plan_tensor_match fit;
	const char *title;
} parts[] = {
	{LMI_PLAN_TENSOR_MISSING, "missing"},
	{LMI_PLAN_TENSOR_BAD_SHAPE, "with a shape other than expected"},
	{LMI_PLAN_TENSOR_UNKNOWN, "unknown to the architecture"},
	{LMI_PLAN_TENSOR_AFTER_TRUNK, "of blocks after the last layer (drafts)"},
	{LMI_PLAN_TENSOR_IGNORED, "known but not used"},
	{LMI_PLAN_TENSOR_USED, "used"},
};

static const char *driver_name(uint32_t driver)
{
	return driver < LMD_LEN(driver_names) ? driver_names[driver] : "unknown";
}

/* The memory that the model would need on the backend and with the context of the options. */
struct need {
	bool known;
	struct lmi_engine_memory m;
	uint32_t n_ctx;
	const char *backend; /* or the first device */
	struct lmi_engine_placement where;
};

static const struct {
	const char *key, *title;
	size_t at;
} amounts[] = {
#define AMOUNT(field, title)                                                                       \
	{                                                                                          \
#field, title, offsetof(struct lmi_engine_memory, field)                           \
	}
	AMOUNT(file, "files, mapped"),
	AMOUNT(copied, "files, read into memory"),
	AMOUNT(weights, "weights in the backend's own layout"),
	AMOUNT(adapters, "adapters"),
	AMOUNT(tower, "vision tower"),
	AMOUNT(draft, "draft model"),
	AMOUNT(sequences, "keys, values and states of a sequence"),
	AMOUNT(step, "values of a step"),
	AMOUNT(results, "results of a step"),
#undef AMOUNT
};

static uint64_t bytes_of(const struct need *n, size_t i)
{
	uint64_t v;

	memcpy(&v, (const char *)&n->m + amounts[i].at, sizeof(v));
	return v;
}

/* ---- text ---- */

static void print_amount(const char *title, uint64_t bytes)
{
	char size[24];

	printf("  %-40s %12s\n", title, lmi_ctl_show_size(size, sizeof(size), bytes));
}

static void print_where(const struct lmi_engine_placement *w)
{
	char weights[24], kv[24], left[24];

	puts("devices");
	for (uint32_t i = 0; i < w->n_device; i++) {
		const struct lmi_engine_device_share *d = &w->devices[i];
		uint64_t sum = lmi_engine_memory_sum(&d->memory);

		printf("  %-16s %u operations", d->name, d->n_op);
		if (d->first >= 0)
			printf(" of layers %d to %d", (int)d->first, (int)d->last);
		printf(", weights %s, KV %s",
		       lmi_ctl_show_size(weights, sizeof(weights), d->memory.weights),
		       lmi_ctl_show_size(kv, sizeof(kv), d->memory.sequences));
		if (d->memory.budget < UINT64_MAX && d->memory.budget >= sum)
			printf(", %s stay free",
			       lmi_ctl_show_size(left, sizeof(left), d->memory.budget - sum));
		putchar('\n');
	}
	for (uint32_t i = 0; i < w->n_moved; i++)
		printf("  %s (%u) on %s instead of %s: %s\n", w->moved[i].op, w->moved[i].n,
		       w->devices[w->moved[i].to].name, w->devices[w->moved[i].from].name,
		       w->moved[i].reason);
	if (w->sampling[0])
		printf("  tokens are chosen on %s if a request has no other samplers than it knows\n",
		       w->sampling);
	else if (w->no_sampling[0])
		printf("  tokens are chosen on the host: %s\n", w->no_sampling);
}

static void print_need(const struct need *n)
{
	if (!n->known)
		return;
	printf("memory        backend %s, context %u\n", n->backend, n->n_ctx);
	for (size_t i = 0; i < LMD_LEN(amounts); i++)
		if (bytes_of(n, i))
			print_amount(amounts[i].title, bytes_of(n, i));
	print_amount("beyond what is mapped", lmi_engine_memory_sum(&n->m));
	if (n->m.budget < UINT64_MAX)
		print_amount("may be taken", n->m.budget);
	print_where(&n->where);
}

static void print_group(const struct lmd_arch_desc *d, uint32_t i)
{
	const struct lmd_group *g = &d->groups[i];
	uint32_t n = 0;

	for (uint32_t c = 0; c < d->n_cache; c++)
		n += d->caches[c].group == i;
	printf("  %-16s %s%s, %u %s", g->name ? g->name : "?",
	       g->kind < LMD_LEN(group_names) ? group_names[g->kind] : "unknown",
	       g->causal ? ", causal" : "", n, n == 1 ? "cache" : "caches");
	if (g->window)
		printf(", window %u", g->window);
	if (g->chunk)
		printf(", chunk %u", g->chunk);
	if (g->ratio > 1)
		printf(", one row for %u tokens", g->ratio);
	putchar('\n');
}

static void print_fit(const struct lmi_plan_model_tensor *f)
{
	char name[160], have[96] = "-", want[96];

	if (f->tensor)
		(void)lmi_plan_dims_text(have, sizeof(have), f->tensor->dims, f->tensor->n_dim);
	printf("  %-40s %-8s %-20s", lmi_printable(name, sizeof(name), f->name, strlen(f->name)),
	       f->tensor ? lmi_dtype(f->tensor->dtype)->name : "-", have);
	if (f->match == LMI_PLAN_TENSOR_MISSING || f->match == LMI_PLAN_TENSOR_BAD_SHAPE)
		printf(" expected %s",
		       lmi_plan_dims_text(want, sizeof(want), f->expected, f->n_expected));
	putchar('\n');
}

static void print_fits(const struct lmi_plan_model_check *c, bool all)
{
	for (size_t p = 0; p < LMD_LEN(parts); p++) {
		bool listed = all || parts[p].fit != LMI_PLAN_TENSOR_USED;

		if (!c->count[parts[p].fit])
			continue;
		printf("\n%u %s %s%s\n", c->count[parts[p].fit],
		       c->count[parts[p].fit] == 1 ? "tensor" : "tensors", parts[p].title,
		       listed ? ":" : "");
		for (uint32_t i = 0; i < c->n && listed; i++)
			if (c->tensors[i].match == parts[p].fit)
				print_fit(&c->tensors[i]);
	}
}

static void print_text(const struct lmi_ctl_described *d, const struct lmi_plan_model_check *c,
		       const struct need *n, bool all)
{
	printf("architecture  %s (plugin %s %s)\n", d->view->arch, d->arch->plugin,
	       d->arch->version);
	if (d->desc.summary)
		printf("model         %s\n", d->desc.summary);
	printf("runs as       %s\n", driver_name(d->desc.driver));
	printf("sizes         %u layers, width %u, vocabulary %u, trained context %u\n",
	       d->desc.n_layer, d->desc.n_embd, d->desc.n_vocab, d->desc.n_ctx_train);
	if (d->desc.n_group) {
		printf("memory of a sequence\n");
		for (uint32_t i = 0; i < d->desc.n_group; i++)
			print_group(&d->desc, i);
	}
	print_need(n);
	print_fits(c, all);
}

/* ---- JSON ---- */

static void json_dims(struct lmi_ctl_json *j, const char *key, const int64_t *dims, uint32_t n)
{
	lmi_ctl_json_flat_array(j, key);
	for (uint32_t i = 0; i < n; i++)
		lmi_ctl_json_int(j, NULL, dims[i]);
	lmi_ctl_json_end(j);
}

static void json_fits(struct lmi_ctl_json *j, const struct lmi_plan_model_check *c)
{
	lmi_ctl_json_array(j, "tensors");
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lmi_plan_model_tensor *f = &c->tensors[i];

		lmi_ctl_json_flat_object(j, NULL);
		lmi_ctl_json_str(j, "name", f->name);
		lmi_ctl_json_str(j, "fit", lmi_plan_tensor_match_text(f->match));
		if (f->tensor) {
			lmi_ctl_json_str(j, "type", lmi_dtype(f->tensor->dtype)->name);
			json_dims(j, "found", f->tensor->dims, f->tensor->n_dim);
		}
		if (f->n_expected || f->match == LMI_PLAN_TENSOR_MISSING)
			json_dims(j, "expected", f->expected, f->n_expected);
		lmi_ctl_json_end(j);
	}
	lmi_ctl_json_end(j);
}

static void json_groups(struct lmi_ctl_json *j, const struct lmd_arch_desc *d)
{
	lmi_ctl_json_array(j, "groups");
	for (uint32_t i = 0; i < d->n_group; i++) {
		const struct lmd_group *g = &d->groups[i];

		lmi_ctl_json_flat_object(j, NULL);
		lmi_ctl_json_str(j, "name", g->name);
		lmi_ctl_json_str(j, "kind",
				 g->kind < LMD_LEN(group_names) ? group_names[g->kind] : "unknown");
		lmi_ctl_json_bool(j, "causal", g->causal != 0);
		lmi_ctl_json_uint(j, "window", g->window);
		lmi_ctl_json_uint(j, "chunk", g->chunk);
		lmi_ctl_json_uint(j, "ratio", g->ratio);
		lmi_ctl_json_end(j);
	}
	lmi_ctl_json_end(j);
}

static void json_where(struct lmi_ctl_json *j, const struct lmi_engine_placement *w)
{
	lmi_ctl_json_array(j, "devices");
	for (uint32_t i = 0; i < w->n_device; i++) {
		const struct lmi_engine_device_share *d = &w->devices[i];

		lmi_ctl_json_flat_object(j, NULL);
		lmi_ctl_json_str(j, "device", d->name);
		lmi_ctl_json_uint(j, "ops", d->n_op);
		if (d->first >= 0) {
			lmi_ctl_json_uint(j, "first_layer", (uint64_t)d->first);
			lmi_ctl_json_uint(j, "last_layer", (uint64_t)d->last);
		}
		lmi_ctl_json_uint(j, "weights", d->memory.weights);
		lmi_ctl_json_uint(j, "sequences", d->memory.sequences);
		lmi_ctl_json_uint(j, "sum", lmi_engine_memory_sum(&d->memory));
		if (d->memory.budget < UINT64_MAX)
			lmi_ctl_json_uint(j, "budget", d->memory.budget);
		lmi_ctl_json_end(j);
	}
	lmi_ctl_json_end(j);
	lmi_ctl_json_array(j, "moved");
	for (uint32_t i = 0; i < w->n_moved; i++) {
		lmi_ctl_json_flat_object(j, NULL);
		lmi_ctl_json_str(j, "op", w->moved[i].op);
		lmi_ctl_json_uint(j, "n", w->moved[i].n);
		lmi_ctl_json_str(j, "from", w->devices[w->moved[i].from].name);
		lmi_ctl_json_str(j, "to", w->devices[w->moved[i].to].name);
		lmi_ctl_json_str(j, "reason", w->moved[i].reason);
		lmi_ctl_json_end(j);
	}
	lmi_ctl_json_end(j);
}

static void json_need(struct lmi_ctl_json *j, const struct need *n)
{
	if (!n->known) {
		lmi_ctl_json_null(j, "memory");
		return;
	}
	lmi_ctl_json_object(j, "memory");
	lmi_ctl_json_str(j, "backend", n->backend);
	lmi_ctl_json_uint(j, "context", n->n_ctx);
	for (size_t i = 0; i < LMD_LEN(amounts); i++)
		lmi_ctl_json_uint(j, amounts[i].key, bytes_of(n, i));
	lmi_ctl_json_uint(j, "sum", lmi_engine_memory_sum(&n->m));
	if (n->m.budget < UINT64_MAX)
		lmi_ctl_json_uint(j, "budget", n->m.budget);
	lmi_ctl_json_end(j);
	json_where(j, &n->where);
}

static void print_json(const struct lmi_ctl_described *d, const struct lmi_plan_model_check *c,
		       const struct need *n)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "arch", d->view->arch);
	lmi_ctl_json_str(&j, "plugin", d->arch->plugin);
	lmi_ctl_json_str(&j, "version", d->arch->version);
	lmi_ctl_json_str(&j, "summary", d->desc.summary);
	lmi_ctl_json_str(&j, "driver", driver_name(d->desc.driver));
	lmi_ctl_json_uint(&j, "layers", d->desc.n_layer);
	lmi_ctl_json_uint(&j, "width", d->desc.n_embd);
	lmi_ctl_json_uint(&j, "vocabulary", d->desc.n_vocab);
	lmi_ctl_json_uint(&j, "context", d->desc.n_ctx_train);
	json_groups(&j, &d->desc);
	json_need(&j, n);
	lmi_ctl_json_flat_object(&j, "count");
	for (uint32_t i = 0; i < LMI_PLAN_N_TENSOR_MATCH; i++)
		lmi_ctl_json_uint(&j, lmi_plan_tensor_match_text(i), c->count[i]);
	lmi_ctl_json_end(&j);
	json_fits(&j, c);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* A model for which this machine has no backend is explained nevertheless; one that does not fit
 * into memory, or whose adapters, draft model or tower do not belong to it, is an error. */
static enum lmd_status estimate(struct lmi_ctl *ctl, struct need *n, struct lmd_error *err)
{
	char tower[PATH_MAX];
	struct lmi_engine_opts o;
	struct lmd_error why = {0};
	enum lmd_status st = lmi_ctl_embedded_opts(ctl, lmi_arg_pos(&ctl->args, 0), &o, err);

	if (st != LMD_OK)
		return st;
	lmi_ctl_add_second_models(ctl, &o, tower);
	n->backend = o.inst.backend;
	if (!strcmp(n->backend, "auto"))
		n->backend = lmi_factory_best(o.inst.registry, LMD_KIND_BACKEND);
	if (!n->backend)
		return LMD_OK;
	st = lmi_engine_estimate(&n->m, &n->n_ctx, &n->where, &o.inst, &why);
	n->known = st == LMD_OK;
	if (n->known && o.inst.device_list)
		n->backend = n->where.devices[0].name;
	if (st == LMD_NOMEM || o.inst.n_adapter_files || o.inst.draft_path || lmi_arg_given(&ctl->args, "mmproj") ||
	    lmi_arg_given(&ctl->args, "backend") ||
	    lmi_arg_given(&ctl->args, "device") || lmi_arg_given(&ctl->args, "override-tensor"))
		return st == LMD_OK ? st : lmd_fail(err, st, "%s", why.text);
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	struct need need = {0};
	struct lmd_error too_much = {0};
	struct lmi_ctl_described d;
	struct lmi_plan_model_check c = {0};
	enum lmd_status st = lmi_ctl_described_init(&d, ctl, path, 0, 0, err);

	if (st == LMD_OK)
		st = lmi_plan_model_check(&c, d.view, d.arch->ops.arch, &d.desc, err);
	if (st == LMD_OK) {
		if (lmi_plan_model_check_status(&c, NULL) == LMD_OK)
			st = estimate(ctl, &need, &too_much);
		if (lmi_arg_flag(&ctl->args, "json"))
			print_json(&d, &c, &need);
		else
			print_text(&d, &c, &need, lmi_arg_flag(&ctl->args, "all"));
		st = st == LMD_OK ? lmi_plan_model_check_status(&c, err)
				  : lmd_fail(err, st, "%s", too_much.text);
	}
	lmi_plan_model_check_fini(&c);
	lmi_ctl_described_fini(&d);
	return lmi_ctl_name_file(st, path, err);
}

static const struct lmi_opt opts[] = {
	LMI_OPT_JSON,
	{.name = "all",
	 .type = LMI_OPT_FLAG,
	 .doc = "Also list the tensors that are used as expected."},
	LMI_CTL_OPTS_ENGINE,
	LMI_CTL_OPTS_DRAFT_MODEL,
};

const struct lmi_cli_cmd lmi_ctl_cmd_explain = {
	.name = "explain",
	.args = "FILE",
	.brief = "Compare a model file with what its architecture expects",
	.doc = "Prints what the architecture read from the keys, the memory that one sequence "
	       "needs with these options, with a draft model and a vision tower, and the tensors that are missing, have a different "
	       "shape or are not used. The exit status is 1 if the model cannot be loaded.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
