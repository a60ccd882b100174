/* SPDX-License-Identifier: MIT
 *
 * llamactl fit: how much of a model fits on each device, and how fast it can be at most. For a file
 * the engine's own estimate; for a well-known name, which need not be downloaded, arithmetic. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/embedded.h"
#include "client/llamactl/model_choice.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/read_rate.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/comma_list.h"
#include "core/base/printable.h"
#include "core/checkpoint/open.h"
#include "core/engine/devices.h"
#include "core/quant/quant.h"
#include "hub/shape.h"

/* Memory of a step and its results, which shapes say nothing about. */
#define WORK_BYTES (256u << 20)

/* The quantisations of the table for names; bits: per weight, scales and larger types for some
 * matrices included. */
static const struct {
	const char *name;
	double bits;
} kinds[] = {{"Q4_K_M", 4.85}, {"Q6_K", 6.56}, {"Q8_0", 8.5}, {"BF16", 16}};

struct fit {
	struct lmi_ctl *ctl;
	struct lmi_engine_device_row *devices; /* [n_device] */
	uint32_t n_device;
	double read_rate; /* of the processors, bytes per second; 0: unknown */
	json_t *rows;
};

/* ---- rows ---- */

struct row {
	const char *type;
	uint64_t weights, kv; /* kv: of a sequence of n_ctx tokens */
	uint64_t tower, draft; /* what they take of the device */
	uint64_t active;      /* bytes of weights that a token needs; 0: unknown */
	uint32_t n_ctx;       /* the longest context that fits; 0: none */
	char layers[24];      /* on the device, of all */
};

static bool is_cpu(const struct lmi_engine_device_row *d)
{
	return !strcmp(d->backend, "cpu");
}

static enum lmd_status add_row(struct fit *f, const struct lmi_engine_device_row *d,
			       const struct row *r, struct lmd_error *err)
{
	json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:s}", "quantisation", r->type,
			      "weights", (json_int_t)r->weights, "tower", (json_int_t)r->tower, "draft",
			      (json_int_t)r->draft, "kv", (json_int_t)r->kv, "device", d->name, "free",
			      (json_int_t)d->memory_free, "context", (json_int_t)r->n_ctx, "layers", r->layers);
	char text[24] = "";

	if (o && r->n_ctx && r->active && is_cpu(d) && f->read_rate > 0) {
		double v = f->read_rate / (double)r->active;

		(void)snprintf(text, sizeof(text), v < 10 ? "%.1f" : "%.0f", v);
		json_object_set_new(o, "max_tokens_per_second", json_real(v));
	}
	if (o) {
		json_object_set_new(o, "speed", json_string(text));
	}
	return o && !json_array_append_new(f->rows, o)
		       ? LMD_OK
		       : lmd_fail(err, LMD_NOMEM, "no memory for the table");
}

/* ---- a well-known name ---- */

static enum lmd_status fit_shape(struct fit *f, const struct lmi_hub_shape *s,
				 struct lmd_error *err)
{
	const char *ctx = lmi_arg_given(&f->ctl->args, "ctx-size") ? "ctx-size" : "ctx";
	uint32_t want = (uint32_t)lmi_arg_int(&f->ctl->args, ctx);
	enum lmd_status st = LMD_OK;

	for (size_t k = 0; k < LMD_LEN(kinds); k++)
		for (uint32_t i = 0; i < f->n_device && st == LMD_OK; i++) {
			const struct lmi_engine_device_row *d = &f->devices[i];
			struct row r = {
				.type = kinds[k].name,
				.weights = (uint64_t)((double)lmi_hub_shape_params(s) *
						      kinds[k].bits / 8),
				.active = (uint64_t)((double)lmi_hub_shape_active(s) *
						     kinds[k].bits / 8)};
			uint64_t need = r.weights + WORK_BYTES;

			if (d->memory_free > need)
				r.n_ctx = lmi_hub_shape_fit(s, d->memory_free - need);
			if (want && r.n_ctx)
				r.n_ctx = r.n_ctx < want ? 0 : want;
			r.kv = lmi_hub_shape_kv(s, r.n_ctx);
			if (r.n_ctx)
				(void)snprintf(r.layers, sizeof(r.layers), "%u/%u", s->n_layer,
					       s->n_layer);
			st = add_row(f, d, &r, err);
		}
	return st;
}

/* ---- a file ---- */

struct weights {
	const char *type; /* that most bytes have */
	uint64_t all, active;
};

static uint32_t count_key(const struct lmd_model *m, const char *suffix)
{
	const struct lmd_meta *v;
	char key[160];

	(void)snprintf(key, sizeof(key), "%.100s.%s", m->arch, suffix);
	v = m->find_meta(m, key);
	if (!v || (v->type != LMD_META_I64 && v->type != LMD_META_U64) || v->v.u > 1 << 20)
		return 0;
	return (uint32_t)v->v.u;
}

/* A token reads one row of the embedding, and only its experts. */
static void count_weights(const struct lmd_model *m, struct weights *w)
{
	uint64_t by_type[LMD_DTYPE_END] = {0}, embedding = 0, experts = 0;
	uint32_t n_all = count_key(m, "expert_count"), n_used = count_key(m, "expert_used_count");
	bool has_output = false;
	uint32_t most = 0;

	*w = (struct weights){0};
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];

		w->all += t->bytes;
		by_type[t->dtype] += t->bytes;
		has_output |= !strcmp(t->name, "output.weight") || !strcmp(t->name, "lm_head.weight");
		if (!strcmp(t->name, "token_embd.weight") ||
		    !strcmp(t->name, "model.embed_tokens.weight"))
			embedding = t->bytes;
		if (strstr(t->name, "_exps.") || strstr(t->name, ".experts."))
			experts += t->bytes;
	}
	for (uint32_t i = 0; i < LMD_DTYPE_END; i++)
		most = by_type[i] > by_type[most] ? i : most;
	w->type = lmi_dtype(most)->name;
	w->active = w->all - (has_output ? embedding : 0) - experts;
	if (experts && (!n_all || n_used > n_all || !n_used))
		w->active = 0;
	else if (experts)
		w->active += experts / n_all * n_used;
}

/* Layers of the model on the device itself, of all. */
static void show_layers(struct row *r, const char *device, const struct lmi_engine_placement *p)
{
	for (uint32_t i = 0; i < p->n_device; i++)
		if (!strcmp(p->devices[i].name, device) && p->devices[i].first >= 0)
			(void)snprintf(r->layers, sizeof(r->layers), "%d/%u",
				       (int)(p->devices[i].last - p->devices[i].first + 1),
				       p->n_layer);
}

/* All layers on the device, or else as many as fit. */
static enum lmd_status estimate(struct lmi_engine_opts *o,
				const struct lmi_engine_device_row *d, struct row *r,
				struct lmd_error *err)
{
	static const char *const layers[] = {"all", "auto"};
	struct lmi_engine_placement *where = lmi_alloc(1, sizeof(*where));
	enum lmd_status st = LMD_NOMEM;

	if (!where)
		return lmd_fail(err, LMD_NOMEM, "no memory for an estimate");
	o->inst.device_list = d->name;
	for (size_t i = 0; i < LMD_LEN(layers) && st == LMD_NOMEM; i++) {
		struct lmi_engine_memory m;
		struct lmd_error why = {0};

		if (i && is_cpu(d))
			break;
		o->inst.gpu_layers = is_cpu(d) ? NULL : layers[i];
		memset(where, 0, sizeof(*where));
		st = lmi_engine_estimate(&m, &r->n_ctx, where, &o->inst, &why);
		if (st == LMD_OK) {
			show_layers(r, d->name, where);
			r->kv = m.sequences;
			r->tower = m.tower;
			r->draft = m.draft;
		} else {
			r->n_ctx = 0;
			if (st != LMD_NOMEM)
				(void)lmd_fail(err, st, "%s: %s", d->name, why.text);
		}
	}
	lmi_free(where);
	return st == LMD_NOMEM ? LMD_OK : st;
}

static enum lmd_status fit_file(struct fit *f, const char *path, char title[200],
				struct lmd_error *err)
{
	char tower[PATH_MAX];
	struct lmi_engine_opts o;
	struct lmi_model *m = NULL;
	struct weights w = {0};
	enum lmd_status st = lmi_ctl_open_model(f->ctl, &m, path, LMI_OPEN_HEADER_ONLY, err);

	if (st == LMD_OK) {
		const struct lmd_model *view = lmi_model_view(m);
		char size[24], name[100];

		count_weights(view, &w);
		(void)snprintf(title, 200, "%s: %s of weights, mostly %s",
			       lmi_printable_path(name, sizeof(name), path),
			       lmi_ctl_show_size(size, sizeof(size), w.all), w.type);
		lmi_model_close(m);
		st = lmi_ctl_embedded_opts(f->ctl, path, &o, err);
	}
	if (st == LMD_OK)
		lmi_ctl_add_second_models(f->ctl, &o, tower);
	for (uint32_t i = 0; i < f->n_device && st == LMD_OK; i++) {
		struct row r = {.type = w.type, .weights = w.all, .active = w.active};

		st = estimate(&o, &f->devices[i], &r, err);
		if (st == LMD_OK)
			st = add_row(f, &f->devices[i], &r, err);
	}
	return lmi_ctl_name_file(st, path, err);
}

/* ---- the command ---- */

/* Backends for tests and comparisons, shown only if they are named. */
static bool is_for_tests(const struct lmi_engine_device_row *d)
{
	return !strcmp(d->backend, "ref") || !strcmp(d->backend, "emu") ||
	       !strcmp(d->backend, "null");
}

static bool is_wanted(const struct lmi_engine_device_row *d, const char *list, const char *backend)
{
	if (list)
		return lmi_comma_list_has(list, d->name);
	return strcmp(backend, "auto") != 0 ? !strcmp(backend, d->backend) : !is_for_tests(d);
}

/* Leaves only the devices of --device and --backend. */
static enum lmd_status choose_devices(struct fit *f, struct lmd_error *err)
{
	const char *list = lmi_arg_str(&f->ctl->args, "device");
	const char *backend = lmi_arg_str(&f->ctl->args, "backend");
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n_device; i++)
		if (is_wanted(&f->devices[i], list, backend))
			f->devices[n++] = f->devices[i];
	f->n_device = n;
	return n ? LMD_OK
		 : lmd_fail(err, LMD_NOTFOUND, "there is no device '%.100s': see `llamactl devices`",
			    list ? list : backend);
}

/* A model of the daemon or of the user's own store: the path of its first file, on the heap. */
static enum lmd_status registered_path(struct lmi_ctl *ctl, const char *name, char **own_path,
				       struct lmd_error *err)
{
	const char *path;
	json_t *reply;
	bool own;
	enum lmd_status st = lmi_ctl_models_client(ctl, &own, err);

	*own_path = NULL;
	if (st != LMD_OK)
		return st;
	st = lmi_ctl_remote_call(ctl, "models", json_pack("{s:s}", "model", name), &reply, err);
	if (st != LMD_OK)
		return st;
	path = json_string_value(
		json_object_get(json_array_get(json_object_get(reply, "models"), 0), "path"));
	if (!path)
		st = lmd_fail(err, LMD_NOTFOUND, "there is no model '%.100s'", name);
	else if (own)
		st = lmi_ctl_own_model_path(ctl, name, own_path, err);
	else if (!(*own_path = strdup(path)))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a path");
	json_decref(reply);
	return st;
}

static enum lmd_status fit_model(struct fit *f, const char *word, char title[200],
				 struct lmd_error *err)
{
	char file[4096], *own_path = NULL;
	struct lmi_hub_shape s;
	struct lmd_error none = {0};
	enum lmd_status st;

	if (lmi_ctl_is_file_argument(word))
		return fit_file(f, word, title, err);
	if (registered_path(f->ctl, word, &own_path, &none) == LMD_OK) {
		st = fit_file(f, own_path, title, err);
		free(own_path);
		return st;
	}
	free(own_path);
	if (lmi_ctl_draft_model(&f->ctl->args) || lmi_arg_given(&f->ctl->args, "mmproj"))
		return lmd_fail(err, LMD_INVALID,
				"--draft-model and --mmproj need a file or a name of `llamactl list`, which '%.100s' is "
				"not",
				word);
	if (!lmi_hub_default_shapes(file, sizeof(file)))
		return lmd_fail(err, LMD_NOTFOUND, "there is no model '%.100s': see `llamactl list`",
				word);
	st = lmi_hub_shape_find(&s, file, word, err);
	if (st == LMD_NOTFOUND)
		return lmd_fail(err, st,
				"there is no model '%.100s' here, and it is not one of the well-known "
				"names in %.200s",
				word, file);
	if (st != LMD_OK)
		return st;
	(void)snprintf(title, 200, "%s: %.1f billion parameters, %.1f of them for a token", s.name,
		       (double)lmi_hub_shape_params(&s) * 1e-9,
		       (double)lmi_hub_shape_active(&s) * 1e-9);
	return fit_shape(f, &s, err);
}

/* The speed is there as a number. */
static void print_json(const struct fit *f)
{
	json_t *o;
	size_t i;

	json_array_foreach(f->rows, i, o)
		json_object_del(o, "speed");
	lmi_ctl_remote_print(f->rows);
}

/* Has a row more than 0 in a column? */
static bool has_bytes(const struct fit *f, const char *key)
{
	bool has = false;
	json_t *o;
	size_t i;

	json_array_foreach(f->rows, i, o)
		has |= json_integer_value(json_object_get(o, key)) > 0;
	return has;
}

static void print_table(const struct fit *f, const char *title)
{
	static const struct lmi_ctl_column cols[] = {
		{"QUANTISATION", "quantisation", LMI_CTL_COL_TEXT},
		{"WEIGHTS", "weights", LMI_CTL_COL_BYTES},
		{"DEVICE", "device", LMI_CTL_COL_TEXT},
		{"FREE", "free", LMI_CTL_COL_BYTES},
		{"LAYERS", "layers", LMI_CTL_COL_TEXT},
		{"CONTEXT", "context", LMI_CTL_COL_COUNT},
		{"KV", "kv", LMI_CTL_COL_BYTES},
		{"TOWER", "tower", LMI_CTL_COL_BYTES},
		{"DRAFT", "draft", LMI_CTL_COL_BYTES},
		{"TOKENS/S AT MOST", "speed", LMI_CTL_COL_TEXT},
	};

	struct lmi_ctl_column shown[LMD_LEN(cols)];
	size_t n = 0;

	for (size_t i = 0; i < LMD_LEN(cols); i++)
		if ((strcmp(cols[i].member, "tower") != 0 && strcmp(cols[i].member, "draft") != 0) ||
		    has_bytes(f, cols[i].member))
			shown[n++] = cols[i];
	printf("%s\n\n", title);
	lmi_ctl_remote_table(f->rows, shown, n);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct fit f = {.ctl = ctl, .rows = json_array()};
	struct lmi_engine_devices *set = NULL;
	struct lmi_plugin_registry *registry;
	const struct lmd_host *host;
	char title[200] = "";
	enum lmd_status st = f.rows ? lmi_ctl_host(ctl, &host, err)
				    : lmd_fail(err, LMD_NOMEM, "no memory for the table");

	if (st == LMD_OK)
		st = lmi_ctl_registry(ctl, &registry, err);
	if (st == LMD_OK)
		st = lmi_engine_devices_create(&set, registry, host, err);
	if (st == LMD_OK)
		st = lmi_engine_devices_list(set, &f.devices, &f.n_device, err);
	if (st == LMD_OK)
		st = choose_devices(&f, err);
	if (st == LMD_OK) {
		f.read_rate = lmi_ctl_read_rate((uint32_t)lmi_arg_int(&ctl->args, "threads"));
		st = fit_model(&f, lmi_arg_pos(&ctl->args, 0), title, err);
	}
	if (st == LMD_OK && lmi_arg_flag(&ctl->args, "json"))
		print_json(&f);
	else if (st == LMD_OK)
		print_table(&f, title);
	lmi_free(f.devices);
	lmi_engine_devices_destroy(set);
	json_decref(f.rows);
	return st;
}

static const struct lmi_opt opts[] = {
	LMI_OPT_JSON,
	LMI_CTL_OPTS_ENGINE,
	LMI_CTL_OPTS_DRAFT_MODEL,
};

const struct lmi_cli_cmd lmi_ctl_cmd_fit = {
	.name = "fit",
	.args = "MODEL",
	.brief = "Show how much of a model fits on each device, and how fast it can be",
	.doc = "MODEL is a file, a name of `llamactl list`, or a well-known name such as llama3.1:8b, "
	       "which need not be downloaded. CONTEXT is the longest context that fits beside the "
	       "weights, up to the trained one or --ctx, and 0 if the model does not fit; KV is its "
	       "memory. TOWER and DRAFT are what a vision tower and a draft model take of the device, "
	       "besides mapped files. LAYERS are those that the device has; the others run on the cpu. TOKENS/S "
	       "AT MOST is the rate at which this machine reads its memory, measured now, divided by "
	       "the weights that one token needs: no program generates one sequence faster, without "
	       "speculation. For a file the figures are the engine's own estimate, for a well-known "
	       "name they come from its sizes.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
