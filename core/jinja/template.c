/* SPDX-License-Identifier: MIT
 *
 * The public functions: parsing, rendering, and the memory of both. */
#include "core/jinja/template.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/jinja/eval.h"
#include "core/jinja/origin_marks.h"

/* Enough for the tokens and nodes of the longest template. */
#define PARSE_BYTES (1ull << 30)
/* Maximum nesting of JSON. */
#define JSON_DEPTH  512

static const struct lmi_jinja_limits defaults = {
	.steps = 20 * 1000 * 1000,
	.memory_bytes = 256ull << 20,
	.output_bytes = 64ull << 20,
	.depth = 1000,
};

/* Input */

static enum lmd_status from_json(const json_t *j, struct lmd_arena *arena,
				 struct lmi_jinja_value *out, uint32_t depth,
				 struct lmd_error *err);

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "template variables take too much memory");
}

static bool copy_text(const char *s, size_t n, struct lmd_arena *arena, struct lmd_str *out)
{
	out->ptr = lmi_arena_strndup(arena, s, n);
	out->len = n;
	return out->ptr != NULL;
}

static enum lmd_status list_from_json(const json_t *j, struct lmd_arena *arena,
				      struct lmi_jinja_value *out, uint32_t depth,
				      struct lmd_error *err)
{
	size_t n = json_array_size(j);
	struct lmi_jinja_value *items = n ? lmi_arena_array(arena, n, sizeof(*items)) : NULL;
	enum lmd_status st = LMD_OK;

	if (n && (!items || n > UINT32_MAX))
		return no_memory(err);
	for (size_t i = 0; i < n && st == LMD_OK; i++)
		st = from_json(json_array_get(j, i), arena, &items[i], depth + 1, err);
	out->kind = LMI_JINJA_T_LIST;
	out->n = (uint32_t)n;
	out->u.items = items;
	return st;
}

static enum lmd_status dict_from_json(const json_t *j, struct lmd_arena *arena,
				      struct lmi_jinja_value *out, uint32_t depth,
				      struct lmd_error *err)
{
	size_t n = json_object_size(j), i = 0;
	struct lmi_jinja_member *m = n ? lmi_arena_array(arena, n, sizeof(*m)) : NULL;
	enum lmd_status st = LMD_OK;
	const char *key;
	json_t *value;

	if (n && (!m || n > UINT32_MAX))
		return no_memory(err);
	/* json_object_foreach takes a non-const json_t but does not modify it */
	json_object_foreach((json_t *)(uintptr_t)j, key, value)
	{
		if (!copy_text(key, strlen(key), arena, &m[i].key))
			return no_memory(err);
		st = from_json(value, arena, &m[i++].value, depth + 1, err);
		if (st != LMD_OK)
			return st;
	}
	out->kind = LMI_JINJA_T_DICT;
	out->n = (uint32_t)i;
	out->u.members = m;
	return LMD_OK;
}

static enum lmd_status from_json(const json_t *j, struct lmd_arena *arena,
				 struct lmi_jinja_value *out, uint32_t depth, struct lmd_error *err)
{
	if (depth > JSON_DEPTH)
		return lmd_fail(err, LMD_INVALID,
				"template variables are nested deeper than %d levels", JSON_DEPTH);
	*out = (struct lmi_jinja_value){.kind = LMI_JINJA_T_NONE};
	switch (json_typeof(j)) {
	case JSON_NULL:
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		out->kind = LMI_JINJA_T_BOOL;
		out->u.b = json_is_true(j);
		break;
	case JSON_INTEGER:
		out->kind = LMI_JINJA_T_INT;
		out->u.i = json_integer_value(j);
		break;
	case JSON_REAL:
		out->kind = LMI_JINJA_T_FLOAT;
		out->u.f = json_real_value(j);
		break;
	case JSON_STRING:
		out->kind = LMI_JINJA_T_STR;
		if (!copy_text(json_string_value(j), json_string_length(j), arena, &out->u.s))
			return no_memory(err);
		break;
	case JSON_ARRAY:
		return list_from_json(j, arena, out, depth, err);
	case JSON_OBJECT:
		return dict_from_json(j, arena, out, depth, err);
	}
	return LMD_OK;
}

enum lmd_status lmi_jinja_tvalue_from_json(const json_t *json, struct lmd_arena *arena,
					   struct lmi_jinja_value *out, struct lmd_error *err)
{
	return from_json(json, arena, out, 0, err);
}

/* Templates */

enum lmd_status lmi_jinja_parse(struct lmi_jinja **out, const char *text, size_t bytes,
				struct lmd_error *err)
{
	struct lmi_jinja *t;
	enum lmd_status st;

	if (bytes > LMI_JINJA_MAX)
		return lmd_fail(err, LMD_INVALID, "template: has %zu bytes, at most %u are allowed",
				bytes, LMI_JINJA_MAX);
	t = lmi_alloc(1, sizeof(*t));
	if (t)
		t->arena = lmi_arena_create(PARSE_BYTES);
	if (!t || !t->arena) {
		lmi_free(t);
		return lmd_fail(err, LMD_NOMEM, "template: out of memory");
	}
	st = lmi_jinja_nodes(t, text, bytes, err);
	if (st != LMD_OK) {
		lmi_jinja_destroy(t);
		return st;
	}
	*out = t;
	return LMD_OK;
}

void lmi_jinja_destroy(struct lmi_jinja *t)
{
	if (!t)
		return;
	lmi_arena_destroy(t->arena);
	lmi_free(t);
}

/* Rendering */

static void run_template(struct lmi_jinja_run *run, const struct lmi_jinja *t,
			 const struct lmi_jinja_input *in)
{
	run->vars = lmi_jinja_dict_new(run).u.dict;
	for (uint32_t i = 0; i < in->n_vars && !run->failed; i++) {
		struct lmi_jinja_val d = lmi_jinja_val_import(run, &in->vars[i]);

		if (d.kind != LMI_JINJA_V_DICT) {
			lmi_jinja_run_fail(run, "the variables are not a dictionary");
			break;
		}
		for (uint32_t k = 0; k < d.u.dict->n; k++)
			lmi_jinja_dict_set(run, run->vars, d.u.dict->e[k].key,
					   d.u.dict->e[k].value);
	}
	run->globals = lmi_jinja_scope_new(run, NULL);
	if (run->globals)
		(void)lmi_jinja_run_exec(run, &t->body,
					 run->globals); /* there is no enclosing loop */
}

static enum lmd_status report(const struct lmi_jinja_run *run, struct lmi_jinja_output *out,
			      struct lmd_error *err)
{
	const struct lmi_jinja_failure *f = &run->failure;

	if (!f->raised)
		return lmd_fail(err, f->status, "template line %u: %.400s", f->line, f->text);
	out->raised = lmi_strndup(f->raised, f->raised_bytes);
	out->raised_bytes = out->raised ? f->raised_bytes : 0;
	return lmd_fail(err, LMD_INVALID, "%.*s",
			(int)(f->raised_bytes < LMD_ERROR_TEXT ? f->raised_bytes : LMD_ERROR_TEXT),
			f->raised);
}

static uint64_t limit(uint64_t asked, uint64_t def)
{
	return asked ? asked : def;
}

enum lmd_status lmi_jinja_render(const struct lmi_jinja *t, const struct lmi_jinja_input *in,
				 struct lmi_jinja_output *out, struct lmd_error *err)
{
	struct lmi_jinja_run *run;
	enum lmd_status st = LMD_OK;

	*out = (struct lmi_jinja_output){0};
	run = lmi_alloc(1, sizeof(*run));
	if (!run)
		return lmd_fail(err, LMD_NOMEM, "template: out of memory");
	run->limits.steps = limit(in->limits.steps, defaults.steps);
	run->limits.memory_bytes = limit(in->limits.memory_bytes, defaults.memory_bytes);
	run->limits.output_bytes = limit(in->limits.output_bytes, defaults.output_bytes);
	run->limits.depth = (uint32_t)limit(in->limits.depth, defaults.depth);
	run->now = in->now;
	/* each byte of a value has a mark that says where it came from */
	run->arena = lmi_arena_create(run->limits.memory_bytes * (in->want_origins ? 2 : 1));
	run->marks = in->want_origins ? lmi_jinja_marks_create() : NULL;
	if (!run->arena || (in->want_origins && !run->marks)) {
		lmi_arena_destroy(run->arena);
		lmi_jinja_marks_destroy(run->marks);
		lmi_free(run);
		return lmd_fail(err, LMD_NOMEM, "template: out of memory");
	}
	run_template(run, t, in);
	lmi_jinja_run_write(run, "", 0); /* makes room for the terminating NUL */
	if (run->failed) {
		st = report(run, out, err);
		lmi_free(run->out);
	} else {
		run->out[run->n_out] = '\0';
		out->text = run->out;
		out->bytes = run->n_out;
		out->origins = lmi_jinja_marks_take_output(run->marks);
	}
	lmi_jinja_marks_destroy(run->marks);
	lmi_arena_destroy(run->arena);
	lmi_free(run);
	return st;
}

void lmi_jinja_output_fini(struct lmi_jinja_output *out)
{
	lmi_free(out->text);
	lmi_free(out->origins);
	lmi_free(out->raised);
	*out = (struct lmi_jinja_output){0};
}
