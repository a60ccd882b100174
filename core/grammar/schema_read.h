/* SPDX-License-Identifier: MIT
 *
 * schema_read.h - reads the text of a JSON schema, and rewrites what it excludes. */
#ifndef LLAMAD_GRAMMAR_SCHEMA_READ_H
#define LLAMAD_GRAMMAR_SCHEMA_READ_H

#include <jansson.h>

#include "core/base/json_tree.h"

/* Limits of one schema. Rewritten parts count. */
#define LMI_GR_SCHEMA_DEPTH  64
#define LMI_GR_SCHEMA_VALUES (1u << 18)

/* Marks a schema that stands for a condition: members that it describes do not close the object, as
 * those of other schemas do. */
#define LMI_GR_SCHEMA_CONDITION "x-llamad-condition"

/* Reads a schema with jansson and stores it as a tree, after lmi_gr_schema_rewrite. The caller
 * calls lmi_json_tree_fini.
 * LMD_CORRUPT: not JSON. LMD_INVALID: a duplicate key, or a limit is exceeded. LMD_CANCELLED.
 * LMD_NOMEM. */
enum lmd_status lmi_gr_schema_read(struct lmi_json_tree *t, const char *text, size_t bytes,
				   struct lmd_error *err);

/* Replaces `not`, `if` and dependencies, in all subschemas, by keywords that the compiler enforces,
 * wherever that is possible without accepting a value that the schema rejects. What cannot be
 * replaced is left as it is; the compiler then refuses it. */
void lmi_gr_schema_rewrite(json_t *schema);

/* Returns a new schema that accepts what `schema` rejects, or NULL if there is none in keywords
 * that the compiler enforces, if memory runs out, or if *n_left reaches 0; it is decremented for
 * each schema. */
json_t *lmi_gr_schema_negation(const json_t *schema, uint32_t *n_left);

/* Returns true if the compiler enforces this `not` beside the other keywords of `schema`: it
 * excludes types, the strings of an enum or const beside "type": "string", or one name beside
 * "type": "object". */
bool lmi_gr_schema_not_is_enforced(const json_t *schema, const json_t *excluded);

#endif /* LLAMAD_GRAMMAR_SCHEMA_READ_H */
