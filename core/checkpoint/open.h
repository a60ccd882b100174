/* SPDX-License-Identifier: MIT
 *
 * open.h - from a path to a model, whatever its format. */
#ifndef LLAMAD_CORE_CHECKPOINT_OPEN_H
#define LLAMAD_CORE_CHECKPOINT_OPEN_H

#include "core/format/format.h"

/* Opens a model: a GGUF file (a split set by its first part), or a Hugging Face checkpoint by its
 * folder, its config.json or one of its *.safetensors.  On success *out owns files, mappings and
 * tables until lmi_model_close.  Symlinks are followed; devices, FIFOs and other folders are
 * rejected.  If a mapped file is truncated by another process, the thread that reads its weights
 * gets SIGBUS; the engine has the handler.  Any thread. */
enum lmd_status lmi_model_open(struct lmi_model **out, const char *path, uint32_t flags,
			       struct lmd_error *err);

/* Opens a model with options, for a caller that shows progress. */
enum lmd_status lmi_model_open_with(struct lmi_model **out, const char *path,
				    const struct lmi_open_opts *opts, struct lmd_error *err);

#endif /* LLAMAD_CORE_CHECKPOINT_OPEN_H */
