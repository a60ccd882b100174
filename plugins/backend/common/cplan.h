/* SPDX-License-Identifier: MIT
 *
 * cplan.h - compiled plans: what those of all backends have, and how the ops of a plan ask for it
 * when they are compiled.  A backend's struct lmd_cplan begins with struct hm_cplan.
 *
 * Threads: as backend.h has it for devices; parts of a running phase only read. */
#ifndef LLAMAD_BACKEND_COMMON_CPLAN_H
#define LLAMAD_BACKEND_COMMON_CPLAN_H

#include "backend/common/hm.h"
#include "common/lora.h"

struct hm_cplan {
	const char *who; /* the backend, for refusals */
	const struct lmd_host *host;
	uint32_t n_part; /* threads of the team */
	const struct lmd_plan *plan;
	struct lmd_weight **weights;    /* [n_wref] */
	struct lmd_pool **pools;        /* [n_group]; NULL: none was given */
	const struct hm_cache **caches; /* [n_cache]; NULL: not in a given pool */
	struct lmi_lora_sites sites;    /* where adapters act */
	char **value;                   /* [n_value] row 0 of each */
	char *values;                   /* plan->scratch_bytes */
	char *shared;                   /* [shared_bytes] scratch of the running op */
	char *part;                     /* [n_part][part_bytes] the same, of one thread each */
	size_t shared_bytes, part_bytes;
};

/* n zeroed items of host memory.  NULL for n = 0 or item = 0; NULL and *failed = true if there is
 * no memory.  *failed is never set to false. */
void *hm_array(const struct lmd_host *host, size_t n, size_t item, bool *failed);

/* May this be compiled?  LMD_UNSUPPORTED for activations that are not f32, LMD_INVALID for too many
 * groups. */
enum lmd_status hm_cplan_check(const struct lmd_plan *plan, const char *who, struct lmd_error *err);

/* p is zeroed but for who, host and n_part.  Copies what c gives, finds the caches and makes
 * room for values, each where the plan has it.  After a failure p is for hm_cplan_fini. */
enum lmd_status hm_cplan_init(struct hm_cplan *p, const struct lmd_compile *c,
			      struct lmd_error *err);
/* When all ops are compiled: takes the scratch that they need. */
enum lmd_status hm_cplan_scratch(struct hm_cplan *p, struct lmd_error *err);
void hm_cplan_fini(struct hm_cplan *p);

/* ---- of one op ---- */

/* Weights that the op reads element by element become f32. */
enum lmd_status hm_flatten_operands(struct hm_build *b, const struct lmd_op *op,
				    const struct hm_opinfo *info, struct lmd_error *err);
/* Scratch for all is enough for what op number i has asked for in b. */
enum lmd_status hm_raise_scratch(struct hm_cplan *p, const struct hm_build *b, uint32_t i,
				 struct lmd_error *err);
/* LMD_INVALID when the pool of the cache was not given or is of another kind; LMD_NONE: nothing to
 * look for. */
enum lmd_status hm_need_cache(const struct hm_cplan *p, uint32_t cache, struct lmd_error *err);

/* Does the plan leave room for adapters at this site? */
static inline bool hm_lora_wanted(const struct lmd_plan *plan, uint32_t site)
{
	return site != LMD_NONE && (plan->key.flags & LMD_PLAN_LORA);
}

/* Adapters of a site, if they are wanted there, belong to a weight (LMD_NONE: nothing to do);
 * `turned`: to its transpose, so that they have a column for each of its rows. */
enum lmd_status hm_add_site(struct hm_cplan *p, uint32_t site, uint32_t wref, bool turned,
			    struct lmd_error *err);

/* ---- running ---- */

/* All but the counts of rows, which are 0. */
struct hm_run hm_running(const struct hm_cplan *p, const struct lmd_step *step,
			 const struct lmd_binding *in, uint32_t n_in);

/* Scratch of thread number `part`; NULL if no op asks for any. */
static inline char *hm_part_scratch(const struct hm_cplan *p, uint32_t part)
{
	return p->part ? p->part + (size_t)part * p->part_bytes : NULL;
}

#endif /* LLAMAD_BACKEND_COMMON_CPLAN_H */
