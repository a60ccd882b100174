/* SPDX-License-Identifier: MIT
 *
 * prefix_fixture.h - a service whose prompts are random tokens, for the tests of the prefix cache's tiers. */
#ifndef LLAMAD_SERVICE_PREFIX_FIXTURE_H
#define LLAMAD_SERVICE_PREFIX_FIXTURE_H

#include "service/prefix_tier.h"
#include "tests/service_fixture.h"

#define PREFIX_CTX 4200u /* tokens of the model's context */

extern struct fx prefix_fx;
extern lmd_token prefix_tokens[PREFIX_CTX];

/* Prepares a service with the tiny model on ref, with this seed; the test starts it. */
void prefix_fx_setup(uint64_t seed);
void prefix_fx_teardown(void);
struct lmi_svc_prefix_tier_stats prefix_fx_stats(void);
/* Runs until nothing is left to be written. */
void prefix_fx_settle(void);
/* Begins to generate 8 tokens, or does so and reads them into text, which may be NULL. */
void prefix_fx_begin(const struct lmi_svc_principal *who, const char *model, const lmd_token *v,
		     uint32_t n);
struct lmi_wire_item prefix_fx_ask(const struct lmi_svc_principal *who, const char *model,
				   const lmd_token *v, uint32_t n, char *text, size_t n_text);
/* Ends the service. */
void prefix_fx_stop(void);

#endif /* LLAMAD_SERVICE_PREFIX_FIXTURE_H */
