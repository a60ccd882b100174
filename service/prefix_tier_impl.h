/* SPDX-License-Identifier: MIT
 *
 * prefix_tier_impl.h - the state of the disk tier, shared by its files: prefix_tier.c (queues), prefix_parts.c
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
	uint64_t tenant;
	int32_t adapter; /* its slot is held while the work is queued */
	lmd_token *tokens; /* [n_page * page_tokens] */
	lmi_svc_prefix_link *chain; /* [n_page] */
	uint32_t n_page, page_tokens;
	uint32_t n_skip; /* pages that are in memory, or on the disk if it saves */
	uint32_t n_end;	 /* pages up to the end of the current piece */
	/* for a restore */
	lmi_svc_prefix_done_fn done; /* NULL: nobody waits */
	void *arg;
	uint64_t deadline_ns, begun_ns, bytes;
	/* at work */
	uint64_t command; /* of the engine; 0: none */
	bool begun, finds, job_runs;
	bool forgotten; /* its tenant is removed meanwhile */
	struct lmi_job job;
	struct lmi_engine_saved *saved;
	struct lmd_error err;
};

struct lmi_svc_prefix_tier {
	struct lmi_svc_prefix_files *files;
	struct lmi_svc_prefix_work *restores, *saves; /* the first one runs */
	uint32_t n_save;
	uint64_t ns_per_mib; /* of reading; 0: not measured */
	struct lmi_svc_prefix_tier_stats stats;
	struct lmi_job scan; /* reads which files there are */
	bool scans, scanned; /* without `scanned` the tier is off */
	struct lmi_job trim; /* removes files when the limit was lowered */
	bool trims, trims_again;
};

/* ---- prefix_parts.c; any thread ---- */

/* Computes the links of all pages. */
bool lmi_svc_prefix_make_chain(struct lmi_svc_prefix_work *w);
/* Lists the parts of the first n pages; NULL: out of memory. */
struct lmi_engine_saved_part *lmi_svc_prefix_list_parts(const struct lmi_svc_prefix_work *w,
							uint32_t n, uint32_t *n_part);
bool lmi_svc_prefix_is_skipped(const struct lmi_svc_prefix_work *w,
			       const struct lmi_engine_saved_part *p);
/* Returns with how many pages a restore could end, at most n: the disk has all their parts. */
uint32_t lmi_svc_prefix_n_on_disk(const struct lmi_svc_prefix_work *w, uint32_t n);
/* Reads or writes the parts of a struct lmi_svc_prefix_work; its job. */
void lmi_svc_prefix_run(void *arg);

/* ---- prefix_tier_life.c ---- */

/* Stops reading which files there are. */
void lmi_svc_prefix_tier_stop_scan(struct lmi_svc_prefix_tier *t);

#endif /* LLAMAD_SERVICE_PREFIX_TIER_IMPL_H */
