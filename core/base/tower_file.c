/* SPDX-License-Identifier: MIT
 *
 * The rule by which a vision tower belongs to a model, for downloads, the store, the daemon and llamactl. */
#include "core/base/tower_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Folders with more entries than this are not searched to their end. */
#define MAX_ENTRIES 4096

bool lmi_tower_is_name(const char *name)
{
	size_t n = strlen(name);

	return n >= strlen("mmproj.gguf") && !strncasecmp(name, "mmproj", 6) && !strcasecmp(name + n - 5, ".gguf");
}

bool lmi_tower_beside(char *out, size_t n, const char *model)
{
	const char *base = strrchr(model, '/');
	uint32_t n_found = 0, n_seen = 0;
	const struct dirent *entry;
	char folder[PATH_MAX];
	DIR *d;

	if (base && (size_t)snprintf(out, n, "%s" LMI_TOWER_SUFFIX, model) < n && access(out, F_OK) == 0)
		return true;
	if (!base || lmi_tower_is_name(base + 1) || (size_t)(base - model) >= sizeof(folder))
		return false;
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(base - model), model);
	d = opendir(*folder ? folder : "/");
	if (!d)
		return false;
	while (n_found < 2 && n_seen++ < MAX_ENTRIES && (entry = readdir(d))) {
		if (!lmi_tower_is_name(entry->d_name))
			continue;
		n_found++;
		if ((size_t)snprintf(out, n, "%s/%s", folder, entry->d_name) >= n)
			n_found = 2;
	}
	(void)closedir(d);
	return n_found == 1;
}
