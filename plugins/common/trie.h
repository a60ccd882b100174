/* SPDX-License-Identifier: MIT
 *
 * trie.h - a trie of byte strings. A node is a number; its children are found by hashing (node,
 * byte), so that building takes one step per byte and needs no sorting.
 *
 * Strings longer than LMI_TRIE_DEPTH bytes are not added, so that a walk from any place in a text
 * is bounded whatever the vocabulary contains. */
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

/* bytes: estimated number of nodes. Returns false if out of memory. */
bool lmi_trie_init(struct lmi_trie *t, const struct lmd_host *host, size_t bytes);
void lmi_trie_fini(struct lmi_trie *t, const struct lmd_host *host); /* t may be zeroed */

/* Adds a string, or replaces the value of an equal one. Skips empty strings and those above
 * LMI_TRIE_DEPTH bytes. Returns false if out of memory. */
bool lmi_trie_add(struct lmi_trie *t, const struct lmd_host *host, const char *s, size_t n,
		  uint32_t value);

/* Returns the child of a node, or LMI_NONE. */
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

/* Finds the longest string that continues from a node and is a prefix of s[0..n). Returns its
 * length (0 = none) and sets its value. */
size_t lmi_trie_longest_from(const struct lmi_trie *t, uint32_t node, const char *s, size_t n,
			     uint32_t *value);
/* Finds the longest string of the trie that is a prefix of s[0..n). */
static inline size_t lmi_trie_longest(const struct lmi_trie *t, const char *s, size_t n,
				      uint32_t *value)
{
	return lmi_trie_longest_from(t, LMI_TRIE_ROOT, s, n, value);
}

#endif /* LLAMAD_PLUGINS_COMMON_TRIE_H */
