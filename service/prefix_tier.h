/* SPDX-License-Identifier: MIT
 *
 * prefix_tier.h - the tiers of the prefix cache below the KV pool: which prefixes are kept, and bringing
 * them back. There are two, and each can be off:
 *
 *     host memory  for models whose pages lie on a device: prefix_memory.h
 *     disk         for all models: prefix_files.h
 *
 *     restore  before a generation is queued: if the tiers have more whole pages of its prompt than the
 *              KV pool, a job reads them, from memory where it has them, and the engine takes the rows.
 *              What came from the disk is in memory then. The generation waits for that no longer than
 *              computing them would take.
 *     save     after its first token and at its end: the engine copies the pages that a tier does not
 *              have, and a job puts them into memory and onto the disk, a bounded number of bytes at a
 *              time. Nobody waits for it.
 *
 * A tier that fails, as on a full disk, does not keep the other one from saving.
 *
 * So a page that is not used leaves the device first, then memory, and then the disk. One restore and one
 * save run at a time; others wait in two queues. All functions belong to the loop's thread. */
#ifndef LLAMAD_SERVICE_PREFIX_TIER_H
#define LLAMAD_SERVICE_PREFIX_TIER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "service/prefix_files.h"
#include "service/prefix_memory.h"
#include "service/service.h"

struct lmi_svc_loaded_model;
struct lmi_svc_prefix_tier;
struct lmi_svc_prefix_work;

/* The rows of a text. */
struct lmi_svc_prefix_rows {
	struct lmi_svc_loaded_model *loaded;
	uint64_t tenant;
	int32_t adapter;
	const lmd_token *tokens; /* [n_tokens] */
	uint32_t n_tokens;
};

/* Of a service with a store; the limit of the disk may be 0, which removes the files of earlier runs. */
enum lmd_status lmi_svc_prefix_tier_create(struct lmi_service *svc, struct lmd_error *err);
/* Nothing may be queued any more. */
void lmi_svc_prefix_tier_destroy(struct lmi_service *svc);
/* Is one of the tiers on? */
bool lmi_svc_prefix_tier_is_on(const struct lmi_service *svc);
/* The limits of the service have changed. */
void lmi_svc_prefix_tier_set_limit(struct lmi_service *svc);
/* Drops what has not begun. */
void lmi_svc_prefix_tier_stop(struct lmi_service *svc, uint64_t now);
/* Returns whether something is queued or running. */
bool lmi_svc_prefix_tier_is_busy(const struct lmi_service *svc);
/* Saves nothing more of what is queued of a tenant. Then lmi_svc_prefix_tier_forget_files, on any thread,
 * removes what was saved of it. */
void lmi_svc_prefix_tier_forget(struct lmi_service *svc, uint64_t now, uint64_t tenant);
void lmi_svc_prefix_tier_forget_files(const struct lmi_service *svc, uint64_t tenant);

/* Begins to bring rows back. Returns NULL if there is nothing to wait for; otherwise `done` is called once,
 * later, unless the caller leaves. */
typedef void (*lmi_svc_prefix_done_fn)(void *arg, uint64_t now);
struct lmi_svc_prefix_work *lmi_svc_prefix_tier_restore(struct lmi_service *svc, uint64_t now,
							const struct lmi_svc_prefix_rows *rows,
							lmi_svc_prefix_done_fn done, void *arg);
/* The caller no longer waits: `done` is not called. */
void lmi_svc_prefix_tier_leave(struct lmi_svc_prefix_work *w);
/* Queues rows to be saved if they are worth it: many that the disk does not have, or `shared`: some were
 * found in the cache, so that others will follow. */
void lmi_svc_prefix_tier_save(struct lmi_service *svc, const struct lmi_svc_prefix_rows *rows,
			      bool shared);
/* Tells the log if the host-memory tier keeps nothing of a model that is ready. */
void lmi_svc_prefix_tier_ready(const struct lmi_svc_loaded_model *loaded);
/* A prompt was computed: n_row rows in so many ns. */
void lmi_svc_prefix_tier_measure(struct lmi_svc_loaded_model *loaded, uint64_t n_row, uint64_t ns);

/* Takes an event of an engine; returns false if it belongs to something else. */
bool lmi_svc_prefix_tier_event(struct lmi_service *svc, uint64_t now, struct lmi_engine_event *ev);
/* Ends waits that have become longer than computing would be. */
void lmi_svc_prefix_tier_tick(struct lmi_service *svc, uint64_t now);
uint64_t lmi_svc_prefix_tier_deadline(const struct lmi_service *svc);

struct lmi_svc_prefix_tier_stats {
	struct lmi_svc_prefix_files_stats files;
	struct lmi_svc_prefix_memory_stats memory;
	uint64_t n_restored;	    /* tokens that were brought back */
	uint64_t n_restored_memory; /* how many of them without the disk */
	uint64_t n_timed_out; /* requests for which bringing rows back takes longer than computing */
	uint64_t n_timed_out_memory; /* how many of them without the disk */
	uint64_t n_costly;    /* prompts whose copies would have taken longer than computing them again */
	uint64_t n_dropped;   /* saves that were not made because too many were waiting */
};
void lmi_svc_prefix_tier_stats(const struct lmi_service *svc, struct lmi_svc_prefix_tier_stats *out);

#endif /* LLAMAD_SERVICE_PREFIX_TIER_H */
