/* SPDX-License-Identifier: MIT */
#include "client/llamactl/hub_opts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns a variable that is an absolute path, otherwise NULL. */
static const char *folder(const char *name)
{
	const char *v = getenv(name);

	return v && *v == '/' ? v : NULL;
}

/* Writes FOLDER/NAME; "" if there is no such file or the path is too long. */
static bool found(char out[PATH_MAX], const char *dir, const char *name)
{
	if (dir && (size_t)snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX &&
	    !access(out, R_OK))
		return true;
	*out = 0;
	return false;
}

static bool find_logins(char out[PATH_MAX])
{
	const char *given = getenv("REGISTRY_AUTH_FILE");

	if (given && *given) /* also if it cannot be read: that is an error of the user's */
		return (size_t)snprintf(out, PATH_MAX, "%s", given) < PATH_MAX;
	return found(out, folder("XDG_RUNTIME_DIR"), "containers/auth.json") ||
	       found(out, folder("DOCKER_CONFIG"), "config.json") ||
	       found(out, folder("HOME"), ".docker/config.json");
}

static bool name_upload_dir(char out[PATH_MAX])
{
	const char *cache = folder("XDG_CACHE_HOME"), *home = folder("HOME");

	if (!cache && !home)
		return false;
	return (size_t)snprintf(out, PATH_MAX, "%s%s/llamad/uploads", cache ? cache : home,
				cache ? "" : "/.cache") < PATH_MAX;
}

/* Whether a variable has one of the values that huggingface_hub takes for true. */
static bool is_set(const char *name)
{
	const char *v = getenv(name);

	return v && (!strcmp(v, "1") || !strcasecmp(v, "true") || !strcasecmp(v, "yes") ||
		     !strcasecmp(v, "on"));
}

void lmi_ctl_hub_opts(struct lmi_hub_opts *o, struct lmi_ctl_hub_paths *paths)
{
	const char *given = getenv("LLAMAD_CATALOGUE");

	*o = (struct lmi_hub_opts){.hf_url = getenv("HF_ENDPOINT"),
				   .hf_token = getenv("HF_TOKEN"),
				   .ollama_url = getenv("OLLAMA_REGISTRY"),
				   .offline = is_set("HF_HUB_OFFLINE")};
	if (given && *given)
		o->catalogue = given;
	else if (lmi_hub_default_catalogue(paths->catalogue, sizeof(paths->catalogue)))
		o->catalogue = paths->catalogue;
	if (find_logins(paths->auth_file))
		o->auth_file = paths->auth_file;
	if (name_upload_dir(paths->upload_dir))
		o->upload_dir = paths->upload_dir;
}

void lmi_ctl_hub_make_upload_dir(struct lmi_hub_opts *o)
{
	char part[PATH_MAX];

	for (size_t i = 1; o->upload_dir && o->upload_dir[i - 1]; i++) {
		if (o->upload_dir[i] && o->upload_dir[i] != '/')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)i, o->upload_dir);
		if (mkdir(part, 0700) && errno != EEXIST && access(part, F_OK)) {
			o->upload_dir = NULL;
			return;
		}
	}
}
