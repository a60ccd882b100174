/* SPDX-License-Identifier: MIT
 *
 * repack_cache.h - weights in a backend's own layout, kept in files from load to load.
 *
 * The first load of a model asks the backend for the bytes of every weight that it repacks, and writes them
 * to a file (repack_file.h). Later loads, also of other processes, map the file and give the bytes to the
 * backend, which then repacks nothing and, on a device in host memory, needs no copy.
 *
 * The name of the file depends on the model's files, the backend and its plugin's file, and on all these weights
 * and layouts. So another version of anything is another file, and a model that is divided in another way has
 * files of its own.
 *
 * Whatever goes wrong with the cache is logged, and the model is loaded as if there were none. */
#ifndef LLAMAD_CORE_ENGINE_REPACK_CACHE_H
#define LLAMAD_CORE_ENGINE_REPACK_CACHE_H

#include "core/engine/instance.h"

/* Opens the file with the weights that a device needs for a plan, or writes it. Only while the model is
 * opened, before these weights are loaded. LMD_CANCELLED: the progress callback says so; LMD_DEVICE. */
enum lmd_status lmi_engine_repack_prepare(struct lmi_inst *inst, uint32_t device,
					  const struct lmi_engine_exec *e, struct lmd_error *err);
/* Fills in what the cache has of a weight, if it has it. Returns whether it has. */
bool lmi_engine_repack_add(const struct lmi_inst *inst, uint32_t device, const struct lmd_weight_ref *ref,
			   struct lmd_weight_desc *d);
/* Unmaps all files. The devices are closed. */
void lmi_engine_repack_close(struct lmi_inst *inst);

#endif /* LLAMAD_CORE_ENGINE_REPACK_CACHE_H */
