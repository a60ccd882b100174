/* SPDX-License-Identifier: MIT
 *
 * repack_cache.h - weights in a backend's own layout, kept in files from load to load.
 *
 * The first load of a model asks the backend for the bytes of every weight that it repacks, and writes them
 * to a file (repack_file.h). Later loads, also of other processes, map the file and give the bytes to the
 * backend, which then repacks nothing and, on a device in host memory, needs no copy. The file is open before
 * the sizes of the model are chosen, so that the memory that it saves is there for a longer context.
 *
 * The name of the file depends on the model's files, the backend and its plugin's file, so that another version of
 * anything is another file. A weight in it is found by what it is made of, and used if it has the layout that the
 * backend wants. What a load lacks, because the backend repacks more weights than before or the model is divided
 * in another way, is added: a new file with the old weights and the new ones replaces the old file, or one with the
 * new ones alone, if both are more than the limit. So the file does not depend on what the backend could repack at
 * one moment, which may be a question of free memory.
 *
 * Writing a weight needs host memory for it: once for the bytes that are written, once more for the copy that a
 * backend in host memory makes, and once more in shared memory if the backend is in a process of its own. The
 * weights are written one after the other, so the largest one decides.
 *
 * Whatever goes wrong with the cache is logged, and the model is loaded as if there were none. */
#ifndef LLAMAD_CORE_ENGINE_REPACK_CACHE_H
#define LLAMAD_CORE_ENGINE_REPACK_CACHE_H

#include "core/engine/instance.h"

/* Opens the file for a device, if there is one. Only while the model is opened, without a turn on the devices:
 * all of the file is read. LMD_CANCELLED; LMD_DEVICE. */
enum lmd_status lmi_engine_repack_open(struct lmi_inst *inst, uint32_t device, struct lmd_error *err);
/* Adds to the file what it lacks of the weights that a device needs for a plan. Only while the model is
 * opened, before these weights are loaded. LMD_CANCELLED: the progress callback says so; LMD_DEVICE. */
enum lmd_status lmi_engine_repack_prepare(struct lmi_inst *inst, uint32_t device,
					  const struct lmi_engine_exec *e, struct lmd_error *err);
/* Fills in what the cache has of a weight, if it has it. Returns whether it has. */
bool lmi_engine_repack_add(const struct lmi_inst *inst, uint32_t device, const struct lmd_weight_ref *ref,
			   struct lmd_weight_desc *d);
/* Unmaps all files. The devices are closed. */
void lmi_engine_repack_close(struct lmi_inst *inst);

#endif /* LLAMAD_CORE_ENGINE_REPACK_CACHE_H */
