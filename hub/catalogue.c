/* SPDX-License-Identifier: MIT
 *
 * The catalogue of short names: a text file with a name and its source in a line, and comments
 * after '#'. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "hub/hub_impl.h"

#define BYTES_MAX (1u << 20)

/* The next word of a line that ends at `end`; *n is 0 if there is none. */
static const char *word(const char *p, const char *end, size_t *n)
{
	while (p < end && strchr(LMI_HUB_BLANK, *p))
		p++;
	*n = 0;
	while (p + *n < end && !strchr(LMI_HUB_BLANK, p[*n]) && p[*n] != '#')
		(*n)++;
	return p;
}

enum lmd_status lmi_hub_catalogue_find(const char **out, const char *file, const char *name,
				       struct lmd_arena *a, struct lmd_error *err)
{
	char *text;
	size_t n, n_name = strlen(name);
	unsigned line = 1;
	enum lmd_status st = lmi_file_read_all(file, BYTES_MAX, &text, &n, err);

	*out = NULL;
	if (st != LMD_OK)
		return st;
	for (const char *p = text; p < text + n && st == LMD_OK && !*out; line++) {
		const char *end = memchr(p, '\n', (size_t)(text + n - p));
		size_t n_key, n_value;
		const char *key, *value;

		end = end ? end : text + n;
		key = word(p, end, &n_key);
		value = word(key + n_key, end, &n_value);
		if (n_key && !n_value)
			st = lmd_fail(err, LMD_CORRUPT, "%s: line %u: a name without a source",
				      file, line);
		else if (n_key == n_name && !memcmp(key, name, n_key)) {
			*out = lmi_arena_strndup(a, value, n_value);
			st = *out ? LMD_OK
				  : lmd_fail(err, LMD_NOMEM, "no memory for the catalogue");
		}
		p = end + 1;
	}
	lmi_free(text);
	return st;
}

bool lmi_hub_data_file(char *path, size_t n, const char *name)
{
	static const char *const places[] = {"../share/llamad", "../hub", "../../hub"};
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[len > 0 ? len : 0] = 0;
	slash = strrchr(exe, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		int k = snprintf(path, n, "%.*s/%s/%s", (int)(slash - exe), exe, places[i], name);

		if (k > 0 && (size_t)k < n && access(path, R_OK) == 0)
			return true;
	}
	return (size_t)snprintf(path, n, "%s/%s", LMD_PKGDATADIR, name) < n &&
	       access(path, R_OK) == 0;
}

bool lmi_hub_default_catalogue(char *path, size_t n)
{
	return lmi_hub_data_file(path, n, "models.catalogue");
}
