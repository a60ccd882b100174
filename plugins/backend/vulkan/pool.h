/* SPDX-License-Identifier: MIT
 *
 * pool.h - pools on the device.  A cache has one piece of memory for K and one for V; row r of page p
 * is row p*page_tokens + r of both.  A head begins at a multiple of 4 bytes.  Slots of states have
 * n_row rows each. */
#ifndef LLAMAD_VULKAN_POOL_H
#define LLAMAD_VULKAN_POOL_H

#include "backend/common/pool_check.h"
#include "vkb.h"

struct vkb_side {                /* K or V of a cache */
	uint32_t dtype, n_head;
	uint32_t head, room;     /* bytes of a head in canonical form, and here */
	struct vkb_mem mem;
};

struct vkb_cache {
	struct lmd_cache desc;
	uint32_t id;             /* in the plan */
	uint32_t n_row;          /* rows of a page or slot */
	struct vkb_side side[2]; /* V has n_head 0 if there is none */
};

struct vkb_pool {
	uint32_t group;
	struct host_mem_pool_shape shape;
	struct vkb_mem table; /* [n_seq][n_index] pages */
	uint32_t n_cache;
	struct vkb_cache caches[];
};

static inline struct vkb_pool *vkb_pool(struct lmd_pool *p)
{
	return (struct vkb_pool *)(void *)p;
}

/* Can the shaders read and write caches of this type? */
bool vkb_has_cache_type(uint32_t dtype);

#endif /* LLAMAD_VULKAN_POOL_H */
