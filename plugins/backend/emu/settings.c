/* SPDX-License-Identifier: MIT
 *
 * Settings of the emulated devices: words NAME=NUMBER, separated by commas. */
#include <stdlib.h>
#include <string.h>

#include "emu.h"

static const char *const names[] = {"devices", "memory_mb", "late", "seed",
				    "fail_alloc", "lose_step", "buckets", "peer", "lacks",
				    "page", "fault"};
static const uint64_t most[] = {EMU_MAX_DEVICE, 1u << 20, 1, UINT64_MAX, UINT32_MAX, UINT32_MAX, 1, 1, UINT32_MAX,
			       256, EMU_N_FAULT - 1};

static enum lmd_status read_one(const char *word, size_t n, uint64_t *v, struct lmd_error *err)
{
	for (size_t i = 0; i < LMD_LEN(names); i++) {
		size_t len = strlen(names[i]);
		char *end;

		if (n <= len || strncmp(word, names[i], len) || word[len] != '=')
			continue;
		v[i] = strtoull(word + len + 1, &end, 10);
		if (end != word + n || end == word + len + 1 || v[i] > most[i])
			return lmd_fail(err, LMD_INVALID,
					"emu: LLAMAD_EMU: '%.*s': not a number of at most %llu",
					(int)(n < 80 ? n : 80), word, (unsigned long long)most[i]);
		return LMD_OK;
	}
	return lmd_fail(err, LMD_INVALID, "emu: LLAMAD_EMU: there is no setting '%.*s'",
			(int)(n < 80 ? n : 80), word);
}

enum lmd_status emu_settings_read(struct emu_settings *out, struct lmd_error *err)
{
	const char *at = getenv("LLAMAD_EMU");
	uint64_t v[LMD_LEN(names)] = {1, 4096, 0, 0, 0, 0, 0, 1};
	enum lmd_status st = LMD_OK;

	while (st == LMD_OK && at && *at) {
		size_t n = strcspn(at, ",");

		st = n ? read_one(at, n, v, err) : LMD_OK;
		at += n + (at[n] == ',');
	}
	if (st == LMD_OK && v[9] && (v[9] < 16 || (v[9] & (v[9] - 1))))
		st = lmd_fail(err, LMD_INVALID,
			      "emu: LLAMAD_EMU: pages have 16, 32, 64, 128 or 256 rows, not %llu",
			      (unsigned long long)v[9]);
	*out = (struct emu_settings){
		.devices = (uint32_t)v[0],
		.memory = v[1] << 20,
		.late = v[2] != 0,
		.seed = v[3],
		.fail_alloc = (uint32_t)v[4],
		.lose_step = (uint32_t)v[5],
		.buckets = v[6] != 0,
		.peer = v[7] != 0,
		.lacks = (uint32_t)v[8],
		.page = (uint32_t)v[9],
		.fault = (uint32_t)v[10],
	};
	return st;
}
