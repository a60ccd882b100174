/* SPDX-License-Identifier: MIT
 *
 * sample_spec.h - a sampler chain written as JSON.
 *
 *     [{"sampler": "top_k", "k": 40}, {"sampler": "dist", "seed": 7}]
 *
 * Every other member of an object is an argument by name.  A bare text "top_k" is an
 * object without arguments.  Numbers, true and false, texts and lists of texts stand for
 * themselves; "-inf" and "inf" are numbers where one is wanted.  A bias is a list of
 * pairs [token, number] or an object {"token": number}; in both false is -inf. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_SPEC_H
#define LLAMAD_CORE_ENGINE_SAMPLE_SPEC_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/engine/sample.h"

/* The most entries a list of texts or of biases may have. */
#define LMI_SPEC_LIST_MAX (1 << 20)

/* The specs of a JSON list; they live in the arena and keep no reference on the JSON.
 * LMD_INVALID names the number of the sampler and the argument. */
enum lmd_status lmi_specs_from_json(const json_t *list, struct lmd_arena *arena,
				    struct lmi_sampler_spec **out, uint32_t *n,
				    struct lmd_error *err);
/* The same for a text. */
enum lmd_status lmi_specs_parse(const char *text, size_t bytes, struct lmd_arena *arena,
				struct lmi_sampler_spec **out, uint32_t *n, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_SPEC_H */
