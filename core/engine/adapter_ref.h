/* SPDX-License-Identifier: MIT
 *
 * adapter_ref.h - adapter files as configurations and command lines name them. */
#ifndef LLAMAD_CORE_ENGINE_ADAPTER_REF_H
#define LLAMAD_CORE_ENGINE_ADAPTER_REF_H

#include <sys/stat.h>

#include "core/engine/engine.h"

#define LMI_ENGINE_ADAPTER_SCALE_MAX 1e6f

/* Parses "FILE[:SCALE]".  The scale is what follows the last colon if it is a number, and defaults to
 * 1; another colon belongs to the path.  out->path is on the heap.  Returns LMD_INVALID if the scale
 * is not finite or not within +-LMI_ENGINE_ADAPTER_SCALE_MAX, or if there is no path. */
LMD_NODISCARD enum lmd_status lmi_engine_adapter_ref_parse(struct lmi_engine_adapter_ref *out,
							   const struct lmd_str *text,
							   struct lmd_error *err);

/* Looks at the file with the numbers: of a folder its adapter_model.safetensors. Zeros: it is missing. */
void lmi_engine_adapter_stat(struct stat *out, const char *path);

/* Returns a number, not 0, that changes with the files and with their scales: the device, inode, size and
 * time of change of each, of a folder those of its adapter_model.safetensors. Rows of the KV cache that
 * were computed with adapters have this number as part of their identity. Accesses the files' folders. */
uint64_t lmi_engine_adapter_key(const struct lmi_engine_adapter_ref *refs, uint32_t n);

#endif /* LLAMAD_CORE_ENGINE_ADAPTER_REF_H */
