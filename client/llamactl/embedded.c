/* SPDX-License-Identifier: MIT
 *
 * Builds an engine from the options, and reads its events until a command ends. */
#include "client/llamactl/embedded.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/embedded/embedded.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/default_state.h"
#include "core/base/printable.h"
#include "core/base/tower_file.h"
#include "core/engine/adapter_ref.h"
#include "core/quant/quant.h"

/* Returns the value of the option or of one of its other spellings; NULL: none was given. */
static const char *one_of(const struct lmi_args *a, const char *const names[3])
{
	for (int i = 0; i < 3; i++)
		if (lmi_arg_given(a, names[i]))
			return lmi_arg_str(a, names[i]);
	return NULL;
}

struct lmi_dtype_cache_names lmi_ctl_kv_types(const struct lmi_args *a)
{
	static const char *const k[3] = {"kv-type-k", "cache-type-k", "ctk"};
	static const char *const v[3] = {"kv-type-v", "cache-type-v", "ctv"};

	return (struct lmi_dtype_cache_names){
		.both = lmi_arg_str(a, "kv-type"), .k = one_of(a, k), .v = one_of(a, v)};
}

const char *lmi_ctl_draft_model(const struct lmi_args *a)
{
	static const char *const names[3] = {"draft-model", "model-draft", "md"};

	return one_of(a, names);
}

enum lmd_status lmi_ctl_adapter_arg(const char *what, const char *text,
				    struct lmi_engine_adapter_ref *out, struct lmd_error *err)
{
	enum lmd_status st =
		lmi_engine_adapter_ref_parse(out, &(struct lmd_str){text, strlen(text)}, err);

	if (st != LMD_OK)
		lmd_error_prefix(err, what);
	return st;
}

static enum lmd_status adapter_args(struct lmi_ctl *ctl, struct lmi_engine_model_opts *o,
				    struct lmd_error *err)
{
	static const char *const names[] = {"lora", "control-vector"};
	enum lmd_status st = LMD_OK;
	const char *const *list;
	uint32_t n = 0;

	for (size_t k = 0; k < LMD_LEN(names); k++)
		n += lmi_arg_list(&ctl->args, names[k], &list);
	if (!n)
		return LMD_OK;
	o->adapter_files = ctl->adapters;
	o->n_adapter_files = ctl->n_adapters;
	if (ctl->adapters) /* already read */
		return LMD_OK;
	ctl->adapters = lmi_alloc(n, sizeof(*ctl->adapters));
	if (!ctl->adapters)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u adapters", n);
	for (size_t k = 0; k < LMD_LEN(names); k++) {
		uint32_t m = lmi_arg_list(&ctl->args, names[k], &list);

		for (uint32_t i = 0; st == LMD_OK && i < m; i++) {
			st = lmi_ctl_adapter_arg(k ? "--control-vector" : "--lora", list[i],
						 &ctl->adapters[ctl->n_adapters], err);
			ctl->n_adapters += st == LMD_OK;
		}
	}
	o->adapter_files = ctl->adapters;
	o->n_adapter_files = ctl->n_adapters;
	return st;
}

static bool on_load(void *arg, enum lmi_engine_load_phase phase, uint64_t done, uint64_t total)
{
	static const char *const names[] = {"read", "weights"};
	struct lmi_ctl *ctl = arg;

	lmi_ctl_progress_show(&ctl->load_bar, names[phase], done, total);
	if (done >= total)
		lmi_ctl_progress_end(&ctl->load_bar);
	return !lmi_ctl_interrupted();
}

static uint32_t open_flags(const struct lmi_args *a)
{
	return (lmi_arg_flag(a, "mlock") ? LMI_OPEN_MLOCK : 0) |
	       (lmi_arg_flag(a, "no-mmap") ? LMI_OPEN_NO_MMAP : 0) |
	       (lmi_arg_flag(a, "direct-io") ? LMI_OPEN_DIRECT : 0);
}

enum lmd_status lmi_ctl_embedded_opts(struct lmi_ctl *ctl, const char *path,
				      struct lmi_engine_opts *out, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *ctx = lmi_arg_given(a, "ctx-size") ? "ctx-size" : "ctx";
	const struct lmi_dtype_cache_names types = lmi_ctl_kv_types(a);
	struct lmi_engine_model_opts *o = &out->inst;
	enum lmd_status st;

	*out = (struct lmi_engine_opts){
		.inst = {.path = path,
			 .backend = lmi_arg_str(a, "backend"),
			 .device_list = lmi_arg_str(a, "device"),
			 .gpu_layers = lmi_arg_str(
				 a, lmi_arg_given(a, "ngl") ? "ngl" : "n-gpu-layers"),
			 .split = lmi_arg_str(a, "split"),
			 .override_tensor = lmi_arg_str(a, "override-tensor"),
			 .isolated = lmi_arg_int(a, "isolation") == 2,
			 .isolate_untrusted = lmi_arg_int(a, "isolation") == 0,
			 .n_thread = (uint32_t)lmi_arg_int(a, "threads"),
			 .n_thread_batch = (uint32_t)lmi_arg_int(
				 a, lmi_arg_given(a, "tb") ? "tb" : "threads-batch"),
			 .place = {.cpus = lmi_arg_str(a, "cpus"),
				   .strict = lmi_arg_int(a, "cpu-strict"),
				   .numa = (enum lmi_cpu_numa)lmi_arg_int(a, "numa")},
			 .activations = (uint32_t)lmi_arg_int(a, "activations"),
			 .attention = (uint32_t)lmi_arg_int(a, "attention"),
			 .deterministic = (uint32_t)lmi_arg_int(a, "deterministic"),
			 .n_ctx = (uint32_t)lmi_arg_int(a, ctx),
			 .open_flags = open_flags(a),
			 .progress = on_load,
			 .progress_arg = ctl,
			 .pooling = LMD_POOL_UNSET}};
	lmi_ctl_progress_init(&ctl->load_bar);
	st = lmi_ctl_host(ctl, &o->host, err);
	if (st == LMD_OK)
		st = lmi_ctl_registry(ctl, &o->registry, err);
	if (st == LMD_OK)
		st = adapter_args(ctl, o, err);
	return st == LMD_OK ? lmi_dtype_parse_cache(&types, true, &o->k_dtype, &o->v_dtype, err)
			    : st;
}

void lmi_ctl_add_second_models(const struct lmi_ctl *ctl, struct lmi_engine_opts *o, char tower[PATH_MAX])
{
	const struct lmi_args *a = &ctl->args;
	char path[PATH_MAX];
	struct stat sb;
	bool folder = stat(o->inst.path, &sb) == 0 && S_ISDIR(sb.st_mode); /* of a checkpoint: look into it */
	int n = snprintf(path, sizeof(path), "%s%s%s", strchr(o->inst.path, '/') ? "" : "./", o->inst.path,
			 folder ? "/" : "");

	o->inst.draft_path = lmi_ctl_draft_model(a);
	if (lmi_arg_given(a, "mmproj")) {
		o->inst.mmproj_path = lmi_arg_str(a, "mmproj");
	} else if (n < PATH_MAX && lmi_tower_beside(tower, PATH_MAX, path)) {
		o->inst.mmproj_path = tower;
		o->inst.mmproj_optional = true;
	}
}

enum lmd_status lmi_ctl_name_file(enum lmd_status st, const char *path, struct lmd_error *err)
{
	char shown[124];

	if (st != LMD_OK && err && !lmi_printable_has_path(err->text, path))
		lmd_error_prefix(err, lmi_printable_path(shown, sizeof(shown), path));
	return st;
}

enum lmd_status lmi_ctl_parse_ids(const char *what, const char *text, lmd_token **out, uint32_t *n,
				  struct lmd_error *err)
{
	size_t most = 1;
	uint32_t k = 0;
	lmd_token *v;

	for (const char *p = text; *p; p++)
		most += *p == ',';
	v = most <= UINT32_MAX ? lmi_alloc(most, sizeof(*v)) : NULL;
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for %zu ids", what, most);
	for (const char *p = text;; k++) {
		size_t len = strcspn(p, ",");
		char word[24];
		int64_t id;
		enum lmd_status st = LMD_INVALID;

		if (len < sizeof(word)) {
			memcpy(word, p, len);
			word[len] = 0;
			st = lmi_cli_parse_int(what, word, &id, err);
		}
		if (st != LMD_OK || id < INT32_MIN || id > INT32_MAX) {
			lmi_free(v);
			return lmd_fail(err, LMD_INVALID, "%s: entry %u, '%.*s', is not a token "
							  "id", what, k,
					(int)(len < 40 ? len : 40), p);
		}
		v[k] = (lmd_token)id;
		if (!p[len])
			break;
		p += len + 1;
	}
	*out = v;
	*n = k + 1;
	return LMD_OK;
}

enum lmd_status lmi_ctl_embedded_drain(struct lmi_engine *e, uint64_t id, lmi_ctl_take_fn take,
				       void *arg, struct lmi_engine_event *last,
				       struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmi_engine_event ev;

	for (;;) {
		if (!lmi_engine_wait(e, &ev, -1))
			continue; /* interrupted by a signal */
		if (ev.kind == LMI_ENGINE_EV_DONE || ev.kind == LMI_ENGINE_EV_FAILED ||
		    ev.kind == LMI_ENGINE_EV_CANCELLED)
			break;
		if (take && st == LMD_OK) {
			st = take(arg, &ev, err);
			if (st != LMD_OK)
				(void)lmi_engine_cancel(e, id); /* or the command ends by itself */
		}
		lmi_engine_event_release(&ev);
	}
	if (last)
		*last = ev;
	if (st != LMD_OK)
		return st;
	if (ev.kind == LMI_ENGINE_EV_CANCELLED)
		return lmd_fail(err, LMD_CANCELLED, "cancelled");
	return ev.kind == LMI_ENGINE_EV_DONE
		       ? LMD_OK
		       : lmd_fail(err, ev.u.error.status, "%s", ev.u.error.text);
}

/* draft_path, mmproj: of a draft model and a vision tower; NULL: none */
static enum lmd_status open_client(struct lmi_ctl *ctl, const struct lmi_embedded_name *named,
				   const char *config, const char *draft_path, const char *mmproj,
				   uint32_t n_seq, struct lmd_error *err)
{
	struct lmi_engine_opts engine;
	struct lmi_embedded_opts o;
	enum lmd_status st = lmi_ctl_embedded_opts(ctl, named->path, &engine, err);

	if (st != LMD_OK)
		return st;
	o = (struct lmi_embedded_opts){.host = ctl->host,
				       .plugins = engine.inst.registry,
				       .named = *named,
				       .config = config,
				       .model = engine.inst};
	o.model.n_seq = n_seq;
	o.model.draft_path = draft_path;
	o.model.mmproj_path = mmproj;
	/* rows of logits in a step, and those of guessed tokens; 0: any */
	o.model.n_out = n_seq ? n_seq + LMI_ENGINE_DRAFT_MAX : 0;
	return lmi_embedded_open(&ctl->client, &o, err);
}

enum lmd_status lmi_ctl_open_file(struct lmi_ctl *ctl, const char *path, struct lmd_error *err)
{
	const struct lmi_embedded_name file = {.path = path};

	return open_client(ctl, &file, NULL, NULL, NULL, 0, err);
}

/* Returns the file with the sections [model NAME], or NULL.  One that this user may not read is the
 * system's daemon's. */
static const char *config_file(const struct lmi_args *a)
{
	if (lmi_arg_given(a, "config"))
		return lmi_arg_str(a, "config");
	return access(LMI_DEFAULT_CONFIG_FILE, R_OK) ? NULL : LMI_DEFAULT_CONFIG_FILE;
}

enum lmd_status lmi_ctl_load_named(struct lmi_ctl *ctl, const struct lmi_embedded_name *named,
				   struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *model = named->name ? named->name : named->path;
	enum lmd_status st =
		open_client(ctl, named, config_file(a), lmi_ctl_draft_model(a),
			    lmi_arg_given(a, "mmproj") ? lmi_arg_str(a, "mmproj") : NULL, 1, err);

	if (st != LMD_OK)
		return st;
	st = lmi_ctl_remote_job(ctl, "load", json_pack("{s:s}", "model", model), err);
	return st == LMD_CANCELLED ? st : lmi_ctl_name_file(st, named->path, err);
}

enum lmd_status lmi_ctl_load_file(struct lmi_ctl *ctl, const char *path, struct lmd_error *err)
{
	const struct lmi_embedded_name file = {.path = path};

	return lmi_ctl_load_named(ctl, &file, err);
}
