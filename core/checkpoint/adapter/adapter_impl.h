/* SPDX-License-Identifier: MIT
 *
 * adapter_impl.h - shared between the adapter readers. */
#ifndef LLAMAD_CORE_CHECKPOINT_ADAPTER_ADAPTER_IMPL_H
#define LLAMAD_CORE_CHECKPOINT_ADAPTER_ADAPTER_IMPL_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/checkpoint/adapter/adapter.h"
#include "core/format/format.h"

#define LMI_ADAPTER_MAX_RANK 4096u
#define LMI_ADAPTER_BYTES    (16ull << 30) /* limit for all numbers together */

struct lmi_adapter_file {
	struct lmd_arena *arena;
	const struct lmd_model *base;
	struct lmi_adapter_pair *v; /* [n] */
	uint32_t n, cap;
	bool sizes_only; /* a and b stay NULL */
	const int32_t *invocation;
	uint32_t n_invocation;
};

/* Finds or creates the pair of a site; a new one has zeroed arrays, or sizes only.  An existing
 * pair must have the same sizes.  `what` starts the error message.  Returns NULL on error. */
struct lmi_adapter_pair *lmi_adapter_get_pair(struct lmi_adapter_file *f, const char *site,
					      uint32_t rank, uint32_t n, uint32_t k,
					      uint32_t n_slice, const char *what,
					      struct lmd_error *err);

/* The base model's tensor for a site (".weight" is appended); NULL and an error if there is
 * none. */
const struct lmd_tensor *lmi_adapter_find_base(const struct lmi_adapter_file *f, const char *site,
					       const char *what, struct lmd_error *err);
/* As lmi_adapter_find_base, for any model. */
const struct lmd_tensor *lmi_adapter_find_tensor(const struct lmd_model *m, const char *site,
						 const char *what, struct lmd_error *err);
/* The scale of a site's weight as a tensor of its own (STEM.scale: one value, or one per row or slice), or
 * NULL. Backends multiply the weight's product by it, not the adapter's. */
const struct lmd_tensor *lmi_adapter_find_scale(const struct lmd_model *m, const char *site);
/* Adds scale * B A of a pair to row `row`, counted over all slices, of its weight: v[k]. transposed: the rows
 * are those of the product's transpose: v[n]. */
void lmi_adapter_add_row(const struct lmi_adapter_pair *p, bool transposed, float scale, size_t row,
			 float *v);
/* The gain of a row, counted over all slices, of weight and adapter together: v[k]. */
float lmi_adapter_gain(const struct lmi_adapter_pair *p, size_t row, const float *v);
/* LMD_UNSUPPORTED: the gains of a pair with a magnitude cannot be computed. */
enum lmd_status lmi_adapter_check_gain(const struct lmi_adapter_pair *p, const struct lmd_model *base,
				       struct lmd_error *err);

/* Returns all values of a tensor; the caller frees them. */
enum lmd_status lmi_adapter_read_values(const struct lmi_model *m, const struct lmd_tensor *t,
					float **out, struct lmd_error *err);
enum lmd_status lmi_adapter_read_gguf(struct lmi_adapter_file *f, const char *path,
				      struct lmd_error *err);
enum lmd_status lmi_adapter_read_peft(struct lmi_adapter_file *f, const char *path,
				      struct lmi_plugin_registry *plugins, struct lmd_error *err);

#endif /* LLAMAD_CORE_CHECKPOINT_ADAPTER_ADAPTER_IMPL_H */
