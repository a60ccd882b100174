/* SPDX-License-Identifier: MIT
 *
 * LLAMAD_VULKAN switches off what a driver offers, for tests. */
#include "backend/common/settings.h"
#include "vkb.h"

enum lmd_status vkb_settings_read(struct vkb_settings *out, struct lmd_error *err)
{
	enum { STAGING, CHUNK_KB, CACHE, N };
	struct host_mem_setting s[N] = {
		[STAGING] = {"staging", 1, 0},
		[CHUNK_KB] = {"chunk_kb", 1u << 22, 1u << 16},
		[CACHE] = {"cache", 1, 1},
	};
	enum lmd_status st = host_mem_settings_read("vulkan", "LLAMAD_VULKAN", s, N, err);

	*out = (struct vkb_settings){
		.staging = s[STAGING].value != 0,
		.chunk = (s[CHUNK_KB].value ? s[CHUNK_KB].value : 1) << 10,
		.cache = s[CACHE].value != 0,
	};
	return st;
}
