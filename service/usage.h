/* SPDX-License-Identifier: MIT
 *
 * usage.h - counts what principals use, per model and day.
 *
 * Counts are collected in memory and written to the registry in batches, by its thread.  A batch
 * begins at most LMI_SVC_USAGE_MS after its first count, also while generations run, so that a crash
 * loses less than a second of usage. */
#ifndef LLAMAD_SERVICE_USAGE_H
#define LLAMAD_SERVICE_USAGE_H

#include "service/service.h"

#define LMI_SVC_USAGE_MS	400u
#define LMI_SVC_USAGE_DAYS	400 /* rows are kept for so many days */
#define LMI_SVC_USAGE_PRINCIPAL (4u + LMI_SVC_KEY_LABEL_MAX)

struct lmi_svc_end;
struct lmi_svc_generation;
struct lmi_svc_usage_row;

struct lmi_svc_used {
	uint64_t n_request;
	uint64_t n_prompt, n_cached, n_out; /* tokens */
	uint64_t queue_ns, run_ns, work_ns;
};

struct lmi_svc_usage {
	struct lmi_svc_usage_row *rows; /* not submitted yet */
	uint64_t due_ns;                /* of the next batch; 0: nothing was counted yet */
	int32_t forgot;                 /* the day on which old rows were last deleted */
	bool failing;                   /* the last batch could not be written */
};

/* Writes the principal's name in the registry: "key:LABEL", "uid:N", or "local" for a client of HTTP
 * that needs no key. */
void lmi_svc_usage_principal(char out[LMI_SVC_USAGE_PRINCIPAL],
			     const struct lmi_svc_principal *principal);

/* Counts, and charges the quota of the principal's key.  Without memory nothing is written. */
void lmi_svc_usage_add(struct lmi_service *svc, const struct lmi_svc_principal *principal,
		       const char *model, const struct lmi_svc_used *used);

/* Returns the tokens of a key on a day that are in no batch yet. */
uint64_t lmi_svc_usage_unwritten(const struct lmi_service *svc, const char *key, int32_t day);

/* A generation starts to run, and has ended; it must have a loaded model. */
void lmi_svc_usage_started(struct lmi_svc_generation *g, uint64_t now);
void lmi_svc_usage_ended(struct lmi_svc_generation *g, uint64_t now, const struct lmi_svc_end *end);
/* Counts the latest tokens of a running generation, and the time that it ran unless it is paused: call it
 * before that changes. */
void lmi_svc_usage_count(struct lmi_svc_generation *g, uint64_t now);
/* Counts those of all running generations. */
void lmi_svc_usage_count_running(struct lmi_service *svc, uint64_t now);

/* Submits a batch if there is one and it is due. */
void lmi_svc_usage_tick(struct lmi_service *svc, uint64_t now);
uint64_t lmi_svc_usage_deadline(const struct lmi_service *svc);
/* Submits a batch now, so that later jobs of the registry find its rows. */
void lmi_svc_usage_flush(struct lmi_service *svc, uint64_t now);
/* Frees what could not be written. */
void lmi_svc_usage_fini(struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_USAGE_H */
