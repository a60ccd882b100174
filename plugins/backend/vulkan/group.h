/* SPDX-License-Identifier: MIT
 *
 * group.h - groups of devices, which run plans with ALLREDUCE and ALLGATHER together.
 *
 * Each rank has an area of memory with a part for the rows of every rank, twice, since a rank may
 * write its next rows while another one still reads the last ones.  Where all devices can import host
 * memory (VK_EXT_external_memory_host), the areas are the same memory; otherwise each device has one
 * of its own, and the group's thread copies parts.
 *
 * A run is submitted as a whole.  In front of each exchange, the device signals one semaphore and waits
 * for another one, which the group's thread signals when all ranks are there.
 *
 * Threads: functions of different ranks may be called by different threads. */
#ifndef LLAMAD_VULKAN_GROUP_H
#define LLAMAD_VULKAN_GROUP_H

#include "vkb.h"

#define VKB_MAX_PEER 8u /* as in shaders/peer.comp */

/* The rows that the ranks exchange at a collective. */
struct vkb_exchange {
	uint32_t space, fold; /* rows: those of the space / fold */
	uint32_t columns;
};

/* ---- areas (group_memory.c) ---- */

struct vkb_area {
	struct vkb_area *next;
	const struct lmd_host *host;
	uint64_t part_bytes;
	uint32_t n;
	char *block; /* memory that all devices have imported; NULL: each has its own */
	struct vkb_part {
		struct vkb_dev *dev;
		VkBuffer buffer; /* imported */
		VkDeviceMemory memory;
		struct vkb_mem own;
		VkDeviceAddress address; /* parts of the ranks, then those of the next exchange */
		char *host;
	} of[VKB_MAX_PEER];
};

/* Makes the areas of n devices. */
enum lmd_status vkb_area_make(struct vkb_dev *const *devs, uint32_t n, uint64_t part_bytes,
			      struct vkb_area **out, struct lmd_error *err);
void vkb_area_free(struct vkb_area *a);
/* Copies the first bytes of each rank's part to the other ranks.  half: 0 or 1. */
void vkb_area_spread(const struct vkb_area *a, uint32_t half, uint64_t bytes);

/* ---- groups (group.c) ---- */

enum lmd_status vkb_group_create(void *const *states, uint32_t n, struct lmd_devgroup **out,
				 struct lmd_error *err);
void vkb_group_destroy(struct lmd_devgroup *g);
/* LMD_INVALID unless g is a group of n in which the device is this rank. */
enum lmd_status vkb_group_check(const struct lmd_devgroup *g, const struct vkb_dev *dev,
				uint32_t rank, uint32_t n, struct lmd_error *err);
/* Makes room for parts of so many bytes.  Runs that have begun keep the memory that they have. */
enum lmd_status vkb_group_reserve(struct lmd_devgroup *g, uint64_t bytes, struct lmd_error *err);

/* What a rank's run needs. */
struct vkb_meeting {
	uint64_t turn; /* the number of the run */
	VkSemaphore here, go;
	uint64_t here0, go0; /* exchange k: here0 + k + 1 is signalled, go0 + k + 1 is waited for */
	uint32_t n_exchange;
	struct vkb_note note;
	VkDeviceAddress area;
	uint32_t part_bytes, half; /* half: of the first exchange */
};

/* A rank's run begins.  After LMD_OK, vkb_group_submitted or vkb_group_refuse follows.  LMD_CANCELLED:
 * another rank's run of this turn has failed. */
enum lmd_status vkb_group_begin(struct lmd_devgroup *g, uint32_t rank, uint32_t n_exchange,
				struct vkb_meeting *out, struct lmd_error *err);
/* list and cancel are valid until the run is complete. */
void vkb_group_submitted(struct lmd_devgroup *g, uint32_t rank, uint64_t turn,
			 const struct vkb_exchange *list, const uint32_t *rows,
			 const volatile int32_t *cancel);
void vkb_group_refuse(struct lmd_devgroup *g, uint32_t rank, uint64_t turn);
/* How the runs that a note names have ended, if they are complete. */
enum lmd_status vkb_group_result(const struct vkb_note *note, struct lmd_error *err);

#endif /* LLAMAD_VULKAN_GROUP_H */
