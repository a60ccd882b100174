/* SPDX-License-Identifier: MIT
 *
 * How bytes that are not JSON change a body that is. */
#include "tests/fuzz/json_change.h"

#include <stdbool.h>

#include "llamad/attr.h"

static json_t *other_value(uint8_t k)
{
	static const char *const values[] = {"null",
					     "true",
					     "false",
					     "-1",
					     "0",
					     "3",
					     "2147483648",
					     "1e300",
					     "0.5",
					     "\"\"",
					     "\"\\n\"",
					     "\"none\"",
					     "[]",
					     "{}",
					     "[1]",
					     "[[1,2]]",
					     "[null]",
					     "[{}]",
					     "{\"type\":\"text\",\"text\":\"a\"}",
					     "{\"type\":3}",
					     "\"auto\"",
					     "\"required\"",
					     "\"assistant\"",
					     "[\"a\",\"\"]"};

	return json_loads(values[k % LMD_LEN(values)], JSON_DECODE_ANY, NULL);
}

/* Replaces value *n of the tree, counted in the order in which they are written. */
static bool replace(json_t *v, size_t *n, uint8_t with)
{
	const char *key;
	json_t *m;
	size_t i;

	if (json_is_object(v)) {
		json_object_foreach(v, key, m)
		{
			if (!(*n)--)
				return !json_object_set_new(v, key, other_value(with));
			if (replace(m, n, with))
				return true;
		}
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, m)
		{
			if (!(*n)--)
				return !json_array_set_new(v, i, other_value(with));
			if (replace(m, n, with))
				return true;
		}
	}
	return false;
}

void fuzz_json_change(json_t *body, const uint8_t *data, size_t size)
{
	for (size_t i = 1; i + 1 < size && i < 9; i += 2) {
		size_t n = data[i] % 64;

		(void)replace(body, &n, data[i + 1]);
	}
}
