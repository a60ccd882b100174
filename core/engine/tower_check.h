/* SPDX-License-Identifier: MIT
 *
 * tower_check.h - whether a file that has the name of a vision tower is the tower of a model. */
#ifndef LLAMAD_CORE_ENGINE_TOWER_CHECK_H
#define LLAMAD_CORE_ENGINE_TOWER_CHECK_H

#include "llamad/model.h"
#include "llamad/status.h"

struct lmi_plugin_registry;

/* Reads the header of the file and asks the plugins of both architectures what they describe, before anything
 * is copied or sent under the name of a tower.
 *
 * path:  of the file that core/base/tower_file.h found
 * model: the language model, opened at least by its header
 * return: LMD_OK: it makes rows of the width that the model takes, or this program cannot judge that because it
 *         lacks an architecture or a projector; LMD_UNSUPPORTED: it is not a vision tower, or belongs to another
 *         model; other errors: it cannot be read, or is damaged
 *
 * Threads: any. */
LMD_NODISCARD enum lmd_status lmi_engine_tower_check(const char *path, const struct lmd_model *model,
						     struct lmi_plugin_registry *plugins, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_TOWER_CHECK_H */
