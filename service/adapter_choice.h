/* SPDX-License-Identifier: MIT
 *
 * adapter_choice.h - which adapters a request applies, each with a scale, found by their names.
 *
 * A name stands for, in this order: an entry of the key `adapters` of the model's section, an adapter that
 * op adapter_set named, a file of adapters_dir, or, if it is a number, the entry of that number of
 * the two lists together. */
#ifndef LLAMAD_SERVICE_ADAPTER_CHOICE_H
#define LLAMAD_SERVICE_ADAPTER_CHOICE_H

#include "core/engine/engine.h"
#include "service/adapters.h"

struct lmi_service;
struct lmi_wire_req_generate; /* proto */

/* Adapters that apply together. */
#define LMI_SVC_ADAPTER_CHOICE_MAX 8
/* Bytes of the text of a request. */
#define LMI_SVC_ADAPTER_CHOICE_TEXT 600

/* Zeroed: none. */
struct lmi_svc_adapter_choice {
	uint32_t n;
	struct lmi_engine_adapter_ref refs[LMI_SVC_ADAPTER_CHOICE_MAX]; /* paths on the heap */
	char *text;   /* "PATH:SCALE" of each, separated by commas; NULL: none */
	uint64_t key; /* of the files as they are now: lmi_engine_adapter_key */
	bool missing; /* one of them is not there */
};

/* Finds the adapters of a request for the model `model`: those that it names, as "NAME[:SCALE],...", or else
 * those of its name (ADAPTER of a Modelfile, the key `adapter`, what op adapter_set chose). Looks at files. The
 * loop's thread. LMD_INVALID: the model has no such adapter, or the scale is out of range; the message has
 * the names that there are. Then *out is empty. */
LMD_NODISCARD enum lmd_status lmi_svc_adapter_choose(struct lmi_svc_adapter_choice *out,
						     const struct lmi_service *svc,
						     const char *model,
						     const struct lmi_wire_req_generate *q,
						     struct lmd_error *err);
/* Returns the adapters of requests for the model `model` under the name `asked` that name none, as
 * "NAME[:SCALE],...", without those of a Modelfile. The loop's thread; valid until the configuration or
 * the choice changes. */
const char *lmi_svc_adapter_text(const struct lmi_service *svc, const char *model,
				 const struct lmd_str *asked);
/* Finds those of a text, "NAME[:SCALE],..."; NULL: none. */
LMD_NODISCARD enum lmd_status lmi_svc_adapter_choose_text(struct lmi_svc_adapter_choice *out,
							  const struct lmi_service *svc,
							  const char *model, const char *text,
							  struct lmd_error *err);
void lmi_svc_adapter_choice_fini(struct lmi_svc_adapter_choice *c);
/* Replaces *out, which may be empty, with a copy. LMD_NOMEM: it is as before. */
LMD_NODISCARD enum lmd_status lmi_svc_adapter_choice_copy(struct lmi_svc_adapter_choice *out,
							  const struct lmi_svc_adapter_choice *c,
							  struct lmd_error *err);
/* Takes over the adapter number i of a list, alone. */
LMD_NODISCARD enum lmd_status lmi_svc_adapter_choice_of(struct lmi_svc_adapter_choice *out,
							const struct lmi_svc_adapters *a,
							uint32_t i, struct lmd_error *err);

#endif /* LLAMAD_SERVICE_ADAPTER_CHOICE_H */
