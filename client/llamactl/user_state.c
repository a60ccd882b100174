/* SPDX-License-Identifier: MIT */
#include "client/llamactl/user_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SESSION_MAX 200 /* bytes of a session's name */

void lmi_ctl_user_state_path(char out[PATH_MAX], const char *name)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n = 0;

	if (state && *state == '/')
		n = snprintf(out, PATH_MAX, "%s/llamactl/%s", state, name);
	else if (home && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.local/state/llamactl/%s", home, name);
	if (n <= 0 || n >= PATH_MAX)
		*out = 0;
}

void lmi_ctl_user_state_make_folders(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = path; *path && (slash = strchr(slash + 1, '/'));) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		(void)mkdir(part, 0700);
	}
}

void lmi_ctl_user_state_session(char out[PATH_MAX], const char *session)
{
	size_t n = strlen(session);
	char name[SESSION_MAX + 32];

	*out = 0;
	if (!n || n > SESSION_MAX || *session == '.' || strchr(session, '/'))
		return;
	(void)snprintf(name, sizeof(name), "sessions/%s.json", session);
	lmi_ctl_user_state_path(out, name);
}
