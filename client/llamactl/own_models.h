/* SPDX-License-Identifier: MIT
 *
 * own_models.h - the models of this user without a daemon: the store that the user's own daemon
 * would use, opened by this program. */
#ifndef LLAMAD_LLAMACTL_OWN_MODELS_H
#define LLAMAD_LLAMACTL_OWN_MODELS_H

#include "client/llamactl/ctl.h"
#include "client/llamactl/hub_opts.h"

struct lmi_embedded_name;

/* Makes ctl's client one of the daemon if one answers at --socket or the default address, otherwise
 * one of a service in this process with the user's own store; *own tells which. The ops models,
 * add, rm, alias and pull work with both. */
enum lmd_status lmi_ctl_models_client(struct lmi_ctl *ctl, bool *own, struct lmd_error *err);

/* Returns whether the client is that of the user's own store. */
bool lmi_ctl_has_own_models(const struct lmi_ctl *ctl);

/* Closes that client and its store, and returns the path of a model for the embedded engine, on the
 * heap (free). A model in parts gets a folder of links in $TMPDIR, which lmi_ctl_own_models_fini
 * removes. */
enum lmd_status lmi_ctl_own_model_path(struct lmi_ctl *ctl, const char *name, char **own_path,
				       struct lmd_error *err);

/* Does the same for the embedded engine with the presets of the model; *out is valid as long as the
 * command runs. */
enum lmd_status lmi_ctl_own_model(struct lmi_ctl *ctl, const char *name,
				  struct lmi_embedded_name *out, struct lmd_error *err);

/* Returns the Modelfile of a name in that store, on the heap (free); NULL if it has none. */
char *lmi_ctl_own_modelfile(const struct lmi_ctl *ctl, const char *name);

/* Returns the folder of that store, for as long as the command runs. */
const char *lmi_ctl_own_models_dir(const struct lmi_ctl *ctl);
/* Closes that client and its store, so that another process can use it. */
void lmi_ctl_own_models_close(struct lmi_ctl *ctl);

/* Called by lmi_ctl_fini. */
void lmi_ctl_own_models_fini(struct lmi_ctl *ctl);

#endif /* LLAMAD_LLAMACTL_OWN_MODELS_H */
