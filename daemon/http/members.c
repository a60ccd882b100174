/* SPDX-License-Identifier: MIT
 *
 * Reads the members of a body by the rows of a table.  The type, the bounds and the place of a
 * value in the request come from the tables that the codec of the protocol uses, so that they are
 * written down once. */
#include "daemon/http/members.h"

#include <math.h>
#include <string.h>

#include "core/base/printable.h"

/* ---- fields of op generate ---- */

static const struct lmi_wire_field *field_find(const char *name)
{
	const struct lmi_wire_struct *s = lmi_wire_ops[LMI_WIRE_OP_GENERATE].request;

	for (uint32_t i = 0; i < s->n_fields; i++)
		if (!strcmp(s->fields[i].name, name))
			return &s->fields[i];
	return NULL;
}

static int64_t read_int(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v, const struct lmi_wire_field *f, bool clamp)
{
	int64_t i;

	if (!clamp)
		return lmi_http_read_int(&t->r, at, v, f->u.i.min, f->u.i.max);
	i = lmi_http_read_int(&t->r, at, v, INT64_MIN, INT64_MAX);
	return i < f->u.i.min ? f->u.i.min : i > f->u.i.max ? f->u.i.max : i;
}

static double read_float(struct lmi_http_translation *t, const struct lmi_http_at *at,
			 const json_t *v, const struct lmi_wire_field *f, bool clamp)
{
	if (!clamp)
		return lmi_http_read_real(&t->r, at, v, f->u.f.min, f->u.f.max);
	return fmin(fmax(lmi_http_read_real(&t->r, at, v, -HUGE_VAL, HUGE_VAL), f->u.f.min),
		    f->u.f.max);
}

static void read_list(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v,
		      const struct lmi_wire_field *f, char *q)
{
	uint32_t n = 0;
	const void *items = NULL;

	if (f->type == LMI_WIRE_T_STRING || f->type == LMI_WIRE_T_TEXT)
		items = lmi_http_read_strs(&t->r, at, v, f->max_items, f->u.s.max, &n);
	else if (f->type == LMI_WIRE_T_BIAS)
		items = lmi_http_read_bias(&t->r, at, v, f->max_items, &n);
	else if (f->type == LMI_WIRE_T_TOKEN)
		items = lmi_http_read_tokens(&t->r, at, v, &n);
	else
		lmi_http_fail(&t->r, at, "is of a type that cannot be given here");
	memcpy(q + f->at, &items, sizeof(items));
	memcpy(q + f->n_at, &n, sizeof(n));
}

static void read_value(struct lmi_http_translation *t, const struct lmi_http_at *at,
		       const json_t *v, const struct lmi_wire_field *f, char *q, bool clamp)
{
	switch (f->type) {
	case LMI_WIRE_T_BOOL:
		*(bool *)(q + f->at) = lmi_http_read_bool(&t->r, at, v);
		break;
	case LMI_WIRE_T_INT:
		*(int64_t *)(q + f->at) = read_int(t, at, v, f, clamp);
		break;
	case LMI_WIRE_T_FLOAT:
		*(double *)(q + f->at) = read_float(t, at, v, f, clamp);
		break;
	case LMI_WIRE_T_STRING:
		*(struct lmd_str *)(q + f->at) =
			lmi_http_read_line(&t->r, at, v, f->u.s.min, f->u.s.max);
		break;
	case LMI_WIRE_T_TEXT:
	case LMI_WIRE_T_BYTES:
		*(struct lmd_str *)(q + f->at) =
			lmi_http_read_str(&t->r, at, v, f->u.s.min, f->u.s.max);
		break;
	case LMI_WIRE_T_ID:
	case LMI_WIRE_T_TOKEN:
	case LMI_WIRE_T_STATUS:
	case LMI_WIRE_T_ENUM:
	case LMI_WIRE_T_OBJECT:
	case LMI_WIRE_T_ITEM:
	case LMI_WIRE_T_CHAIN:
	case LMI_WIRE_T_BIAS:
		lmi_http_fail(&t->r, at, "is of a type that cannot be given here");
	}
}

void lmi_http_wire_read(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v, const char *field, bool clamp)
{
	const struct lmi_wire_field *f = field_find(field);
	char *q = (char *)t->q;

	if (t->r.status != LMD_OK)
		return;
	if (!f) {
		t->r.status = lmd_fail(t->r.err, LMD_INTERNAL,
				       "no field of op generate is called %s", field);
		return;
	}
	if (f->list)
		read_list(t, at, v, f, q);
	else
		read_value(t, at, v, f, q, clamp);
	if (f->presence == LMI_WIRE_OPTIONAL)
		*(bool *)(q + f->has_at) = true;
}

/* ---- rows ---- */

static bool is_empty(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return !json_object_size(v);
	case JSON_ARRAY:
		return !json_array_size(v);
	case JSON_STRING:
		return !json_string_length(v);
	case JSON_INTEGER:
		return !json_integer_value(v);
	case JSON_REAL:
		return json_real_value(v) == 0;
	case JSON_TRUE:
		return false;
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	return true;
}

static const struct lmi_http_member *find(const struct lmi_http_members *m, const char *name)
{
	for (; m; m = m->more)
		for (uint32_t i = 0; i < m->n; i++)
			if (!strcmp(m->v[i].name, name))
				return &m->v[i];
	return NULL;
}

static void refuse_unknown(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const char *text)
{
	if (!text)
		lmi_http_fail(&t->r, at, "is not a known member of this request");
	else
		lmi_http_fail(&t->r, at, "%s%.100s", text,
			      text[strlen(text) - 1] == ' ' ? at->name : "");
}

static void read_member(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v, const struct lmi_http_members *members)
{
	const struct lmi_http_member *m = find(members, at->name);

	if (!m && !members->ignore_unknown)
		refuse_unknown(t, at, members->unknown);
	if (!m || t->r.status != LMD_OK)
		return;
	if (m->wire)
		lmi_http_wire_read(t, at, v, m->wire, members->clamp);
	else if (m->read)
		m->read(t, at, v);
	else if (m->refused && !is_empty(v))
		lmi_http_fail(&t->r, at, "%s", m->refused);
}

void lmi_http_members_read(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *object, const struct lmi_http_members *members)
{
	const char *key;
	json_t *v;

	if (!lmi_http_is_object(&t->r, at, object))
		return;
	json_object_foreach((json_t *)object, key, v)
	{
		const struct lmi_http_at here = {.up = at, .name = key};

		if (!json_is_null(v))
			read_member(t, &here, v, members);
		if (t->r.status != LMD_OK)
			return;
	}
}

/* ---- translations ---- */

void lmi_http_translation_init(struct lmi_http_translation *t, struct lmi_http_generation *out,
			       struct lmd_arena *arena, struct lmd_error *err)
{
	*t = (struct lmi_http_translation){
		.r = {.arena = arena, .err = err}, .out = out, .q = &out->req.u.generate};
	*out = (struct lmi_http_generation){.n_choice = 1, .ping_ms = LMI_HTTP_PING_MS};
	lmi_wire_request_init(&out->req, LMI_WIRE_OP_GENERATE);
}

static uint64_t bytes_of(const struct lmi_wire_req_generate *q)
{
	uint64_t n = (uint64_t)q->prompt.len + q->tools.len + q->template_args.len;

	for (uint32_t i = 0; i < q->n_messages; i++)
		n += (uint64_t)q->messages[i].content.len + q->messages[i].reasoning.len +
		     q->messages[i].tool_calls.len;
	return n;
}

/* The bytes of the stream must follow from its items alone. */
static void check_durable(struct lmi_http_translation *t)
{
	static const struct lmi_http_at at = {.name = "durable"};
	const struct lmi_http_generation *g = t->out;

	if (!g->stream || !g->form || !g->form->stream_type ||
	    strcmp(g->form->stream_type, "text/event-stream") != 0)
		lmi_http_fail(&t->r, &at, "requires a stream of events: set stream to true");
	else if (g->n_choice != 1)
		lmi_http_fail(&t->r, &at, "requires one answer, not %u", g->n_choice);
	/* they are those of the process that began */
	t->q->report_settings = false;
}

enum lmd_status lmi_http_translation_end(struct lmi_http_translation *t, const char **param)
{
	struct lmi_http_reader *r = &t->r;

	if (r->status == LMD_OK && t->template_args) {
		t->q->template_args = lmi_http_read_json(r, NULL, t->template_args,
							 LMI_WIRE_LIMIT_TEMPLATE_BYTES);
		t->q->has_template_args = true;
	}
	if (r->status == LMD_OK && bytes_of(t->q) > LMI_WIRE_LIMIT_TEXT_BYTES)
		lmi_http_fail(r, NULL, "the request has %llu bytes of text, the maximum is %d",
			      (unsigned long long)bytes_of(t->q), LMI_WIRE_LIMIT_TEXT_BYTES);
	/* one session cannot have several answers */
	if (t->out->is_slot && (t->out->n_choice > 1 || !t->q->cache_prompt))
		t->q->has_session = false;
	if (r->status == LMD_OK && t->q->durable)
		check_durable(t);
	/* which probabilities makes no difference if there are none */
	t->q->sampled_probs &= t->q->has_logprobs;
	json_decref(t->template_args);
	json_decref(t->tools);
	t->template_args = t->tools = NULL;
	*param = r->param;
	return r->status;
}
