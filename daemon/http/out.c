/* SPDX-License-Identifier: MIT
 *
 * The output of forms: JSON values framed as events or lines.  An event is appended as a whole or
 * not at all. */
#include <string.h>

#include "core/base/alloc.h"
#include "daemon/http/generation.h"

static bool reserve(struct lmi_http_out *o, size_t n)
{
	size_t cap = o->cap ? o->cap : 1024;
	char *p;

	if (o->failed)
		return false;
	if (n < o->cap - o->n)
		return true;
	while (cap - o->n <= n)
		cap *= 2;
	p = lmi_realloc(o->text, cap, 1);
	if (!p) {
		o->failed = true;
		return false;
	}
	o->text = p;
	o->cap = cap;
	return true;
}

static void append(struct lmi_http_out *o, const char *s, size_t n)
{
	memcpy(o->text + o->n, s, n);
	o->n += n;
}

/* Ends the JSON value, and begins the next one in the same memory. */
static void put_json(struct lmi_http_out *o, const char *before, const char *event,
		     const char *after)
{
	struct lmi_json_text *j = &o->json;
	size_t n_event = event ? strlen("event: \n") + strlen(event) : 0;

	if (lmi_json_text_finish(j, NULL) != LMD_OK)
		o->failed = true;
	if (reserve(o, n_event + strlen(before) + j->bytes + strlen(after))) {
		if (event) {
			append(o, "event: ", 7);
			append(o, event, strlen(event));
			append(o, "\n", 1);
		}
		append(o, before, strlen(before));
		append(o, j->text, j->bytes);
		append(o, after, strlen(after));
	}
	j->bytes = 0;
	j->depth = 0;
	j->objects = 0;
	j->started = j->key_set = false;
	j->status = LMD_OK;
}

void lmi_http_out_event(struct lmi_http_out *o, const char *event)
{
	put_json(o, "data: ", event, "\n\n");
}

void lmi_http_out_line(struct lmi_http_out *o)
{
	put_json(o, "", NULL, "\n");
}

void lmi_http_out_raw(struct lmi_http_out *o, const char *s)
{
	if (reserve(o, strlen(s)))
		append(o, s, strlen(s));
}

void lmi_http_out_fini(struct lmi_http_out *o)
{
	lmi_json_text_fini(&o->json);
	lmi_free(o->text);
	*o = (struct lmi_http_out){0};
}
