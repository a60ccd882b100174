/* SPDX-License-Identifier: MIT
 *
 * The writer of core/base/json_text.h with a stream as its destination. */
#include "client/llamactl/json_out.h"

#include <assert.h>

static bool write_to(void *arg, const char *s, size_t n)
{
	(void)fwrite(s, 1, n, arg); /* an error stays in the stream */
	return true;
}

void lmi_ctl_json_init(struct lmi_ctl_json *j, FILE *f)
{
	*j = (struct lmi_ctl_json){.f = f,
				   .text = {.flags = LMI_JSON_TEXT_LINES | LMI_JSON_TEXT_LENIENT,
					    .write = write_to,
					    .arg = f}};
}

void lmi_ctl_json_fini(struct lmi_ctl_json *j)
{
	enum lmd_status st = lmi_json_text_finish(&j->text, NULL);

	assert(st == LMD_OK);
	(void)st;
	putc('\n', j->f);
}

/* Writes the key of the next value, if it has one. */
static struct lmi_json_text *value_of(struct lmi_ctl_json *j, const char *key)
{
	if (key)
		lmi_json_text_key(&j->text, key);
	return &j->text;
}

void lmi_ctl_json_end(struct lmi_ctl_json *j)
{
	lmi_json_text_end(&j->text);
}

void lmi_ctl_json_object(struct lmi_ctl_json *j, const char *key)
{
	lmi_json_text_object(value_of(j, key));
}

void lmi_ctl_json_array(struct lmi_ctl_json *j, const char *key)
{
	lmi_json_text_array(value_of(j, key));
}

void lmi_ctl_json_flat_object(struct lmi_ctl_json *j, const char *key)
{
	lmi_json_text_flat_object(value_of(j, key));
}

void lmi_ctl_json_flat_array(struct lmi_ctl_json *j, const char *key)
{
	lmi_json_text_flat_array(value_of(j, key));
}

void lmi_ctl_json_str(struct lmi_ctl_json *j, const char *key, const char *s)
{
	lmi_json_text_str(value_of(j, key), s);
}

void lmi_ctl_json_strn(struct lmi_ctl_json *j, const char *key, const char *s, size_t n)
{
	lmi_json_text_strn(value_of(j, key), s, n);
}

void lmi_ctl_json_int(struct lmi_ctl_json *j, const char *key, int64_t v)
{
	lmi_json_text_int(value_of(j, key), v);
}

void lmi_ctl_json_uint(struct lmi_ctl_json *j, const char *key, uint64_t v)
{
	lmi_json_text_uint(value_of(j, key), v);
}

void lmi_ctl_json_f32(struct lmi_ctl_json *j, const char *key, float v)
{
	lmi_json_text_f32(value_of(j, key), v);
}

void lmi_ctl_json_f64(struct lmi_ctl_json *j, const char *key, double v)
{
	lmi_json_text_real(value_of(j, key), v);
}

void lmi_ctl_json_bool(struct lmi_ctl_json *j, const char *key, bool v)
{
	lmi_json_text_bool(value_of(j, key), v);
}

void lmi_ctl_json_null(struct lmi_ctl_json *j, const char *key)
{
	lmi_json_text_null(value_of(j, key));
}
