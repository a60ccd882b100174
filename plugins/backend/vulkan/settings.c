/* SPDX-License-Identifier: MIT
 *
 * LLAMAD_VULKAN switches off what a driver offers, for tests. */
#include "backend/common/settings.h"
#include "vkb.h"

enum lmd_status vkb_settings_read(struct vkb_settings *out, struct lmd_error *err)
{
	enum {
		STAGING,
		CHUNK_KB,
		PIECE_KB,
		CACHE,
		DOT,
		IMPORT,
		DEVICES,
		SPLIT,
		TILE,
		SHARES,
		PRIORITY,
		COUNTS,
		WORK,
		LOST,
		N
	};
	struct host_mem_setting s[N] = {
		[STAGING] = {"staging", 1, 0},
		[CHUNK_KB] = {"chunk_kb", 1u << 22, 1u << 16},
		[PIECE_KB] = {"piece_kb", UINT32_MAX, 0},
		[CACHE] = {"cache", 1, 1},
		[DOT] = {"dot", 1, 1},
		[IMPORT] = {"import", 1, 1},
		[DEVICES] = {"devices", 16, 0},
		[SPLIT] = {"split", 16, 0},
		[TILE] = {"tile", 2, 0},
		[SHARES] = {"shares", 64, 0},
		[PRIORITY] = {"priority", 3, 0},
		[COUNTS] = {"counts", 1, 0},
		[WORK] = {"work", 1u << 30, 0},
		[LOST] = {"lost", UINT32_MAX, 0},
	};
	enum lmd_status st = host_mem_settings_read("vulkan", "LLAMAD_VULKAN", s, N, err);

	*out = (struct vkb_settings){
		.staging = s[STAGING].value != 0,
		.chunk = (s[CHUNK_KB].value ? s[CHUNK_KB].value : 1) << 10,
		.piece = s[PIECE_KB].value << 10,
		.cache = s[CACHE].value != 0,
		.dot = s[DOT].value != 0,
		.import = s[IMPORT].value != 0,
		.devices = (uint32_t)s[DEVICES].value,
		.split = (uint32_t)s[SPLIT].value,
		.tile = (uint32_t)s[TILE].value,
		.shares = (uint32_t)s[SHARES].value,
		.priority = (uint32_t)s[PRIORITY].value,
		.counts = s[COUNTS].value != 0,
		.work = s[WORK].value,
		.lost = s[LOST].value,
	};
	if (st == LMD_OK && (out->split & (out->split - 1)))
		st = lmd_fail(err, LMD_INVALID,
			      "vulkan: LLAMAD_VULKAN: split=%u, allowed are 1, 2, 4, 8 and 16 (0: by the "
			      "device)",
			      out->split);
	return st;
}
