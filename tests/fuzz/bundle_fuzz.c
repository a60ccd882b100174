/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a bundle as it is read. What is accepted keeps the bounds of bundle.h and says the same
 * when it is written again; otherwise there must be an error message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/bundle.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The text of an accepted index is accepted and means the same. */
static void check_index(const struct lmi_ctl_bundle *b)
{
	char *text = lmi_ctl_bundle_emit(b), *second;
	struct lmi_ctl_bundle again;
	struct lmd_error err;

	REQUIRE(text);
	REQUIRE(lmi_ctl_bundle_parse(&again, text, strlen(text), &err) == LMD_OK);
	second = lmi_ctl_bundle_emit(&again);
	REQUIRE(second && !strcmp(text, second));
	REQUIRE(again.n_files == b->n_files && again.size == b->size);
	lmi_ctl_bundle_fini(&again);
	free(second);
	free(text);
}

static void read_members(FILE *f, struct lmd_error *err)
{
	char name[LMI_CTL_BUNDLE_NAME_MAX + 1];
	enum lmd_status st = LMD_OK;
	bool end = false;
	uint64_t size;

	while (st == LMD_OK && !end) {
		st = lmi_ctl_bundle_next(f, name, &size, &end, err);
		if (st == LMD_OK && !end) {
			REQUIRE(*name && !strchr(name, '/') && strlen(name) <= LMI_CTL_BUNDLE_NAME_MAX);
			REQUIRE(size <= LMI_CTL_BUNDLE_SIZE_MAX);
			for (uint64_t i = 0; i < size && fgetc(f) != EOF; i++)
				;
			st = lmi_ctl_bundle_skip_padding(f, size, err);
		}
	}
	REQUIRE(st == LMD_OK || *err->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : NULL;
	struct lmi_ctl_bundle b;
	struct lmd_error err = {0};
	enum lmd_status st;

	if (!f)
		return 0;
	st = lmi_ctl_bundle_read_index(&b, f, &err);
	REQUIRE(st == LMD_OK || *err.text);
	if (st == LMD_OK) {
		REQUIRE(b.n_models && b.n_models <= LMI_CTL_BUNDLE_MODELS_MAX);
		REQUIRE(b.n_files && b.size <= LMI_CTL_BUNDLE_SIZE_MAX);
		check_index(&b);
		read_members(f, &err);
		lmi_ctl_bundle_fini(&b);
	} else {
		rewind(f);
		read_members(f, &err);
	}
	(void)fclose(f);
	/* the index without an archive around it */
	err = (struct lmd_error){0};
	st = lmi_ctl_bundle_parse(&b, (const char *)data, size, &err);
	REQUIRE(st == LMD_OK || *err.text);
	if (st == LMD_OK)
		check_index(&b);
	lmi_ctl_bundle_fini(&b);
	return 0;
}

static const char *const seeds[] = {
	"{\"format\":\"llamad bundle 1\",\"models\":[{\"files\":[{\"sha256\":\"" HEX
	"\",\"size\":5}],\"name\":\"a\"},{\"files\":[{\"sha256\":\"" HEX
	"\",\"size\":5}],\"modelfile\":\"FROM a\\nSYSTEM x\",\"name\":\"b\"}]}",
	"{\"format\":\"llamad bundle 1\",\"models\":[{\"files\":[{\"sha256\":\"" HEX
	"\",\"size\":9000000000}],\"name\":\"large\"}]}",
	"{\"format\":\"llamad bundle 1\",\"models\":[{\"files\":[{\"sha256\":\"" HEX
	"\",\"size\":5}],\"name\":\"a\",\"tower\":{\"sha256\":\"" HEX "\",\"size\":5}}]}",
};

/* Seeds are an index each; the second half of them stands in an archive. */
bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	const char *text;
	char *bytes = NULL;
	FILE *f;

	if (k >= 2 * LMD_LEN(seeds))
		return false;
	text = seeds[k % LMD_LEN(seeds)];
	if (k < LMD_LEN(seeds)) {
		out->p = (uint8_t *)strdup(text);
		out->n = strlen(text);
		return out->p != NULL;
	}
	f = open_memstream(&bytes, &out->n);
	if (!f)
		return false;
	lmi_ctl_bundle_put_head(f, LMI_CTL_BUNDLE_INDEX, strlen(text));
	(void)fwrite(text, 1, strlen(text), f);
	lmi_ctl_bundle_put_padding(f, strlen(text));
	lmi_ctl_bundle_put_head(f, "sha256-" HEX, k == LMD_LEN(seeds) + 1 ? UINT64_C(9000000000) : 5);
	(void)fwrite("12345", 1, 5, f);
	lmi_ctl_bundle_put_padding(f, 5);
	(void)fclose(f);
	out->p = (uint8_t *)bytes;
	return out->p != NULL;
}
