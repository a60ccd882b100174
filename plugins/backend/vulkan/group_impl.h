/* SPDX-License-Identifier: MIT
 *
 * group_impl.h - the state of a group of devices, shared by group.c (creating and runs) and group_thread.c (its
 * thread). */
#ifndef LLAMAD_VULKAN_GROUP_IMPL_H
#define LLAMAD_VULKAN_GROUP_IMPL_H

#include <pthread.h>

#include "group.h"

#define VKB_TURNS  16u /* runs that can be under way */
#define VKB_FAILED 64u /* failed runs that are remembered */

enum vkb_call { VKB_NOT_CALLED, VKB_BEGUN, VKB_SUBMITTED, VKB_REFUSED };

struct vkb_turn {
	uint64_t number;
	enum lmd_status status; /* not LMD_OK: it has failed */
	uint64_t called;        /* time of the last call's begin or end */
	uint32_t n_exchange, half;
	struct vkb_area *area;
	const struct vkb_exchange *list;
	uint32_t rows[LMD_N_SPACE];
	struct {
		enum vkb_call call;
		uint64_t here0, go0;
		const volatile int32_t *cancel;
	} of[VKB_MAX_PEER];
};

struct vkb_rank {
	struct vkb_dev *dev;
	VkSemaphore here, go;
	uint64_t here_value, go_value; /* that its runs so far reach */
	uint64_t n_turn;               /* its runs so far */
};

struct lmd_devgroup {
	const struct lmd_host *host;
	uint32_t n;
	pthread_t thread;
	bool has_thread, stop;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	uint64_t n_begun, n_ended;   /* turns */
	uint32_t half;               /* of the next turn */
	struct vkb_area *area, *old; /* old: what runs before may still use */
	struct vkb_turn turns[VKB_TURNS];
	struct {
		uint64_t turn;
		enum lmd_status status;
		uint32_t rank; /* that has failed */
	} failed[VKB_FAILED];
	uint64_t n_failed;
	struct vkb_rank ranks[VKB_MAX_PEER];
};

static inline void vkb_group_lock(struct lmd_devgroup *g)
{
	(void)pthread_mutex_lock(&g->lock);
}

static inline void vkb_group_unlock(struct lmd_devgroup *g)
{
	(void)pthread_mutex_unlock(&g->lock);
}

static inline uint64_t vkb_group_now(const struct lmd_devgroup *g)
{
	return g->host->now_ns(g->host->ctx);
}

/* ---- group_thread.c ---- */

/* Starts the thread.  false: there is none. */
bool vkb_group_start(struct lmd_devgroup *g);
/* Lets a rank go on after exchange k. */
void vkb_group_let_go(const struct lmd_devgroup *g, const struct vkb_turn *t, uint32_t r,
		      uint32_t k);

#endif /* LLAMAD_VULKAN_GROUP_IMPL_H */
