/* SPDX-License-Identifier: MIT
 *
 * open.h - from a path to a model, whatever its format. */
#ifndef LLAMAD_CORE_CHECKPOINT_OPEN_H
#define LLAMAD_CORE_CHECKPOINT_OPEN_H

#include "core/format/format.h"

/* Opens a model in a built-in format: a GGUF file (a split set by its first part), or a Hugging
 * Face checkpoint by its folder, its config.json or one of its *.safetensors.  On success *out owns
 * files, mappings and tables until lmi_model_close.  Symlinks are followed; devices, FIFOs and
 * other folders are rejected.  Before anything of a model is interpreted, its signature is checked
 * as the process demands it (core/sign/policy.h).  If a mapped file is truncated by another process, the thread that
 * reads its weights gets SIGBUS; the engine has the handler.  Any thread. */
enum lmd_status lmi_model_open(struct lmi_model **out, const char *path, uint32_t flags,
			       struct lmd_error *err);

/* Opens a model like lmi_model_open, in any format that the program or a plugin of the registry
 * (may be NULL) has.  The registry must outlive the model. */
enum lmd_status lmi_model_open_any(struct lmi_model **out, struct lmi_plugin_registry *plugins,
				   const char *path, uint32_t flags, struct lmd_error *err);

/* Opens a model with options, for a caller that shows progress. */
enum lmd_status lmi_model_open_with(struct lmi_model **out, const char *path,
				    const struct lmi_open_opts *opts, struct lmd_error *err);

/* How sure is the format that would open the path?  LMD_FORMAT_* (llamad/format.h); LMD_FORMAT_NO
 * also if it cannot be read.  If the built-in formats are LMD_FORMAT_SURE, plugins make no
 * difference; they are not asked about a file that must not be opened (core/sign/policy.h). */
int lmi_model_open_score(struct lmi_plugin_registry *plugins, const char *path);

#endif /* LLAMAD_CORE_CHECKPOINT_OPEN_H */
