/* SPDX-License-Identifier: MIT
 *
 * LLAMAD_VULKAN: words NAME=NUMBER, separated by commas, that switch off what a driver offers, for
 * tests. */
#include <stdlib.h>
#include <string.h>

#include "vkb.h"

static const char *const names[] = {"staging", "chunk_kb", "cache"};
static const uint64_t most[] = {1, 1u << 22, 1};

static enum lmd_status read_one(const char *word, size_t n, uint64_t *v, struct lmd_error *err)
{
	int shown = (int)(n < 80 ? n : 80);

	for (size_t i = 0; i < LMD_LEN(names); i++) {
		size_t len = strlen(names[i]);
		char *end;

		if (n <= len || strncmp(word, names[i], len) || word[len] != '=')
			continue;
		v[i] = strtoull(word + len + 1, &end, 10);
		if (end != word + n || end == word + len + 1 || v[i] > most[i])
			return lmd_fail(err, LMD_INVALID,
					"vulkan: LLAMAD_VULKAN: '%.*s': not a number of at most %llu",
					shown, word, (unsigned long long)most[i]);
		return LMD_OK;
	}
	return lmd_fail(err, LMD_INVALID, "vulkan: LLAMAD_VULKAN: there is no setting '%.*s'", shown,
			word);
}

enum lmd_status vkb_settings_read(struct vkb_settings *out, struct lmd_error *err)
{
	const char *at = getenv("LLAMAD_VULKAN");
	uint64_t v[LMD_LEN(names)] = {0, 1u << 16, 1};
	enum lmd_status st = LMD_OK;

	while (st == LMD_OK && at && *at) {
		size_t n = strcspn(at, ",");

		st = n ? read_one(at, n, v, err) : LMD_OK;
		at += n + (at[n] == ',');
	}
	*out = (struct vkb_settings){
		.staging = v[0] != 0, .chunk = (v[1] ? v[1] : 1) << 10, .cache = v[2] != 0};
	return st;
}
