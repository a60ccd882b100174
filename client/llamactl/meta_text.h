/* SPDX-License-Identifier: MIT
 *
 * meta_text.h - the value of a model's key, for readers and for JSON. */
#ifndef LLAMAD_LLAMACTL_META_TEXT_H
#define LLAMAD_LLAMACTL_META_TEXT_H

#include "client/llamactl/json_out.h"
#include "llamad/model.h"

/* On standard output, without a newline; of an array at most `max` elements. */
void lmi_meta_print(const struct lmd_meta *v, uint64_t max);
/* The value, an array; of a longer array {"length": N, "first": [...]}. */
void lmi_meta_json(struct lmi_json *j, const char *key, const struct lmd_meta *v, uint64_t max);

/* The same type in the file and the same value; floats by their bits. */
bool lmi_meta_same(const struct lmd_meta *a, const struct lmd_meta *b);

#endif /* LLAMAD_LLAMACTL_META_TEXT_H */
