/* SPDX-License-Identifier: MIT
 *
 * meta_text.h - prints the value of a model's key for people and as JSON. */
#ifndef LLAMAD_LLAMACTL_META_TEXT_H
#define LLAMAD_LLAMACTL_META_TEXT_H

#include "client/llamactl/json_out.h"
#include "llamad/model.h"

/* Prints the value on standard output without a newline; at most `max` elements of an array. */
void lmi_meta_print(const struct lmd_meta *v, uint64_t max);
/* Writes the value; an array longer than `max` becomes {"length": N, "first": [...]}. */
void lmi_meta_json(struct lmi_json *j, const char *key, const struct lmd_meta *v, uint64_t max);

/* Returns true if type and value are the same; floats are compared by their bits. */
bool lmi_meta_same(const struct lmd_meta *a, const struct lmd_meta *b);

#endif /* LLAMAD_LLAMACTL_META_TEXT_H */
