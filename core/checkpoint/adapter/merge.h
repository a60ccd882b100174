/* SPDX-License-Identifier: MIT
 *
 * merge.h - writes a model with adapters merged into its weights as one GGUF file. */
#ifndef LLAMAD_CORE_CHECKPOINT_ADAPTER_MERGE_H
#define LLAMAD_CORE_CHECKPOINT_ADAPTER_MERGE_H

#include "core/checkpoint/adapter/adapter.h"
#include "core/format/format.h"
#include "core/format/gguf/write.h"

/* Weights that an adapter changes are decoded and added to; everything else is copied. */
struct lmi_adapter_merge {
	const struct lmi_model *model; /* LMI_OPEN_HEADER_ONLY suffices */
	struct lmi_adapter_file *const *adapters; /* [n], opened for this model */
	const float *scales;			  /* [n], times the adapters' own */
	uint32_t n;
	int32_t type; /* enum lmd_dtype of changed weights; -1: keep float types, otherwise f16 */
	lmi_gguf_progress_fn progress; /* may be NULL */
	void *arg;
};

/* Number of weights that would change. */
uint32_t lmi_adapter_merge_count(const struct lmi_adapter_merge *m);
/* Writes the file.  Returns LMD_UNSUPPORTED for a control vector, an adapter that is active only
 * after certain tokens, DoRA of a weight with a scale of its own, such a scale that is 0, or a type without an
 * encoder. */
enum lmd_status lmi_adapter_merge_write(const struct lmi_adapter_merge *m, const char *path,
					struct lmd_error *err);

#endif /* LLAMAD_CORE_CHECKPOINT_ADAPTER_MERGE_H */
