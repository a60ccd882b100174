/* SPDX-License-Identifier: MIT
 *
 * memory_plan.h - computes how much memory a model takes and which context length fits, from the
 * architecture's description, before anything is allocated. */
#ifndef LLAMAD_CORE_ENGINE_MEMORY_PLAN_H
#define LLAMAD_CORE_ENGINE_MEMORY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/arch.h"
#include "llamad/status.h"

#define LMI_ENGINE_MEMORY_PLAN_DEVICES 8

struct lmi_engine_memory_plan_in {
	const struct lmd_arch_desc *desc;
	uint32_t page_tokens;
	/* enum lmd_dtype of keys and values, for caches that do not specify one */
	uint32_t k_dtype, v_dtype;
	uint32_t n_seq;	    /* sequences at a time */
	uint32_t n_batch;   /* rows of a step */
	uint32_t n_ctx;	    /* requested; 0 = what the model was trained for, or what fits */
	uint32_t max_ctx;   /* limit of what is chosen if n_ctx is 0; 0 = none */
	uint64_t kv_tokens; /* tokens of all sequences together; 0 = n_seq full contexts */
	uint64_t budget;    /* limit in bytes for the memory of sequences */
	/* several devices: limit of each one, and where each cache is; NULL: one device */
	const uint64_t *budgets;
	const uint8_t *cache_device; /* [desc->n_cache] */
	uint32_t n_device;
	/* Sequences share their memory: if kv_tokens is 0, it holds as many full contexts as fit in
	 * half of the budget, and at least one. */
	bool share;
};

struct lmi_engine_memory_plan {
	uint32_t n_ctx;
	bool cut;			/* n_ctx is less than the model's because of the budget */
	uint32_t n_page[LMD_MAX_GROUP]; /* PAGED, CROSS */
	uint32_t n_slot[LMD_MAX_GROUP]; /* STATE */
	uint64_t kv_bytes;
	uint64_t device_bytes[LMI_ENGINE_MEMORY_PLAN_DEVICES]; /* of each device */
};

/* Returns the bytes of a page of a paged group, or of a slot of a state group, over all its caches.
 * LMD_UNSUPPORTED names a cache whose rows are not whole blocks of the type. */
enum lmd_status lmi_engine_memory_plan_unit(const struct lmi_engine_memory_plan_in *in,
					    uint32_t group, uint64_t *bytes, struct lmd_error *err);

/* Chooses n_ctx and the numbers of pages and slots. LMD_NOMEM: the message has the needed and the
 * available memory; LMD_INVALID: a context length that is out of range. */
enum lmd_status lmi_engine_memory_plan_make(struct lmi_engine_memory_plan *out,
					    const struct lmi_engine_memory_plan_in *in,
					    struct lmd_error *err);

struct lmi_engine_memory;
/* Fails with LMD_NOMEM and all numbers if more is needed than available. device: its name, which the
 * message has if there are several. */
enum lmd_status lmi_engine_memory_check(const struct lmi_engine_memory *m, const char *device,
					uint32_t n_device, struct lmd_error *err);

/* Returns how many bytes programs on this machine may still allocate (MemAvailable); 0 =
 * unknown. */
uint64_t lmi_engine_memory_available(void);
/* Returns the memory of this machine in bytes; 0 = unknown. */
uint64_t lmi_engine_memory_total(void);

#endif /* LLAMAD_CORE_ENGINE_MEMORY_PLAN_H */
