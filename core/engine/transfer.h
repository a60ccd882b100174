/* SPDX-License-Identifier: MIT
 *
 * transfer.h - a save or restore (saved.h) at work. Created on the submitting thread, then owned by
 * the engine's thread. */
#ifndef LLAMAD_CORE_ENGINE_TRANSFER_H
#define LLAMAD_CORE_ENGINE_TRANSFER_H

#include "core/engine/instance.h"
#include "core/engine/saved.h"

struct lmi_engine_transfer {
	uint64_t id;
	bool saves; /* otherwise it restores */
	bool finds; /* it only counts tokens */
	struct lmi_kv_identity identity; /* its adapter is set when it begins */
	int32_t adapter;		 /* slot; 0: none */
	uint32_t n_asked;		/* tokens to save or find at most */
	bool whole_pages;
	uint32_t n_skip; /* tokens whose pages are not copied */
	struct lmi_engine_saved *saved;
	struct lmi_kv_part *parts;	/* [n_part]; room for the most that n_asked tokens need */
	uint32_t n_part, n_done;	/* n_done: parts that were copied */
	uint64_t at;			/* bytes of those parts */
	uint64_t n_copied;		/* how many of them were not skipped */
	uint64_t ns;			/* how long that took */
	uint32_t node;			/* what lmi_kv_take_parts returned */
	struct lmi_engine_transfer *next;
};

struct lmi_engine_transfer *lmi_engine_transfer_create(uint32_t n_part);
/* t may be NULL; its parts must have been given back. */
void lmi_engine_transfer_destroy(struct lmi_engine_transfer *t);

/* Returns the bytes of a part; device: LMI_ENGINE_MAX_DEVICE means all. */
uint64_t lmi_engine_part_bytes(const struct lmi_inst *inst, const struct lmi_kv_part *part,
			       uint32_t device);
/* Returns the bytes of all parts of n tokens, and their number. */
uint64_t lmi_engine_parts_bytes(const struct lmi_inst *inst, uint32_t n, uint32_t *n_part);
/* Bounds both for all prefixes of n tokens. */
uint64_t lmi_engine_parts_max(const struct lmi_inst *inst, uint32_t n, uint32_t *n_part);

struct lmi_engine;

/* On the engine's thread: takes a new transfer; copies a piece of the oldest one, and returns whether
 * there is more to do; cancels one (id 0: all). */
void lmi_engine_transfer_begin(struct lmi_engine *e, struct lmi_engine_transfer *own_t);
bool lmi_engine_transfer_step(struct lmi_engine *e);
void lmi_engine_transfer_cancel(struct lmi_engine *e, uint64_t id);
/* Ends all with this error. */
void lmi_engine_transfer_fail(struct lmi_engine *e, const struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_TRANSFER_H */
