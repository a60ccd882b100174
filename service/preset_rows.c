/* SPDX-License-Identifier: MIT
 *
 * From the text of a Modelfile to the values of requests. */
#include "service/preset_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/printable.h"
#include "proto/proto.h"
#include "service/request.h"
#include "service/service_state.h"

/* ---- parameters ---- */

/* Names of Ollama whose name is another here. */
static const char *own_name(const char *name)
{
	return !strcmp(name, "temperature") ? "temp"
	       : !strcmp(name, "typical_p") ? "typical"
					    : name;
}

/* Parameters without effect: how a model is loaded is up to op load, and a seed belongs to a
 * request. */
static bool is_ignored(const char *name)
{
	static const char *const names[] = {
		"num_ctx",  "num_batch", "num_gpu",    "main_gpu", "num_thread",
		"use_mmap", "use_mlock", "low_vram",   "f16_kv",   "numa",
		"vocab_only", "logits_all", "tfs_z",   "penalize_newline",
		"seed",	    "draft_num_predict"};

	for (size_t i = 0; i < LMD_LEN(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static enum lmd_status add_stop(struct lmi_svc_preset_row *r,
				const struct lmi_store_modelfile_param *p, struct lmd_error *err)
{
	size_t n = strlen(p->value);

	if (!n || n > LMI_WIRE_LIMIT_STOP_BYTES)
		return lmd_fail(err, LMD_INVALID, "line %u: stop has %zu bytes, allowed are 1 to %d",
				p->line, n, LMI_WIRE_LIMIT_STOP_BYTES);
	if (r->n_stop == LMI_WIRE_LIMIT_STOPS)
		return lmd_fail(err, LMD_INVALID, "line %u: there are more than %d stop sequences",
				p->line, LMI_WIRE_LIMIT_STOPS);
	r->stop[r->n_stop++] = (struct lmd_str){.ptr = p->value, .len = n};
	return LMD_OK;
}

/* Reads a word of a row about shifting the context; false: it is about something else. */
static bool set_shift(struct lmi_svc_preset_row *r, const struct lmi_store_modelfile_param *p,
		      enum lmd_status *st, struct lmd_error *err)
{
	bool on = !strcmp(p->value, "true");
	char *end, shown[48];

	*st = LMD_OK;
	lmi_printable(shown, sizeof(shown), p->value, strlen(p->value));
	if (!strcmp(p->name, "context_shift")) {
		if (!on && strcmp(p->value, "false") != 0)
			*st = lmd_fail(err, LMD_INVALID, "line %u: context_shift: '%s' is neither true nor "
							 "false", p->line, shown);
		r->preset.has_context_shift = true;
		r->preset.context_shift = on;
		return true;
	}
	if (strcmp(p->name, "num_keep") != 0)
		return false;
	r->preset.has_n_keep = true;
	r->preset.n_keep = strtoll(p->value, &end, 10);
	if (!*p->value || *end || r->preset.n_keep < -1 || r->preset.n_keep > LMI_WIRE_LIMIT_TOKENS)
		*st = lmd_fail(err, LMD_INVALID, "line %u: num_keep: '%s' is not a whole number "
						 "from -1 to %d",
			       p->line, shown, LMI_WIRE_LIMIT_TOKENS);
	return true;
}

static enum lmd_status set_number(struct lmi_svc_preset_row *r,
				  const struct lmi_store_modelfile_param *p, struct lmd_error *err)
{
	int k = lmi_sampler_scalar_find(own_name(p->name));
	bool length = !strcmp(p->name, "num_predict"), whole = length;
	double min = -2, max = LMI_WIRE_LIMIT_OUTPUT_MAX, x;
	char *end, shown[48];

	if (!length && k < 0)
		return lmd_fail(err, LMD_INVALID, "line %u: there is no parameter '%s'", p->line,
				lmi_printable(shown, sizeof(shown), p->name, strlen(p->name)));
	if (!length) {
		min = lmi_sampler_scalar_rows[k].min;
		max = lmi_sampler_scalar_rows[k].max;
		whole = lmi_sampler_scalar_rows[k].type == LMD_PARAM_INT;
	}
	x = strtod(p->value, &end);
	lmi_printable(shown, sizeof(shown), p->value, strlen(p->value));
	if (!*p->value || *end || !(x >= min && x <= max))
		return lmd_fail(err, LMD_INVALID, "line %u: %.40s: '%s' is not a number from %.10g to %.10g",
				p->line, p->name, shown, min, max);
	if (whole && x != (double)(int64_t)x)
		return lmd_fail(err, LMD_INVALID, "line %u: %.40s: '%s' is not a whole number",
				p->line, p->name, shown);
	if (length) {
		r->has_n = true;
		r->n = x < 0 ? -1 : (int64_t)x;
	} else {
		r->preset.sampling.has[k] = true;
		r->preset.sampling.value[k] = x;
	}
	return LMD_OK;
}

static enum lmd_status set_parameters(struct lmi_svc_preset_row *r, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	r->stop = lmi_arena_array(r->file.arena, LMI_WIRE_LIMIT_STOPS, sizeof(*r->stop));
	if (!r->stop)
		return lmd_fail(err, LMD_NOMEM, "no memory for a preset");
	for (uint32_t i = 0; i < r->file.n_params && st == LMD_OK; i++) {
		const struct lmi_store_modelfile_param *p = &r->file.params[i];

		if (!strcmp(p->name, "stop"))
			st = add_stop(r, p, err);
		else if (!set_shift(r, p, &st, err) && !is_ignored(p->name))
			st = set_number(r, p, err);
	}
	return st;
}

/* ---- rows ---- */

static void row_destroy(struct lmi_svc_preset_row *r)
{
	lmi_store_modelfile_fini(&r->file);
	lmi_free(r->text);
	lmi_free(r);
}

void lmi_svc_preset_rows_destroy(struct lmi_svc_preset_row *list)
{
	while (list) {
		struct lmi_svc_preset_row *r = list;

		list = r->next;
		row_destroy(r);
	}
}

/* Ollama's templates are written in another language: the model's own applies. */
static bool is_go_template(const char *text)
{
	return strstr(text, "{{ .") || strstr(text, "{{.") || strstr(text, "{{- .") ||
	       strstr(text, "{{ if") || strstr(text, "{{- if") || strstr(text, "{{ range") ||
	       strstr(text, "{{- range");
}

enum lmd_status lmi_svc_preset_row_create(struct lmi_svc_preset_row **out, const char *name,
					  const char *text, size_t n, struct lmd_error *err)
{
	struct lmi_svc_preset_row *r = lmi_alloc(1, sizeof(*r));
	char shown[160];
	enum lmd_status st;

	if (!r)
		return lmd_fail(err, LMD_NOMEM, "no memory for a preset");
	(void)strncpy(r->name, name, sizeof(r->name) - 1);
	r->text = lmi_strndup(text, n);
	st = r->text ? lmi_store_modelfile_parse(&r->file, text, n, err)
		     : lmd_fail(err, LMD_NOMEM, "no memory for a preset");
	if (st == LMD_OK && r->file.adapter && *r->file.adapter != '/')
		st = lmd_fail(err, LMD_INVALID, "ADAPTER: '%s' is not an absolute path",
			      lmi_printable_path(shown, sizeof(shown), r->file.adapter));
	if (st == LMD_OK)
		st = set_parameters(r, err);
	if (st != LMD_OK) {
		row_destroy(r);
		return st;
	}
	r->preset.name = r->name;
	r->preset.adapter_file = r->file.adapter;
	r->preset.system = r->file.system && *r->file.system ? r->file.system : NULL;
	if (r->file.template && *r->file.template && !is_go_template(r->file.template))
		r->preset.template = r->file.template;
	*out = r;
	return LMD_OK;
}

enum lmd_status lmi_svc_preset_rows_read(struct lmi_svc_preset_row **out,
					 const struct lmi_service *svc, struct lmd_error *err)
{
	struct lmi_svc_preset_row *list = NULL, *r;
	struct lmi_store_presets p = {0};
	enum lmd_status st = lmi_store_preset_list(svc->o.store, &p, err);
	struct lmd_error bad;

	for (uint32_t i = 0; i < p.n && st == LMD_OK; i++) {
		st = lmi_svc_preset_row_create(&r, p.v[i].name, p.v[i].text, strlen(p.v[i].text),
					       &bad);
		if (st == LMD_OK) {
			r->next = list;
			list = r;
		} else if (st == LMD_NOMEM) {
			st = lmd_fail(err, LMD_NOMEM, "no memory for the presets of the registry");
		} else {
			svc->o.host->log(svc->o.host->ctx, "service", LMD_LOG_WARN,
					 "the Modelfile of '%s' is not used: %s", p.v[i].name, bad.text);
			st = LMD_OK;
		}
	}
	lmi_store_presets_fini(&p);
	if (st == LMD_OK)
		*out = list;
	else
		lmi_svc_preset_rows_destroy(list);
	return st;
}

/* ---- the list ---- */

void lmi_svc_preset_rows_put(struct lmi_service *svc, struct lmi_svc_preset_row *own_row)
{
	struct lmi_svc_preset_row **at = &svc->preset_rows, *old;

	while (*at && strcmp((*at)->name, own_row->name) != 0)
		at = &(*at)->next;
	old = *at;
	if (old) {
		*at = old->next;
		row_destroy(old);
	}
	own_row->next = svc->preset_rows;
	svc->preset_rows = own_row;
}

void lmi_svc_preset_rows_replace(struct lmi_service *svc, struct lmi_svc_preset_row *own_list)
{
	lmi_svc_preset_rows_destroy(svc->preset_rows);
	svc->preset_rows = own_list;
}

const struct lmi_svc_preset_row *lmi_svc_preset_row_find(const struct lmi_service *svc,
							 const char *name, size_t n)
{
	for (const struct lmi_svc_preset_row *r = svc->preset_rows; r; r = r->next)
		if (strlen(r->name) == n && !memcmp(r->name, name, n))
			return r;
	return NULL;
}

/* ---- requests ---- */

static bool copy_str(struct lmd_str *out, const char *text, size_t n, struct lmd_arena *arena)
{
	*out = (struct lmd_str){.ptr = lmi_arena_strndup(arena, text, n), .len = n};
	return out->ptr != NULL;
}

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the preset of a model");
}

static enum lmd_status set_stops(const struct lmi_svc_preset_row *row,
				 struct lmi_wire_req_generate *q, struct lmd_arena *arena,
				 struct lmd_error *err)
{
	struct lmd_str *v = lmi_arena_array(arena, row->n_stop, sizeof(*v));

	for (uint32_t i = 0; v && i < row->n_stop; i++)
		if (!copy_str(&v[i], row->stop[i].ptr, row->stop[i].len, arena))
			v = NULL;
	if (!v)
		return no_memory(err);
	q->stop = v;
	q->n_stop = row->n_stop;
	return LMD_OK;
}

static bool is_system(const struct lmd_str *role)
{
	return (role->len == 6 && !memcmp(role->ptr, "system", 6)) ||
	       (role->len == 9 && !memcmp(role->ptr, "developer", 9));
}

/* Puts the messages of the preset before those of the request, or before its prompt. */
static enum lmd_status add_messages(const struct lmi_svc_preset_row *row,
				    struct lmi_wire_req_generate *q, struct lmd_arena *arena,
				    struct lmd_error *err)
{
	const struct lmi_wire_chat_message user = {.role = lmi_svc_str("user"), .content = q->prompt};
	const struct lmi_wire_chat_message *own = q->has_messages ? q->messages : &user;
	uint32_t n_own = q->has_messages ? q->n_messages : 1, n = row->file.n_messages;
	struct lmi_wire_chat_message *v = lmi_arena_array(arena, n + n_own, sizeof(*v));
	uint32_t first = n_own && is_system(&own[0].role); /* a system prompt stays the first */

	if (!v)
		return no_memory(err);
	memcpy(v, own, first * sizeof(*v));
	for (uint32_t i = 0; i < n; i++) {
		const struct lmi_store_modelfile_message *m = &row->file.messages[i];

		if (!copy_str(&v[first + i].role, m->role, strlen(m->role), arena) ||
		    !copy_str(&v[first + i].content, m->content, strlen(m->content), arena))
			return no_memory(err);
	}
	memcpy(v + first + n, own + first, (n_own - first) * sizeof(*v));
	q->messages = v;
	q->n_messages = n + n_own;
	q->has_messages = true;
	q->has_prompt = false;
	q->prompt = (struct lmd_str){0};
	return LMD_OK;
}

enum lmd_status lmi_svc_preset_row_apply(const struct lmi_svc_preset_row *row, bool is_chat,
					 struct lmi_wire_req_generate *q, struct lmd_arena *arena,
					 struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (row->has_n && (!q->has_n || q->n < 0)) { /* -1: the request has no limit of its own */
		q->has_n = true;
		q->n = row->n;
	}
	if (row->n_stop && !q->n_stop)
		st = set_stops(row, q, arena, err);
	if (st == LMD_OK && is_chat && row->file.n_messages)
		st = add_messages(row, q, arena, err);
	return st;
}
