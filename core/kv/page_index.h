/* SPDX-License-Identifier: MIT
 *
 * page_index.h - the whole pages of a prefix tree by their tokens alone, whatever comes before them.
 *
 * The hash of a page's tokens rolls: from that of the tokens at o of a text follows that at o + 1, so that pages
 * are found wherever they begin in it. Equal hashes only give candidates. Not thread-safe; nothing is allocated
 * after init. */
#ifndef LLAMAD_CORE_KV_PAGE_INDEX_H
#define LLAMAD_CORE_KV_PAGE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

struct lmi_kv_page_index {
	uint32_t *bucket;	/* [mask + 1] its newest node, or LMI_KV_NO_NODE */
	uint32_t *next, *prev;	/* [n_node] within a bucket */
	uint64_t *hash;		/* [n_node] of the node's tokens, plus `owner` */
	uint32_t mask, page_tokens;
	uint64_t base, high; /* of the hash: base, and its power for the token that leaves */
};

/* base: odd and secret. LMD_NOMEM. */
enum lmd_status lmi_kv_page_index_init(struct lmi_kv_page_index *x, uint32_t n_node, uint32_t page_tokens,
				       uint64_t base);
/* Accepts a zeroed index. */
void lmi_kv_page_index_fini(struct lmi_kv_page_index *x);

/* Returns the hash of the tokens of a page, and that after the first one, `out`, has left and one more, `in`,
 * has come. */
uint64_t lmi_kv_page_index_hash(const struct lmi_kv_page_index *x, const lmd_token *tokens);
uint64_t lmi_kv_page_index_roll(const struct lmi_kv_page_index *x, uint64_t hash, lmd_token out,
				lmd_token in);

/* owner: a number for those who may share the page. */
void lmi_kv_page_index_add(struct lmi_kv_page_index *x, uint32_t node, uint64_t owner,
			   const lmd_token *tokens);
void lmi_kv_page_index_remove(struct lmi_kv_page_index *x, uint32_t node);
/* Returns the newest node with this hash and owner, and the next older one; LMI_KV_NO_NODE: there is none. */
uint32_t lmi_kv_page_index_first(const struct lmi_kv_page_index *x, uint64_t owner, uint64_t hash);
uint32_t lmi_kv_page_index_next(const struct lmi_kv_page_index *x, uint32_t node);

#endif /* LLAMAD_CORE_KV_PAGE_INDEX_H */
