/* SPDX-License-Identifier: MIT
 *
 * Settings of the emulated devices. */
#include "backend/common/settings.h"
#include "emu.h"

enum setting {
	DEVICES,
	MEMORY_MB,
	LATE,
	SEED,
	FAIL_ALLOC,
	LOSE_STEP,
	LOSE_DEVICE,
	HANG_STEP,
	BUCKETS,
	PEER,
	GROUP,
	BEST,
	REFUSE,
	LACKS,
	PAGE,
	FAULT,
	N_SETTING
};

enum lmd_status emu_settings_read(struct emu_settings *out, struct lmd_error *err)
{
	struct host_mem_setting s[N_SETTING] = {
		[DEVICES] = {"devices", EMU_MAX_DEVICE, 1},
		[MEMORY_MB] = {"memory_mb", 1u << 20, 4096},
		[LATE] = {"late", 1, 0},
		[SEED] = {"seed", UINT64_MAX, 0},
		[FAIL_ALLOC] = {"fail_alloc", UINT32_MAX, 0},
		[LOSE_STEP] = {"lose_step", UINT32_MAX, 0},
		[LOSE_DEVICE] = {"lose_device", EMU_MAX_DEVICE, EMU_MAX_DEVICE},
		[HANG_STEP] = {"hang_step", UINT32_MAX, 0},
		[BUCKETS] = {"buckets", 1, 0},
		[PEER] = {"peer", 1, 1},
		[GROUP] = {"group", 1, 1},
		[BEST] = {"best", 1, 1},
		[REFUSE] = {"refuse", EMU_MAX_DEVICE, EMU_MAX_DEVICE},
		[LACKS] = {"lacks", UINT32_MAX, 0},
		[PAGE] = {"page", 256, 0},
		[FAULT] = {"fault", EMU_N_FAULT - 1, 0},
	};
	enum lmd_status st = host_mem_settings_read("emu", "LLAMAD_EMU", s, N_SETTING, err);
	uint64_t page = s[PAGE].value;

	if (st == LMD_OK && page && (page < 16 || (page & (page - 1))))
		st = lmd_fail(err, LMD_INVALID,
			      "emu: LLAMAD_EMU: pages have 16, 32, 64, 128 or 256 rows, not %llu",
			      (unsigned long long)page);
	*out = (struct emu_settings){
		.devices = (uint32_t)s[DEVICES].value,
		.memory = s[MEMORY_MB].value << 20,
		.late = s[LATE].value != 0,
		.seed = s[SEED].value,
		.fail_alloc = (uint32_t)s[FAIL_ALLOC].value,
		.lose_step = (uint32_t)s[LOSE_STEP].value,
		.lose_device = (uint32_t)s[LOSE_DEVICE].value,
		.hang_step = (uint32_t)s[HANG_STEP].value,
		.buckets = s[BUCKETS].value != 0,
		.peer = s[PEER].value != 0,
		.group = s[GROUP].value != 0,
		.best = s[BEST].value != 0,
		.refuse = (uint32_t)s[REFUSE].value,
		.lacks = (uint32_t)s[LACKS].value,
		.page = (uint32_t)page,
		.fault = (uint32_t)s[FAULT].value,
	};
	return st;
}
