/* SPDX-License-Identifier: MIT
 *
 * trie.h - byte strings by their beginnings.  A node is a number; its children are found by
 * hashing (node, byte), so building costs one step for each byte and no sorting.
 *
 * Strings are cut off at LMI_TRIE_DEPTH bytes, and such are not entered: the walk from one
 * place of a text is bounded whatever the vocabulary says. */
#ifndef LLAMAD_PLUGINS_COMMON_TRIE_H
#define LLAMAD_PLUGINS_COMMON_TRIE_H

#include "common/textmap.h"

#define LMI_TRIE_DEPTH 4096u
#define LMI_TRIE_ROOT  0u

struct lmi_trie {
	struct lmi_trie_node {
		uint32_t parent;
		uint32_t value; /* LMI_NONE = no string ends here */
		uint8_t byte;
	} *node;                /* [n], [0] is the root */
	uint32_t n, cap;
	uint32_t *slot;         /* child nodes, 0 = free; at most half full */
	uint32_t mask;
	uint32_t first[256];    /* children of the root, 0 = none */
	uint64_t mul;
};

/* bytes: about how many nodes there will be.  False without memory. */
bool lmi_trie_init(struct lmi_trie *t, const struct lmd_host *host, size_t bytes);
void lmi_trie_fini(struct lmi_trie *t, const struct lmd_host *host); /* zeroed allowed */

/* Enters a string; the value of an equal one is replaced.  Empty strings and those above
 * LMI_TRIE_DEPTH bytes are left out.  False without memory. */
bool lmi_trie_add(struct lmi_trie *t, const struct lmd_host *host, const char *s, size_t n,
		  uint32_t value);

/* The child of a node, or LMI_NONE. */
static inline uint32_t lmi_trie_next(const struct lmi_trie *t, uint32_t node, unsigned char byte)
{
	if (node == LMI_TRIE_ROOT)
		return t->first[byte] ? t->first[byte] : LMI_NONE;
	for (uint32_t i = (uint32_t)lmi_mix((uint64_t)node << 8 | byte, t->mul) & t->mask;;
	     i = (i + 1) & t->mask) {
		uint32_t c = t->slot[i];

		if (!c)
			return LMI_NONE;
		if (t->node[c].parent == node && t->node[c].byte == byte)
			return c;
	}
}

/* The longest string that leads on from a node and that s[0..n) begins with: its length (0 = none)
 * and value. */
size_t lmi_trie_longest_from(const struct lmi_trie *t, uint32_t node, const char *s, size_t n,
			     uint32_t *value);
/* The same from the root. */
static inline size_t lmi_trie_longest(const struct lmi_trie *t, const char *s, size_t n,
				      uint32_t *value)
{
	return lmi_trie_longest_from(t, LMI_TRIE_ROOT, s, n, value);
}

#endif /* LLAMAD_PLUGINS_COMMON_TRIE_H */
