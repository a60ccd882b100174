/* SPDX-License-Identifier: MIT
 *
 * top_sample.h - what the daemon is doing at one moment, and how fast it is between two. */
#ifndef LLAMAD_LLAMACTL_TOP_SAMPLE_H
#define LLAMAD_LLAMACTL_TOP_SAMPLE_H

#include "client/llamactl/remote.h"

/* Values are those of the protocol's replies. */
struct lmi_ctl_top_sample {
	uint64_t at_ns; /* of the monotonic clock */
	json_t *status; /* object */
	json_t *models, *devices, *streams, *metrics; /* arrays */
};

/* Asks the daemon. After an error the sample is empty. */
enum lmd_status lmi_ctl_top_sample(struct lmi_ctl *ctl, struct lmi_ctl_top_sample *out,
				   struct lmd_error *err);
/* May be called for an empty sample. */
void lmi_ctl_top_sample_fini(struct lmi_ctl_top_sample *s);

/* Returns the rates between two samples of the same daemon as an object: NAME_per_s for
 * generation_tokens, computed_tokens (of prompts and answers, drafts that were wrong included),
 * cached_tokens (not computed, because the cache had them), steps and requests. NULL: the first
 * sample is empty, the daemon was restarted in between, or there is no memory. */
json_t *lmi_ctl_top_rates(const struct lmi_ctl_top_sample *before,
			  const struct lmi_ctl_top_sample *now);
/* Adds to each model of `now` the members generation_tokens_per_s and, if tokens were drafted since
 * `before`, drafts_accepted_percent. */
void lmi_ctl_top_add_rates(const struct lmi_ctl_top_sample *before, struct lmi_ctl_top_sample *now);

#endif /* LLAMAD_LLAMACTL_TOP_SAMPLE_H */
