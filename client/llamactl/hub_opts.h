/* SPDX-License-Identifier: MIT
 *
 * hub_opts.h - the hub's options in a program without configuration: from the environment. */
#ifndef LLAMAD_LLAMACTL_HUB_OPTS_H
#define LLAMAD_LLAMACTL_HUB_OPTS_H

#include <limits.h>

#include "hub/hub.h"

/* The texts to which the options point. */
struct lmi_ctl_hub_paths {
	char catalogue[PATH_MAX], auth_file[PATH_MAX], upload_dir[PATH_MAX];
};

/* Sets the sources of downloads from HF_ENDPOINT, HF_TOKEN, OLLAMA_REGISTRY and LLAMAD_CATALOGUE, by
 * default the installed catalogue; the logins at registries from the first that exists of
 * REGISTRY_AUTH_FILE, $XDG_RUNTIME_DIR/containers/auth.json, $DOCKER_CONFIG/config.json and
 * ~/.docker/config.json; and the folder of uploads, $XDG_CACHE_HOME/llamad/uploads or
 * ~/.cache/llamad/uploads, which lmi_ctl_hub_make_upload_dir creates. */
void lmi_ctl_hub_opts(struct lmi_hub_opts *o, struct lmi_ctl_hub_paths *paths);

/* Creates the folder of uploads; if that fails, no upload is remembered. */
void lmi_ctl_hub_make_upload_dir(struct lmi_hub_opts *o);

#endif /* LLAMAD_LLAMACTL_HUB_OPTS_H */
