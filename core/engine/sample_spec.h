/* SPDX-License-Identifier: MIT
 *
 * sample_spec.h - a sampler chain written as JSON.
 *
 *     [{"sampler": "top_k", "k": 40}, {"sampler": "dist", "seed": 7}]
 *
 * Every other member of an object is a named argument. A bare string "top_k" is an object without
 * arguments. Numbers, true and false, strings and lists of strings stand for themselves; "-inf" and
 * "inf" are accepted as numbers. A bias is a list of pairs [token, number] or an object {"token":
 * number}; in both, false means -inf. */
#ifndef LLAMAD_CORE_ENGINE_SAMPLE_SPEC_H
#define LLAMAD_CORE_ENGINE_SAMPLE_SPEC_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/engine/sample.h"

/* Maximum number of entries in a list of texts or biases. */
#define LMI_SPEC_LIST_MAX (1 << 20)

/* Converts a JSON list to specs, which live in the arena and do not refer to the JSON. LMD_INVALID:
 * the message names the number of the sampler and the argument. */
enum lmd_status lmi_specs_from_json(const json_t *list, struct lmd_arena *arena,
				    struct lmi_sampler_spec **out, uint32_t *n,
				    struct lmd_error *err);
/* Parses a text and converts it like lmi_specs_from_json. */
enum lmd_status lmi_specs_parse(const char *text, size_t bytes, struct lmd_arena *arena,
				struct lmi_sampler_spec **out, uint32_t *n, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SAMPLE_SPEC_H */
