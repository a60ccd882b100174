/* SPDX-License-Identifier: MIT */
#include "daemon/http/lora_list.h"

#include <stdio.h>

#define LORA_MAX   8  /* entries with an effect */
#define LORA_BYTES 32 /* of an entry */

struct lmd_str lmi_http_read_lora(struct lmi_http_reader *r, const struct lmi_http_at *at,
				  const json_t *v)
{
	struct lmd_str none = {.ptr = "", .len = 0};
	const json_t *entry;
	size_t i, len = 0;
	uint32_t n = 0;
	char *text;

	if (!json_is_array(v)) {
		lmi_http_fail(r, at, "is not an array");
		return none;
	}
	text = lmi_http_alloc(r, LORA_MAX * LORA_BYTES, 1);
	if (!text)
		return none;
	json_array_foreach(v, i, entry)
	{
		double scale = json_number_value(json_object_get(entry, "scale"));
		const json_t *id = json_object_get(entry, "id");

		if (!json_is_integer(id) || json_integer_value(id) < 0 ||
		    json_integer_value(id) > 1999) {
			lmi_http_fail(r, at, "has an entry without an id of /lora-adapters");
			return none;
		}
		if (!(scale > 0) && !(scale < 0))
			continue;
		if (n++ == LORA_MAX) {
			lmi_http_fail(r, at, "applies more than %d adapters", LORA_MAX);
			return none;
		}
		len += (size_t)snprintf(text + len, LORA_BYTES, "%s%d:%.6g", len ? "," : "",
					(int)json_integer_value(id), scale);
	}
	return (struct lmd_str){.ptr = text, .len = len};
}
