/* SPDX-License-Identifier: MIT
 *
 * embed.h - EMBED (llamad/op.h): rows of a table selected by token or by id. */
#ifndef LLAMAD_BACKEND_COMMON_EMBED_H
#define LLAMAD_BACKEND_COMMON_EMBED_H

#include "backend/common/compiled_plan.h"
#include "common/lora.h"

/* Adds the scratch that one part needs. */
void host_mem_embed_need(uint64_t *bytes, const struct lmd_op_embed *op);

/* Computes the rows of a part.  loras: NULL if no row has an adapter.  chained: the last token that
 * was sampled for each sequence slot (llamad/step.h); NULL if tokens are never chained. */
void host_mem_embed_run(const struct host_mem_run *r, const struct host_mem_compiled_plan *plan,
			const struct lmd_op_embed *op, const struct lora_table *loras,
			const int32_t *chained, const struct host_mem_part *p);

#endif /* LLAMAD_BACKEND_COMMON_EMBED_H */
