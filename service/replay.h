/* SPDX-License-Identifier: MIT
 *
 * replay.h - requests that are kept so that their answers can be generated again (ops replay and
 * replay_info).
 *
 * Kept are the request with what the configuration added to it, the values of its sampling parameters, the
 * seed, the digest of the model and that of the answer's tokens, in memory alone; of the answer itself
 * nothing. The limits replay_requests and replay_bytes bound them; the oldest goes first. All functions
 * belong to the loop's thread. */
#ifndef LLAMAD_SERVICE_REPLAY_H
#define LLAMAD_SERVICE_REPLAY_H

#include "core/base/sha256.h"
#include "core/engine/sample.h"
#include "service/output.h"
#include "service/service.h"
#include "store/store.h"

struct lmi_svc_generation;
struct lmi_svc_model_record;
struct lmi_svc_replay_list;

/* What a generation that repeats another one is computed with, in place of the present configuration. */
struct lmi_svc_replay_settings {
	char model_digest[LMI_SHA256_HEX]; /* "": not known */
	uint64_t adapter_key; /* of its adapters' files as they were, lmi_engine_adapter_key; 0: none */
	struct lmi_sampler_scalars sampling;
};

struct lmi_svc_kept_request;

/* A generation begins to run: prepares to keep its request, if requests are kept. Without memory it is
 * not. */
void lmi_svc_replay_begin(struct lmi_svc_generation *g, const struct lmi_sampler_params *defaults);
/* A token of its answer. */
void lmi_svc_replay_token(struct lmi_svc_generation *g, lmd_token token);
/* It has ended: keeps its request if it ended by itself. */
void lmi_svc_replay_end(struct lmi_svc_generation *g, const struct lmi_svc_end *end);
/* LMD_NOTFOUND: the model is not the one that answered the request that g repeats, if it does. */
enum lmd_status lmi_svc_replay_check_model(const struct lmi_svc_generation *g,
					   const struct lmi_svc_model_record *record,
					   struct lmd_error *err);

/* LMD_NOTFOUND: the adapters that were found for g are not those of the request that it repeats, if it
 * does: others, or their files were replaced. */
enum lmd_status lmi_svc_replay_check_adapters(const struct lmi_svc_generation *g,
					      struct lmd_error *err);

/* Drops what exceeds the limits of the service. */
void lmi_svc_replay_set_limits(struct lmi_service *svc);
/* Drops the requests of a user, by its number of lmi_svc_owner_tenant. */
void lmi_svc_replay_forget(struct lmi_service *svc, uint64_t tenant);
void lmi_svc_replay_fini(struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_REPLAY_H */
