/* SPDX-License-Identifier: MIT
 *
 * Default plugin folders. Nothing comes from the environment: somebody who can set a variable must
 * not be able to choose the code that runs. */
#include "core/plugin/dirs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/file.h"

static bool is_dir(const char *path)
{
	struct stat sb;

	return !stat(path, &sb) && S_ISDIR(sb.st_mode);
}

/* Removes the last path component; returns false if there is none. */
static bool parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = 0;
	return true;
}

static bool take(char *out[], int *n, const char *path)
{
	out[*n] = lmi_strndup(path, strlen(path));
	*n += out[*n] != NULL;
	return out[*n - (*n > 0)] != NULL;
}

int lmi_plugin_default_dirs(const char *exe, const char *plugindir,
			    char *out[LMI_PLUGIN_MAX_DEFAULT_DIRS])
{
	char top[PATH_MAX], path[PATH_MAX + 32];
	int n = 0;

	if (exe && strlen(exe) < sizeof(top)) {
		strcpy(top, exe);
		if (parent(top) && !strcmp(lmi_file_base_name(top), ".libs"))
			(void)parent(top);
		snprintf(path, sizeof(path), "%s/plugins/.libs", top);
		if (is_dir(path))
			return take(out, &n, path) ? n : -1;
		if (!strcmp(lmi_file_base_name(top), "bin") && parent(top)) {
			snprintf(path, sizeof(path), "%s/lib/llamad/plugins", top);
			if (strcmp(path, plugindir) && is_dir(path) && !take(out, &n, path))
				return -1;
		}
	}
	if (take(out, &n, plugindir))
		return n;
	while (n)
		lmi_free(out[--n]);
	return -1;
}
