/* SPDX-License-Identifier: MIT
 *
 * Parameters of op generate under the names that llama.cpp's server gives them in generation_settings and
 * /props. */
#include <string.h>

#include "daemon/http/llamacpp/llamacpp_impl.h"

static const struct {
	const char *own, *name;
} names[] = {
	{"temp", "temperature"},
	{"typical", "typical_p"},
	{"dry_last_n", "dry_penalty_last_n"},
	{"n", "n_predict"},
};

static bool is(const struct lmd_str *s, const char *word)
{
	return s->len == strlen(word) && !memcmp(s->ptr, word, s->len);
}

void lmi_llamacpp_put_setting(struct lmi_json_text *j, struct lmd_str name, double value)
{
	const struct lmd_str own = name;

	for (size_t i = 0; i < LMD_LEN(names); i++)
		if (is(&own, names[i].own))
			name = lmi_http_str(names[i].name);
	lmi_http_json_key(j, name);
	if (is(&own, "context_shift"))
		lmi_json_text_bool(j, value != 0);
	else if (value == (double)(int64_t)value)
		lmi_json_text_int(j, (int64_t)value);
	else
		lmi_json_text_real(j, value);
}
