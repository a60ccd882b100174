/* SPDX-License-Identifier: MIT
 *
 * inner.h - what the readers of adapters share. */
#ifndef LLAMAD_CORE_FORMAT_ADAPTER_INNER_H
#define LLAMAD_CORE_FORMAT_ADAPTER_INNER_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/format/adapter/adapter.h"

#define LMI_ADAPTER_MAX_RANK 4096u
#define LMI_ADAPTER_BYTES    (16ull << 30) /* of all numbers */

struct lmi_adapter_file {
	struct lmd_arena *arena;
	const struct lmd_model *base;
	struct lmi_adapter_pair *v; /* [n] */
	uint32_t n, cap;
	bool sizes_only; /* no numbers */
	const int32_t *invocation;
	uint32_t n_invocation;
};

/* The pair of a site, made when it is new: zeros of these sizes, or sizes alone.  A pair that is
 * there must have them.  `what` begins sentences.  NULL with a sentence. */
struct lmi_adapter_pair *lmi_adapter_place(struct lmi_adapter_file *f, const char *site,
					   uint32_t rank, uint32_t n, uint32_t k, uint32_t n_slice,
					   const char *what, struct lmd_error *err);

/* The base's tensor of a site (".weight" is added); NULL with a sentence. */
const struct lmd_tensor *lmi_adapter_base(const struct lmi_adapter_file *f, const char *site,
					  const char *what, struct lmd_error *err);

enum lmd_status lmi_adapter_read_gguf(struct lmi_adapter_file *f, const char *path,
				      struct lmd_error *err);
enum lmd_status lmi_adapter_read_peft(struct lmi_adapter_file *f, const char *path,
				      struct lmd_error *err);

#endif /* LLAMAD_CORE_FORMAT_ADAPTER_INNER_H */
