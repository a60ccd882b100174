/* SPDX-License-Identifier: MIT
 *
 * prefix_tier_impl.h - the state of the tiers, shared by their files: prefix_tier.c (queues), prefix_parts.c
 * (names of pages, reading and writing) and prefix_tier_life.c (start, limits, end). */
#ifndef LLAMAD_SERVICE_PREFIX_TIER_IMPL_H
#define LLAMAD_SERVICE_PREFIX_TIER_IMPL_H

#include "core/base/jobs.h"
#include "core/engine/saved.h"
#include "service/prefix_tier.h"

/* A link of a chain: what names a page. */
typedef uint8_t lmi_svc_prefix_link[LMI_SHA256_BYTES];

struct lmi_svc_prefix_work {
	struct lmi_svc_prefix_work *next;
	struct lmi_service *svc;
	struct lmi_svc_loaded_model *loaded; /* held */
	bool saves;
	bool in_memory, on_disk; /* the tiers that it uses */
	uint64_t tenant;
	int32_t adapter; /* its slot is held while the work is queued */
	lmd_token *tokens; /* [n_page * page_tokens] */
	lmi_svc_prefix_link *chain; /* [n_page] */
	uint32_t n_page, page_tokens;
	uint32_t n_skip; /* pages that are in the KV pool, or in all tiers if it saves */
	uint32_t n_end;	 /* pages up to the end of the current piece */
	/* for a restore */
	lmi_svc_prefix_done_fn done; /* NULL: nobody waits */
	void *arg;
	uint64_t deadline_ns, begun_ns;
	uint64_t n_bytes, n_disk_bytes; /* that are copied; how many of them are read from the disk */
	uint32_t n_disk_page; /* pages of which something was read there */
	/* at work */
	uint64_t command; /* of the engine; 0: none */
	bool begun, finds, job_runs;
	bool forgotten; /* its tenant is removed meanwhile */
	struct lmi_job job;
	struct lmi_engine_saved *saved;
	struct lmd_error err;
	struct lmd_error disk_err; /* of a save: why the disk takes nothing more of it */
};

struct lmi_svc_prefix_tier {
	struct lmi_svc_prefix_files *files;
	struct lmi_svc_prefix_memory *memory;
	struct lmi_svc_prefix_work *restores, *saves; /* the first one runs */
	uint32_t n_save;
	uint64_t ns_per_mib; /* of reading files; 0: not measured */
	uint64_t disk_paused_until; /* the disk has failed: saves leave it out until then */
	struct lmi_svc_prefix_tier_stats stats;
	struct lmi_job scan; /* reads which files there are */
	bool scans, scanned; /* without `scanned` the disk tier is off */
	struct lmi_job trim; /* removes pages when a limit was lowered */
	bool trims, trims_again;
};

/* ---- prefix_parts.c; any thread ---- */

/* Computes the links of all pages. */
bool lmi_svc_prefix_make_chain(struct lmi_svc_prefix_work *w);
/* Returns with how many pages a restore could end, at most n: a tier has each of their parts; for a save:
 * all its tiers have. */
uint32_t lmi_svc_prefix_n_kept(const struct lmi_svc_prefix_work *w, uint32_t n);
/* Sets which bytes of a restore would be copied, and which of them come from the disk. Returns false if
 * out of memory. */
bool lmi_svc_prefix_count_bytes(struct lmi_svc_prefix_work *w);
/* Reads or writes the parts of a struct lmi_svc_prefix_work; its job. */
void lmi_svc_prefix_run(void *arg);

/* ---- prefix_tier_life.c ---- */

/* Is the disk tier on? Are the files of earlier runs known? */
bool lmi_svc_prefix_disk_is_on(const struct lmi_service *svc);
/* Stops reading which files there are. */
void lmi_svc_prefix_tier_stop_scan(struct lmi_svc_prefix_tier *t);

#endif /* LLAMAD_SERVICE_PREFIX_TIER_IMPL_H */
