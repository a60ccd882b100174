/* SPDX-License-Identifier: MIT
 *
 * place.h - how much memory a model takes, and which context length fits: arithmetic on the
 * architecture's description, before anything is allocated. */
#ifndef LLAMAD_CORE_ENGINE_PLACE_H
#define LLAMAD_CORE_ENGINE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/arch.h"
#include "llamad/status.h"

struct lmi_place_in {
	const struct lmd_arch_desc *desc;
	uint32_t page_tokens;
	uint32_t kv_dtype;  /* enum lmd_dtype of caches that leave it open */
	uint32_t n_seq;	    /* sequences at a time */
	uint32_t n_batch;   /* rows of a step */
	uint32_t n_ctx;	    /* asked for; 0 = what the model was trained for, or what fits */
	uint64_t kv_tokens; /* tokens of all sequences together; 0 = n_seq full contexts */
	uint64_t budget;    /* bytes that the memory of sequences may take */
	/* Sequences share their memory: when kv_tokens is 0 there is room for as many full
	 * contexts at a time as half of the budget holds, and for one of them at least. */
	bool share;
};

struct lmi_place {
	uint32_t n_ctx;
	bool cut;			/* n_ctx is less than the model's because of the budget */
	uint32_t n_page[LMD_MAX_GROUP]; /* PAGED, CROSS */
	uint32_t n_slot[LMD_MAX_GROUP]; /* STATE */
	uint64_t kv_bytes;
};

/* Bytes of a page of a paged group, or of a slot of a state group, over all its caches.
 * LMD_UNSUPPORTED names a cache whose rows are no whole blocks of the type. */
enum lmd_status lmi_place_unit(const struct lmi_place_in *in, uint32_t group, uint64_t *bytes,
			       struct lmd_error *err);

/* Chooses n_ctx and the numbers of pages and slots.  LMD_NOMEM says what is needed and what
 * there is; LMD_INVALID a context that is out of range. */
enum lmd_status lmi_place(struct lmi_place *out, const struct lmi_place_in *in,
			  struct lmd_error *err);

struct lmi_memory;
/* LMD_NOMEM, with all numbers, when more is needed than there is. */
enum lmd_status lmi_memory_check(const struct lmi_memory *m, struct lmd_error *err);

/* Bytes that programs on this machine may still take (MemAvailable); 0 = unknown. */
uint64_t lmi_memory_available(void);

#endif /* LLAMAD_CORE_ENGINE_PLACE_H */
