/* SPDX-License-Identifier: MIT
 *
 * Settings in environment variables. */
#include "backend/common/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHOWN 80 /* characters of a word in a message */

/* Reads decimal digits that end at `end`; false if there are none, others, or too many. */
static bool read_number(const char *at, const char *end, uint64_t most, uint64_t *out)
{
	char *stop;

	if (at == end || *at < '0' || *at > '9')
		return false;
	errno = 0;
	*out = strtoull(at, &stop, 10);
	return stop == end && !errno && *out <= most;
}

static enum lmd_status read_word(const char *backend, const char *variable, const char *word,
				 size_t n_char, struct host_mem_setting *s, size_t n,
				 struct lmd_error *err)
{
	int shown = (int)(n_char < MOST_SHOWN ? n_char : MOST_SHOWN);

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(s[i].name);
		uint64_t v;

		if (n_char <= len || strncmp(word, s[i].name, len) || word[len] != '=')
			continue;
		if (!read_number(word + len + 1, word + n_char, s[i].most, &v))
			return lmd_fail(err, LMD_INVALID,
					"%s: %s: '%.*s': not a number of at most %llu", backend,
					variable, shown, word, (unsigned long long)s[i].most);
		s[i].value = v;
		return LMD_OK;
	}
	return lmd_fail(err, LMD_INVALID, "%s: %s: there is no setting '%.*s'", backend, variable,
			shown, word);
}

enum lmd_status host_mem_settings_read(const char *backend, const char *variable,
				       struct host_mem_setting *s, size_t n, struct lmd_error *err)
{
	const char *at = getenv(variable);
	enum lmd_status st = LMD_OK;

	while (st == LMD_OK && at && *at) {
		size_t n_char = strcspn(at, ",");

		if (n_char)
			st = read_word(backend, variable, at, n_char, s, n, err);
		at += n_char + (at[n_char] == ',');
	}
	return st;
}
