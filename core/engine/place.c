/* SPDX-License-Identifier: MIT
 *
 * Which op of a model runs on which device: reads the options, gives layers to devices, and remembers
 * where the caches are.
 *
 * The devices that were asked for share the last layers in order. Ops before the layers run with the
 * first layer unless all layers are on these devices, ops after them run with the last one. What a device
 * lacks runs on the fallback device: the one for the other layers, the cpu. */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/comma_list.h"
#include "core/engine/instance.h"
#include "core/engine/memory_plan.h"
#include "core/engine/tower.h"
#include "core/worker/worker.h"

#define MAX_LAYER    4096
#define MAX_OVERRIDE 32
/* Rather than offer fewer tokens than this (or than the model was trained for), the automatic choice
 * leaves layers on the cpu. */
#define AUTO_CTX 4096u

struct override {
	regex_t pattern;
	uint32_t device;
};

struct lmi_engine_place {
	struct lmi_inst *inst;
	uint32_t n_asked;     /* the first devices of the instance are those that were asked for */
	uint32_t fallback;    /* index of the device; LMD_NONE: not open */
	bool may_fall_back;   /* it can be opened */
	double share[LMI_ENGINE_MAX_DEVICE];
	uint32_t n_gpu_layer; /* UINT32_MAX: all */
	bool is_auto;
	struct override overrides[MAX_OVERRIDE];
	uint32_t n_override;

	uint32_t n_layer;
	uint8_t layer_device[MAX_LAYER];
	uint8_t before, after, input_device;
	uint8_t rank_device[LMI_PLAN_MAX_RANK];
	uint8_t cache_device[LMI_ENGINE_MAX_CACHE];
	bool fixed; /* caches have their places */
	struct lmi_engine_placement report;
};

/* ---- options ---- */

static enum lmd_status read_layers(struct lmi_engine_place *p, const char *text,
				   struct lmd_error *err)
{
	char *end;
	unsigned long v;

	p->n_gpu_layer = UINT32_MAX;
	if (!text || !*text || !strcmp(text, "all"))
		return LMD_OK;
	p->is_auto = !strcmp(text, "auto");
	if (p->is_auto)
		return LMD_OK;
	v = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || v > MAX_LAYER)
		return lmd_fail(err, LMD_INVALID,
				"number of layers '%.40s': a number of at most %d, all or auto",
				text, MAX_LAYER);
	p->n_gpu_layer = (uint32_t)v;
	return LMD_OK;
}

/* Does the option divide matrices, not layers? */
static bool splits_tensors(const char *text)
{
	return text && !strncmp(text, "tensor", 6) && (!text[6] || text[6] == ':');
}

enum lmd_status lmi_engine_place_ranks(const struct lmi_inst *inst,
				       const struct lmi_engine_model_opts *o, uint32_t *n,
				       struct lmd_error *err)
{
	unsigned long v = inst->n_device;
	char *end = NULL;

	*n = 1;
	if (!splits_tensors(o->split))
		return LMD_OK;
	if (o->split[6])
		v = strtoul(o->split + 7, &end, 10);
	if ((end && (*end || o->split[7] < '0' || o->split[7] > '9')) || v > LMI_PLAN_MAX_RANK ||
	    v < inst->n_device)
		return lmd_fail(err, LMD_INVALID,
				"split '%.40s': the number of parts is a number from %u, the number "
				"of devices, to %d",
				o->split, inst->n_device, LMI_PLAN_MAX_RANK);
	if (v > 1 && inst->has_adapters)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"split '%.40s': a model with adapters cannot be divided by tensors",
				o->split);
	*n = (uint32_t)v;
	return LMD_OK;
}

static enum lmd_status read_split(struct lmi_engine_place *p, const char *text,
				  struct lmd_error *err)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_asked; i++) { /* devices that are equal get equal shares */
		uint64_t bytes = p->inst->devices[i].free_bytes;

		p->share[i] = bytes == UINT64_MAX ? 1 : (double)(bytes >> 20) + 1;
	}
	for (uint32_t r = 0; r < p->inst->n_rank; r++)
		p->rank_device[r] = (uint8_t)(r * p->n_asked / p->inst->n_rank);
	if (!text || !*text || !strcmp(text, "layer") || splits_tensors(text))
		return LMD_OK;
	for (const char *at = text; *at; n++) {
		char *end;
		double v = strtod(at, &end);

		if (end == at || (*end && *end != ',') || !(v >= 0) || v > 1e6 ||
		    n == p->n_asked)
			return lmd_fail(err, LMD_INVALID,
					"split '%.60s': tensor, or %u numbers from 0 to 1000000, "
					"separated by commas",
					text, p->n_asked);
		p->share[n] = v;
		sum += v;
		at = end + (*end == ',');
	}
	return n == p->n_asked && sum > 0
		       ? LMD_OK
		       : lmd_fail(err, LMD_INVALID,
				  "split '%.60s': %u numbers are needed, one for each device, that "
				  "are not all 0",
				  text, p->n_asked);
}

static enum lmd_status read_override(struct lmi_engine_place *p, const char *at, size_t n,
				     struct lmd_error *err)
{
	struct override *o = &p->overrides[p->n_override];
	const char *eq = memchr(at, '=', n);
	char backend[48], pattern[256];
	uint32_t index;
	enum lmd_status st;

	if (p->n_override == MAX_OVERRIDE)
		return lmd_fail(err, LMD_INVALID, "more than %d overrides", MAX_OVERRIDE);
	for (const char *c = eq; c && c < at + n; c++)
		if (*c == '=')
			eq = c; /* the last one */
	if (!eq || eq == at || (size_t)(eq - at) >= sizeof(pattern))
		return lmd_fail(err, LMD_INVALID, "override '%.*s' is not REGEX=DEVICE",
				(int)(n < 80 ? n : 80), at);
	(void)snprintf(pattern, sizeof(pattern), "%.*s", (int)(eq - at), at);
	st = lmi_engine_device_parse(eq + 1, n - (size_t)(eq + 1 - at), backend, sizeof(backend),
				     &index, err);
	if (st == LMD_OK)
		st = lmi_inst_add_device(p->inst, backend, index, &o->device, err);
	if (st != LMD_OK)
		return st;
	if (regcomp(&o->pattern, pattern, REG_EXTENDED | REG_NOSUB))
		return lmd_fail(err, LMD_INVALID,
				"override: '%.80s' is not an extended regular expression", pattern);
	p->n_override++;
	return LMD_OK;
}

static enum lmd_status read_overrides(struct lmi_engine_place *p, const char *text,
				      struct lmd_error *err)
{
	const char *rest = lmi_comma_list_begin(text);
	enum lmd_status st = LMD_OK;
	struct lmd_str word;

	while (st == LMD_OK && lmi_comma_list_next(&rest, &word))
		st = word.len ? read_override(p, word.ptr, word.len, err) : LMD_OK;
	return st;
}

/* Opens the fallback device: the first one in host memory that was asked for, or the cpu. */
static enum lmd_status open_fallback(struct lmi_engine_place *p, struct lmd_error *err)
{
	static const char *const names[] = {"cpu", "ref"};
	struct lmi_inst *inst = p->inst;
	uint32_t device;
	enum lmd_status st = LMD_NOTFOUND;

	p->may_fall_back = false;
	for (uint32_t i = 0; i < inst->n_device; i++) {
		if (!lmi_inst_device_in_host_memory(&inst->devices[i]) || p->n_asked == 1)
			continue;
		p->fallback = i;
		return LMD_OK;
	}
	for (size_t i = 0; st == LMD_NOTFOUND && i < LMD_LEN(names); i++)
		st = lmi_inst_add_device(inst, names[i], 0, &device, err);
	if (st == LMD_OK)
		p->fallback = device;
	return st;
}

enum lmd_status lmi_engine_place_create(struct lmi_inst *inst,
					const struct lmi_engine_model_opts *o,
					struct lmd_error *err)
{
	struct lmi_engine_place *p = lmi_alloc(1, sizeof(*p));
	enum lmd_status st;

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "no memory for the placement of a model");
	inst->place = p;
	p->inst = inst;
	p->n_asked = inst->n_device;
	p->fallback = LMD_NONE;
	p->may_fall_back = true;
	memset(p->cache_device, LMI_PLAN_ANYWHERE, sizeof(p->cache_device));
	p->input_device = LMI_PLAN_ANYWHERE;
	st = read_layers(p, o->gpu_layers, err);
	if (st == LMD_OK)
		st = read_split(p, o->split, err);
	if (st == LMD_OK)
		st = read_overrides(p, o->override_tensor, err);
	/* layers stay on the cpu */
	if (st == LMD_OK && (p->is_auto || p->n_gpu_layer != UINT32_MAX) &&
	    !lmi_inst_device_in_host_memory(&inst->devices[0]))
		st = open_fallback(p, err);
	return st;
}

void lmi_engine_place_destroy(struct lmi_engine_place *p)
{
	for (uint32_t i = 0; p && i < p->n_override; i++)
		regfree(&p->overrides[i].pattern);
	lmi_free(p);
}

bool lmi_engine_place_add_fallback(struct lmi_inst *inst)
{
	struct lmi_engine_place *p = inst->place;
	uint32_t before = inst->n_device;

	if (!p->may_fall_back)
		return false;
	if (open_fallback(p, NULL) != LMD_OK)
		return false;
	return inst->n_device > before || p->fallback != LMD_NONE;
}

/* ---- layers ---- */

/* Gives the last n layers to the devices that were asked for, and the others to the fallback. */
static void give_layers(struct lmi_engine_place *p, uint32_t n)
{
	uint32_t rest = n < p->n_layer && p->fallback != LMD_NONE ? p->n_layer - n : 0;
	double sum = 0;

	for (uint32_t i = 0; i < p->n_asked; i++)
		sum += p->share[i];
	for (uint32_t l = 0; l < p->n_layer; l++) {
		double at = (l - rest + 0.5) / (p->n_layer - rest) * sum, end = 0;
		uint32_t d = 0;

		if (l < rest) {
			p->layer_device[l] = (uint8_t)p->fallback;
			continue;
		}
		for (end = p->share[0]; d + 1 < p->n_asked && at >= end; end += p->share[d])
			d++;
		p->layer_device[l] = (uint8_t)d;
	}
	p->before = rest ? (uint8_t)p->fallback : p->n_layer ? p->layer_device[0] : 0;
	p->after = rest == p->n_layer && rest ? (uint8_t)p->fallback
		   : p->n_layer		      ? p->layer_device[p->n_layer - 1]
					      : 0;
}

/* Counts the layers of the plan that most requests use; 0 if there is no such plan. */
static enum lmd_status count_layers(const struct lmi_inst *inst, uint32_t *n_layer,
				    struct lmd_error *err)
{
	struct lmi_plan_params p = {.host = inst->host,
				    .model = inst->model,
				    .target = inst->target ? inst->target->model : NULL,
				    .arch = inst->arch->ops.arch,
				    .desc = &inst->desc,
				    .key = lmi_inst_main_key(inst),
				    .act_dtype = inst->devices[0].info->act_dtype,
				    .k_dtype = inst->k_dtype,
				    .v_dtype = inst->v_dtype,
				    .n_rank = inst->n_rank};
	struct lmi_plan *plan;
	enum lmd_status st;
	int32_t n = 0;

	*n_layer = 0;
	p.max_rows[LMD_SPACE_TOKENS] = p.max_rows[LMD_SPACE_OUTPUTS] =
		p.max_rows[LMD_SPACE_SEQS] = 1;
	for (uint32_t i = 0; i < inst->desc.n_x && i < LMD_MAX_X; i++)
		p.max_rows[LMD_SPACE_X0 + i] = 1;
	st = lmi_plan_build(&plan, &p, err);
	if (st != LMD_OK)
		return st == LMD_NOMEM || inst->n_rank > 1 ? st : LMD_OK;
	for (uint32_t i = 0; i < lmi_plan_view(plan)->n_op; i++)
		if (lmi_plan_view(plan)->ops[i].layer >= n)
			n = lmi_plan_view(plan)->ops[i].layer + 1;
	lmi_plan_destroy(plan);
	*n_layer = n < MAX_LAYER ? (uint32_t)n : MAX_LAYER;
	return LMD_OK;
}

static enum lmd_status try_layers(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				  uint32_t n, struct lmd_error *err)
{
	give_layers(inst->place, n);
	return lmi_inst_fit(inst, o, err);
}

/* Does the placement leave room for as long a context as one should get? */
static bool is_roomy(const struct lmi_inst *inst)
{
	uint32_t want = inst->desc.n_ctx_train;

	want = want && want < AUTO_CTX ? want : AUTO_CTX;
	if (inst->max_ctx && inst->max_ctx < want)
		want = inst->max_ctx;
	return !inst->sizes->cut || inst->sizes->n_ctx >= want;
}

/* Finds the largest number of layers that fit. */
static enum lmd_status choose_most(struct lmi_inst *inst, const struct lmi_engine_model_opts *o,
				   struct lmd_error *err)
{
	uint32_t lo = 0, hi = inst->place->n_layer + 1;
	enum lmd_status st = try_layers(inst, o, inst->place->n_layer, err);

	if ((st == LMD_OK && is_roomy(inst)) || (st != LMD_OK && st != LMD_NOMEM))
		return st;
	hi--;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		st = try_layers(inst, o, mid, err);
		if (st != LMD_OK && st != LMD_NOMEM)
			return st;
		*(st == LMD_OK && is_roomy(inst) ? &lo : &hi) = mid;
	}
	return try_layers(inst, o, lo, err);
}

enum lmd_status lmi_engine_place_choose(struct lmi_inst *inst,
					const struct lmi_engine_model_opts *o,
					struct lmd_error *err)
{
	struct lmi_engine_place *p = inst->place;
	enum lmd_status st;

	if (inst->desc.n_cache > LMI_ENGINE_MAX_CACHE)
		return lmd_fail(err, LMD_UNSUPPORTED, "%u caches exceed the limit of %d",
				inst->desc.n_cache, LMI_ENGINE_MAX_CACHE);
	p->fixed = false;
	st = count_layers(inst, &p->n_layer, err);
	if (st != LMD_OK)
		return st;
	st = p->is_auto && p->fallback != LMD_NONE ? choose_most(inst, o, err)
						   : try_layers(inst, o, p->n_gpu_layer, err);
	for (uint32_t i = 0; i < inst->desc.n_cache && st == LMD_OK; i++)
		if (p->cache_device[i] == LMI_PLAN_ANYWHERE)
			p->cache_device[i] = p->after; /* the plan does not use it */
	p->fixed = st == LMD_OK;
	return st;
}

/* ---- plans ---- */

static bool supports(void *arg, uint32_t device, const struct lmd_plan *plan,
		     const struct lmd_op *op, char *reason, size_t n)
{
	const struct lmi_engine_place *p = arg;
	const struct lmi_inst_device *d = &p->inst->devices[device];
	struct lmd_support s = {.struct_size = sizeof(s)};

	d->ops->op_support(d->state, plan, op, &s);
	if (n)
		(void)snprintf(reason, n, "%.95s", s.reason);
	return s.native != 0;
}

static bool supports_first(void *arg, const struct lmd_plan *plan, const struct lmd_op *op,
			   char *reason, size_t n)
{
	return supports(arg, 0, plan, op, reason, n);
}

static bool matches(const struct override *o, const struct lmd_plan *plan, const struct lmd_op *op)
{
	const struct lmi_plan_op_info *info = lmi_plan_op_info(op->code);

	for (uint32_t i = 0; i < info->n_fields; i++) {
		const struct lmi_plan_field *f = &info->fields[i];

		for (uint32_t j = 0; j < f->count; j++) {
			const void *at = lmi_plan_field_get(f, op, j);
			uint32_t id = LMD_NONE;

			if (f->kind == LMI_PLAN_FIELD_WEIGHT_REF)
				id = *(const uint32_t *)at;
			else if (f->kind == LMI_PLAN_FIELD_IN &&
				 ((const struct lmd_operand *)at)->src == LMD_SRC_WEIGHT)
				id = ((const struct lmd_operand *)at)->id;
			if (id != LMD_NONE &&
			    !regexec(&o->pattern, plan->weight_refs[id].name, 0, NULL, 0))
				return true;
		}
	}
	return false;
}

static bool override(void *arg, const struct lmd_plan *plan, const struct lmd_op *op,
		     uint32_t *device)
{
	const struct lmi_engine_place *p = arg;

	for (uint32_t i = 0; i < p->n_override; i++) {
		if (!matches(&p->overrides[i], plan, op))
			continue;
		*device = p->overrides[i].device;
		return true;
	}
	return false;
}

/* Counts an op that runs elsewhere, with others of the same reason. */
static void moved(void *arg, const struct lmd_op *op, uint32_t from, uint32_t to,
		  const char *reason)
{
	struct lmi_engine_place *p = arg;
	const char *name = lmi_plan_op_info(op->code)->name;
	struct lmi_engine_moved *m = p->report.moved;
	uint32_t i;

	if (p->fixed) /* the report is about the plan that most requests use */
		return;
	for (i = 0; i < p->report.n_moved; i++)
		if (m[i].from == from && m[i].to == to && !strcmp(m[i].op, name) &&
		    !strcmp(m[i].reason, reason))
			break;
	if (i == LMI_ENGINE_MAX_MOVED)
		return;
	if (i == p->report.n_moved) {
		p->report.n_moved++;
		m[i] = (struct lmi_engine_moved){.from = from, .to = to};
		(void)snprintf(m[i].op, sizeof(m[i].op), "%s", name);
		(void)snprintf(m[i].reason, sizeof(m[i].reason), "%.95s", reason);
	}
	m[i].n++;
}

enum lmd_status lmi_engine_place_plan(struct lmi_inst *inst, struct lmi_plan *plan,
				      uint8_t **device_of, struct lmd_error *err)
{
	struct lmi_engine_place *p = inst->place;
	const struct lmi_plan_placement in = {
		.n_device = inst->n_device,
		.fallback = p->fallback == LMD_NONE ? inst->n_device : p->fallback,
		.n_layer = p->n_layer,
		.layer_device = p->layer_device,
		.rank_device = inst->n_rank > 1 ? p->rank_device : NULL,
		.before = p->before,
		.after = p->after,
		.cache_device = p->cache_device,
		.input_device = &p->input_device,
		.support = supports,
		.override = p->n_override ? override : NULL,
		.moved = moved,
		.arg = p,
	};
	enum lmd_status st;

	lmi_inst_hold(inst);
	st = inst->n_device == 1 ? lmi_plan_lower(plan, supports_first, p, err)
				 : lmi_plan_place(plan, &in, device_of, err);
	lmi_inst_let_go(inst);
	return st;
}

uint32_t lmi_engine_place_cache(const struct lmi_inst *inst, uint32_t cache)
{
	uint32_t d = inst->place->cache_device[cache];

	return inst->n_device == 1 ? 0 : d == LMI_PLAN_ANYWHERE ? inst->place->after : d;
}

uint32_t lmi_engine_place_input(const struct lmi_inst *inst)
{
	uint32_t d = inst->place->input_device;

	return inst->n_device == 1 || d == LMI_PLAN_ANYWHERE ? 0 : d;
}

/* ---- report ---- */

void lmi_engine_place_begin(struct lmi_inst *inst)
{
	struct lmi_engine_place *p = inst->place;

	if (p->fixed)
		return;
	memset(p->cache_device, LMI_PLAN_ANYWHERE, sizeof(p->cache_device));
	p->input_device = LMI_PLAN_ANYWHERE;
	p->report = (struct lmi_engine_placement){0};
}

/* Adds the ops of a segment to what its device has. */
static void count_ops(struct lmi_engine_device_share *s, const struct lmd_plan *plan)
{
	for (uint32_t i = 0; i < plan->n_op; i++) {
		int32_t layer = plan->ops[i].layer;

		s->n_op++;
		if (layer < 0)
			continue;
		s->first = s->first < 0 || layer < s->first ? layer : s->first;
		s->last = layer > s->last ? layer : s->last;
	}
}

void lmi_engine_place_end(struct lmi_inst *inst, const struct lmi_engine_exec *e)
{
	struct lmi_engine_placement *r = &inst->place->report;

	r->n_layer = inst->place->n_layer;
	r->n_segment = e->n_segment;
	for (uint32_t i = 0; i < LMI_ENGINE_MAX_DEVICE; i++)
		r->devices[i].first = r->devices[i].last = -1;
	for (uint32_t i = 0; i < e->n_segment; i++)
		count_ops(&r->devices[e->segments[i].device], e->segments[i].view);
}

/* Fills in what an instance has of its devices. */
static void report_devices(const struct lmi_inst *inst, struct lmi_engine_device_share *out)
{
	for (uint32_t i = 0; i < inst->n_device; i++) {
		const struct lmi_inst_device *d = &inst->devices[i];

		(void)snprintf(out[i].name, sizeof(out[i].name), "%s", d->name);
		out[i].memory = d->estimate;
		out[i].opening = d->open->number;
		out[i].pid = d->open->isolated ? lmi_worker_pid(d->state) : 0;
	}
}

void lmi_engine_place_report(const struct lmi_inst *inst, struct lmi_engine_placement *out)
{
	const struct lmi_inst *tower = inst->tower ? lmi_engine_tower_inst(inst->tower) : NULL;

	*out = inst->place->report;
	out->n_device = inst->n_device;
	report_devices(inst, out->devices);
	out->n_tower = tower ? tower->n_device : 0;
	if (tower)
		report_devices(tower, out->tower);
	if (inst->samples)
		(void)snprintf(out->sampling, sizeof(out->sampling), "%.55s",
			       inst->devices[inst->sampler].name);
	else if (inst->n_slot > 1)
		(void)snprintf(out->no_sampling, sizeof(out->no_sampling), "%.111s",
			       inst->no_tail.text);
}
