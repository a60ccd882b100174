/* SPDX-License-Identifier: MIT
 *
 * json_tree.h - reads JSON (RFC 8259) from memory into a tree of one allocation.
 *
 *     struct lmi_jtree t;
 *     st = lmi_jtree_parse(&t, text, bytes, NULL, &err);
 *     const struct lmi_jnode *name = lmi_jnode_get(t.root, "name");
 *     lmi_jtree_fini(&t);
 *
 * It is as strict as json.h, which reads the items of very large texts without a tree. Depth, bytes
 * and nodes are bounded. Nodes are stored in the order of the text; those of an object are key,
 * value, key, value. */
#ifndef LLAMAD_CORE_BASE_JSON_TREE_H
#define LLAMAD_CORE_BASE_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json.h"
#include "llamad/status.h"

#define LMI_JTREE_DEPTH  LMI_JR_DEPTH /* nesting of containers; more is LMD_INVALID */
#define LMI_JTREE_BYTES  (16u << 20) /* text bytes, unless the options set another limit */
#define LMI_JTREE_NODES  (1u << 20)
#define LMI_JTREE_DIGITS LMI_JR_DIGITS /* bytes of one number */

enum lmi_jtype {
	LMI_JNULL,
	LMI_JBOOL,
	LMI_JINT,  /* written without point and exponent, fits int64_t */
	LMI_JREAL, /* any other number; finite */
	LMI_JSTRING,
	LMI_JARRAY,
	LMI_JOBJECT,
};

struct lmi_jnode {
	uint8_t type;  /* enum lmi_jtype */
	uint32_t span; /* nodes of this value, including itself: the next sibling is this + span */
	uint32_t n;    /* string: bytes; array: elements; object: members; number: bytes of text */
	union {
		bool b;
		int64_t i;
		double d;
		const char *s; /* n bytes and a terminating zero; may contain zeros */
	} u;
};

struct lmi_jtree {
	struct lmi_jnode *root; /* start of the allocation */
	uint32_t n_nodes;
};

struct lmi_jtree_opts {
	size_t max_bytes;   /* 0: LMI_JTREE_BYTES; at most 1 GiB */
	uint32_t max_nodes; /* 0: LMI_JTREE_NODES */
	bool unique_keys;   /* true: a duplicate key is an error; false: the last one counts */
};

/* opts may be NULL for all defaults. The tree does not refer to the text. Any thread.
 * LMD_CORRUPT: not JSON; the error message names the byte and the problem.
 * LMD_INVALID: a limit is exceeded. LMD_NOMEM. */
LMD_NODISCARD enum lmd_status lmi_jtree_parse(struct lmi_jtree *t, const char *text, size_t bytes,
					      const struct lmi_jtree_opts *opts,
					      struct lmd_error *err);

/* *t may be zeroed. */
void lmi_jtree_fini(struct lmi_jtree *t);

/* Navigation. All functions accept NULL and nodes of another type, and then return NULL or
 * false. */

/* Returns the first element of an array or the first key of an object; NULL if it is empty. */
const struct lmi_jnode *lmi_jnode_first(const struct lmi_jnode *container);

static inline const struct lmi_jnode *lmi_jnode_next(const struct lmi_jnode *v)
{
	return v + v->span;
}

/* Returns element i of an array; NULL beyond its end. Takes time proportional to i: use first and
 * next in loops. */
const struct lmi_jnode *lmi_jnode_at(const struct lmi_jnode *array, uint32_t i);

/* Returns the value of a key, the last one if there are several. */
const struct lmi_jnode *lmi_jnode_get(const struct lmi_jnode *object, const char *key);

bool lmi_jnode_is(const struct lmi_jnode *v, enum lmi_jtype type);

/* Returns true if v is a string equal to text. */
bool lmi_jnode_eq(const struct lmi_jnode *v, const char *text);

/* Returns an integer in min..max. Any notation that a double holds exactly is accepted (1e3,
 * 2.0). */
bool lmi_jnode_int(const struct lmi_jnode *v, int64_t min, int64_t max, int64_t *out);

/* Returns any number as a double. */
bool lmi_jnode_real(const struct lmi_jnode *v, double *out);

/* Returns "null", "boolean", "integer", "number", "string", "array" or "object"; "nothing" for
 * NULL. */
const char *lmi_jnode_kind(const struct lmi_jnode *v);

#endif /* LLAMAD_CORE_BASE_JSON_TREE_H */
