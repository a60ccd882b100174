/* SPDX-License-Identifier: MIT
 *
 * Finds the preset of a model and applies it to requests.  All functions but lmi_svc_preset_describe
 * run on the loop's thread, since a reload of the configuration replaces the presets. */
#include "service/preset.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/printable.h"
#include "core/quant/quant.h"
#include "proto/proto.h"
#include "service/loaded_model.h"
#include "service/preset_rows.h"
#include "service/prompt.h"
#include "service/request.h"
#include "service/service_state.h"

const struct lmi_svc_preset *lmi_svc_preset_find(const struct lmi_service *svc, const char *name,
						 size_t n)
{
	const struct lmi_svc_preset_row *row;

	for (uint32_t i = 0; i < svc->o.n_presets; i++) {
		const struct lmi_svc_preset *p = &svc->o.presets[i];

		if (strlen(p->name) == n && !memcmp(p->name, name, n))
			return p;
	}
	row = lmi_svc_preset_row_find(svc, name, n);
	return row ? &row->preset : NULL;
}

const struct lmi_svc_preset *lmi_svc_preset_of(const struct lmi_svc_loaded_model *r,
					       const struct lmd_str *asked)
{
	const struct lmi_svc_preset *p =
		asked->len ? lmi_svc_preset_find(r->svc, asked->ptr, asked->len) : NULL;
	const char *name = lmi_svc_model_record_name(r->record);

	return p ? p : lmi_svc_preset_find(r->svc, name, strlen(name));
}

void lmi_svc_preset_set_load(const struct lmi_svc_preset *p, const struct lmi_engine_model_opts *given,
			     struct lmi_svc_load *load)
{
	const struct lmi_dtype_cache_names types = {
		.both = p->kv_type, .k = p->kv_type_k, .v = p->kv_type_v};
	int32_t k_dtype, v_dtype;

	if (!load->n_ctx && !(given && given->n_ctx))
		load->n_ctx = p->n_ctx;
	if (!load->n_thread && !(given && given->n_thread))
		load->n_thread = p->n_thread;
	if (!load->n_thread_batch && !(given && given->n_thread_batch))
		load->n_thread_batch = p->n_thread_batch;
	if (!load->cpus[0] && p->cpus && !(given && given->place.cpus))
		(void)snprintf(load->cpus, sizeof(load->cpus), "%s", p->cpus);
	if (!load->isolation)
		load->isolation = (enum lmi_svc_isolation)p->isolation;
	if (!load->draft_path[0] && p->draft_model && !(given && given->draft_path))
		(void)snprintf(load->draft_path, sizeof(load->draft_path), "%s", p->draft_model);
	if (!load->mmproj_path[0] && p->mmproj && !(given && given->mmproj_path))
		(void)snprintf(load->mmproj_path, sizeof(load->mmproj_path), "%s", p->mmproj);
	if (p->draft_lookup && !(given && given->lookup_path))
		(void)snprintf(load->lookup_path, sizeof(load->lookup_path), "%s", p->draft_lookup);
	load->lookahead |= p->draft_lookahead;
	if (lmi_dtype_parse_cache(&types, false, &k_dtype, &v_dtype, NULL) != LMD_OK)
		return; /* the configuration was checked */
	if (load->k_dtype < 0 && !(given && given->k_dtype >= 0))
		load->k_dtype = k_dtype;
	if (load->v_dtype < 0 && !(given && given->v_dtype >= 0))
		load->v_dtype = v_dtype;
}

void lmi_svc_preset_sampling(const struct lmi_svc_loaded_model *r, const struct lmd_str *asked,
			     struct lmi_sampler_params *out)
{
	const struct lmi_svc_preset *p = lmi_svc_preset_of(r, asked);

	lmi_sampler_params_default(out);
	lmi_sampler_params_set(out, lmi_engine_sampling(r->engine));
	if (p)
		lmi_sampler_params_set(out, &p->sampling);
}

/* ---- system prompt and template ---- */

static bool is(const struct lmd_str *s, const char *word)
{
	return s->len == strlen(word) && !memcmp(s->ptr, word, s->len);
}

/* Returns a copy of the messages that begins with the system prompt, or NULL. */
static struct lmi_wire_chat_message *with_system(const char *system,
						 const struct lmi_wire_chat_message *v, uint32_t n,
						 struct lmd_arena *arena)
{
	struct lmi_wire_chat_message *out = lmi_arena_array(arena, n + 1, sizeof(*out));
	size_t len = strlen(system);
	const char *text = lmi_arena_strndup(arena, system, len);

	if (!out || !text)
		return NULL;
	out[0] = (struct lmi_wire_chat_message){.role = lmi_svc_str("system"),
						.content = {.ptr = text, .len = len}};
	if (n)
		memcpy(out + 1, v, n * sizeof(*out));
	return out;
}

static bool has_system(const struct lmi_wire_chat_message *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is(&v[i].role, "system") || is(&v[i].role, "developer"))
			return true;
	return false;
}

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the preset of a model");
}

static enum lmd_status set_template(const struct lmi_svc_preset *p, bool *has, struct lmd_str *out,
				    struct lmd_arena *arena, struct lmd_error *err)
{
	if (!p->template || *has)
		return LMD_OK;
	out->len = strlen(p->template);
	out->ptr = lmi_arena_strndup(arena, p->template, out->len);
	*has = true;
	return out->ptr ? LMD_OK : no_memory(err);
}

static void set_shift(const struct lmi_svc_preset *p, struct lmi_wire_req_generate *q)
{
	if (p->has_cache_reuse && !q->has_cache_reuse && !q->durable)
		q->cache_reuse = p->cache_reuse;
	if (p->has_context_shift && !q->has_context_shift)
		q->context_shift = p->context_shift;
	if (p->has_n_keep && !q->has_n_keep)
		q->n_keep = p->n_keep;
}

enum lmd_status lmi_svc_preset_apply(const struct lmi_svc_loaded_model *r,
				     struct lmi_wire_req_generate *q, struct lmd_arena *arena,
				     struct lmd_error *err)
{
	const struct lmi_svc_preset *p = lmi_svc_preset_of(r, &q->model);
	const struct lmi_svc_preset_row *row =
		q->model.len ? lmi_svc_preset_row_find(r->svc, q->model.ptr, q->model.len) : NULL;
	struct lmi_wire_chat_message user = {.role = lmi_svc_str("user"), .content = q->prompt};
	const struct lmi_wire_chat_message *v;
	uint32_t n;

	if (row && lmi_svc_preset_row_apply(row, lmi_svc_prompt_is_chat(r->engine, q), q, arena,
					    err) != LMD_OK)
		return err->status;
	if (p)
		set_shift(p, q);
	if (!p || !lmi_svc_prompt_is_chat(r->engine, q))
		return LMD_OK;
	v = q->has_messages ? q->messages : &user;
	n = q->has_messages ? q->n_messages : 1;
	if (set_template(p, &q->has_template, &q->template, arena, err) != LMD_OK)
		return err->status;
	if (!p->system || has_system(v, n))
		return LMD_OK;
	q->messages = with_system(p->system, v, n, arena);
	q->n_messages = n + 1;
	q->has_messages = true;
	q->has_prompt = false;
	q->prompt = (struct lmd_str){0};
	return q->messages ? LMD_OK : no_memory(err);
}

enum lmd_status lmi_svc_preset_apply_template(const struct lmi_svc_loaded_model *r,
					      struct lmi_wire_req_apply_template *q,
					      struct lmd_arena *arena, struct lmd_error *err)
{
	const struct lmi_svc_preset *p = lmi_svc_preset_of(r, &q->model);

	if (!p)
		return LMD_OK;
	if (set_template(p, &q->has_template, &q->template, arena, err) != LMD_OK)
		return err->status;
	if (!p->system || has_system(q->messages, q->n_messages))
		return LMD_OK;
	q->messages = with_system(p->system, q->messages, q->n_messages, arena);
	q->n_messages++;
	return q->messages ? LMD_OK : no_memory(err);
}

/* ---- op info ---- */

enum lmd_status lmi_svc_preset_describe(struct lmd_arena *arena, const struct lmd_model *m,
					struct lmi_wire_rep_info *out)
{
	struct lmi_wire_default_value *v =
		lmi_arena_array(arena, LMI_SAMPLER_N_SCALAR, sizeof(*v));
	struct lmi_sampler_scalars own;
	struct lmi_sampler_params p;

	if (!v)
		return LMD_NOMEM;
	lmi_sampler_scalars_of_model(&own, m);
	lmi_sampler_params_default(&p);
	lmi_sampler_params_set(&p, &own);
	for (uint32_t i = 0; i < LMI_SAMPLER_N_SCALAR; i++)
		v[i] = (struct lmi_wire_default_value){
			.name = lmi_svc_str(lmi_sampler_scalar_rows[i].name),
			.value = lmi_sampler_scalar_get(&p, i),
			.from = own.has[i] ? LMI_WIRE_DEFAULT_SOURCE_MODEL
					   : LMI_WIRE_DEFAULT_SOURCE_BUILTIN};
	out->defaults = v;
	out->n_defaults = LMI_SAMPLER_N_SCALAR;
	return LMD_OK;
}

void lmi_svc_preset_describe_own(const struct lmi_svc_preset *p, struct lmi_wire_rep_info *out)
{
	struct lmi_wire_default_value *v = (struct lmi_wire_default_value *)out->defaults;

	if (!p)
		return;
	for (uint32_t i = 0; i < out->n_defaults; i++) {
		if (!p->sampling.has[i])
			continue;
		v[i].value = p->sampling.value[i];
		v[i].from = LMI_WIRE_DEFAULT_SOURCE_CONFIG;
	}
	out->has_system = p->system != NULL;
	out->system = lmi_svc_str(p->system);
	if (p->template) {
		out->has_chat_template = true;
		out->chat_template = lmi_svc_str(p->template);
	}
}
