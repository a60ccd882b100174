/* SPDX-License-Identifier: MIT
 *
 * Parts of prefixes: pages and states that are copied elsewhere, or brought back. While they are
 * copied they have a reference each, so that nobody takes their memory, and a sequence that goes on
 * after them writes to a copy. What is brought back gets its node only when it has been written, so that
 * nobody finds it earlier. */
#include <assert.h>

#include "core/kv/kv_impl.h"

static struct lmi_kv_page_pool *pool_of(struct lmi_kv *kv, uint32_t g)
{
	return kv->group[g].slots.seq ? &kv->group[g].slots.pool : &kv->group[g].pages.pool;
}

/* Lists the parts unless out is NULL; returns their number. */
static uint32_t each_part(const struct lmi_kv *kv, uint32_t n, struct lmi_kv_part *out)
{
	uint32_t pt = kv->page_tokens, k = 0;

	for (uint32_t g = 0; g < kv->n_group && n; g++) {
		const struct lmd_group *d = &kv->group[g].desc;
		uint32_t lo = n;

		if (d->kind == LMD_GROUP_STATE) {
			if (out)
				out[k] = (struct lmi_kv_part){
					.group = g, .page = LMI_KV_NO_PAGE, .index = (n - 1) / pt};
			k++;
			continue;
		}
		if (lmi_kv_is_paged(d))
			lo = lmi_kv_first_needed(kv, d, n);
		for (uint32_t i = lo / pt; lo < n && i <= (n - 1) / pt; i++, k++)
			if (out)
				out[k] = (struct lmi_kv_part){
					.group = g,
					.page = LMI_KV_NO_PAGE,
					.index = i,
					.n_row = n - i * pt < pt ? n - i * pt : pt};
	}
	return k;
}

uint32_t lmi_kv_n_parts(const struct lmi_kv *kv, uint32_t n)
{
	return kv->tree.n_node ? each_part(kv, n, NULL) : UINT32_MAX;
}

void lmi_kv_list_parts(const struct lmi_kv *kv, uint32_t n, struct lmi_kv_part *out)
{
	(void)each_part(kv, n, out);
}

/* Returns the node of a logical page, an ancestor of `node` or that itself. */
static uint32_t node_at(const struct lmi_kv *kv, uint32_t node, uint32_t index)
{
	while (node != LMI_KV_NO_NODE && kv->tree.node[node].n_tok &&
	       kv->tree.node[node].index > index)
		node = kv->tree.node[node].parent;
	assert(node != LMI_KV_NO_NODE && kv->tree.node[node].n_tok &&
	       kv->tree.node[node].index == index);
	return node;
}

void lmi_kv_hold_parts(struct lmi_kv *kv, const struct lmi_kv_prefix *p, struct lmi_kv_part *out)
{
	uint32_t n = each_part(kv, p->n, out);
	uint32_t last = p->tail != LMI_KV_NO_NODE ? p->tail : p->node;

	for (uint32_t i = 0; i < n; i++) {
		out[i].page = kv->tree.node[node_at(kv, last, out[i].index)].page[out[i].group];
		lmi_kv_page_ref(pool_of(kv, out[i].group), out[i].page);
	}
}

/* ---- bringing back ---- */

/* Makes the nodes of these tokens. Returns the last one, with a reference, or LMI_KV_NO_NODE. */
static uint32_t make_nodes(struct lmi_kv *kv, const struct lmi_kv_identity *id,
			   const lmd_token *tokens, uint32_t n)
{
	uint32_t node = lmi_kv_prefix_root(&kv->tree, id), pt = kv->page_tokens;

	if (node == LMI_KV_NO_NODE)
		node = lmi_kv_prefix_add_root(&kv->tree, id);
	if (node == LMI_KV_NO_NODE)
		return node;
	lmi_kv_prefix_ref(&kv->tree, node);
	for (uint32_t at = 0; at < n && node != LMI_KV_NO_NODE; at += pt) {
		uint32_t next =
			lmi_kv_get_child(kv, node, tokens + at, n - at < pt ? n - at : pt);

		if (next != LMI_KV_NO_NODE)
			lmi_kv_prefix_ref(&kv->tree, next);
		lmi_kv_prefix_unref(&kv->tree, node);
		node = next;
	}
	return node;
}

/* Is there memory for the parts that are not in memory? Those that are have a reference. */
static enum lmd_status check_room(struct lmi_kv *kv, const struct lmi_kv_part *parts, uint32_t n,
				  struct lmd_error *err)
{
	uint32_t need[LMD_MAX_GROUP] = {0};

	for (uint32_t i = 0; i < n; i++)
		need[parts[i].group] += !parts[i].is_known;
	for (uint32_t g = 0; g < kv->n_group; g++) {
		uint32_t n_free = pool_of(kv, g)->n_free;

		if (need[g] > n_free)
			return lmd_fail(err, LMD_BUSY,
					"%u %s are needed, of which %u are free", need[g],
					kv->group[g].slots.seq ? "states" : "pages", n_free);
	}
	return LMD_OK;
}

enum lmd_status lmi_kv_take_parts(struct lmi_kv *kv, const struct lmi_kv_identity *id,
				  const lmd_token *tokens, uint32_t n, struct lmi_kv_part *out,
				  uint32_t *node, struct lmd_error *err)
{
	uint32_t n_part = each_part(kv, n, out);
	enum lmd_status st;

	*node = make_nodes(kv, id, tokens, n);
	if (*node == LMI_KV_NO_NODE)
		return lmd_fail(err, LMD_BUSY,
				"all %u entries of the prefix cache are in use", kv->tree.n_node);
	for (uint32_t i = 0; i < n_part; i++) {
		uint32_t at = node_at(kv, *node, out[i].index);

		out[i].page = kv->tree.node[at].page[out[i].group];
		out[i].is_known = out[i].page != LMI_KV_NO_PAGE;
		if (out[i].is_known)
			lmi_kv_page_ref(pool_of(kv, out[i].group), out[i].page);
	}
	st = check_room(kv, out, n_part, err);
	for (uint32_t i = 0; i < n_part && st == LMD_OK; i++)
		if (!out[i].is_known)
			out[i].page = lmi_kv_page_take(pool_of(kv, out[i].group));
	if (st != LMD_OK)
		lmi_kv_give_parts(kv, out, n_part, *node);
	return st;
}

void lmi_kv_name_parts(struct lmi_kv *kv, const struct lmi_kv_part *parts, uint32_t n,
		       uint32_t node)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = node_at(kv, node, parts[i].index);

		/* a sequence may have computed it meanwhile */
		if (!parts[i].is_known &&
		    kv->tree.node[at].page[parts[i].group] == LMI_KV_NO_PAGE)
			lmi_kv_page_set_node(pool_of(kv, parts[i].group), parts[i].page, at);
	}
}

/* The last ones first, so that the memory of the beginning is needed last. */
void lmi_kv_give_parts(struct lmi_kv *kv, const struct lmi_kv_part *parts, uint32_t n,
		       uint32_t node)
{
	for (uint32_t i = n; i-- > 0;)
		if (parts[i].page != LMI_KV_NO_PAGE)
			lmi_kv_page_release(pool_of(kv, parts[i].group), parts[i].page);
	if (node != LMI_KV_NO_NODE)
		lmi_kv_prefix_unref(&kv->tree, node);
}
