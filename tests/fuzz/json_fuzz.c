/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as JSON.  They are rejected with an error message, or the resulting tree
 * can be written and read again as an equal tree.
 *
 *     tests/fuzz/json_fuzz -seeds=FOLDER     writes the seed files and exits
 *     tests/fuzz/json_fuzz FOLDER            runs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/json_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define REQUIRE(x)                                                                                 \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "not true: %s\n", #x);                                     \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void same(const struct lmi_jtree *a, const struct lmi_jtree *b)
{
	REQUIRE(a->n_nodes == b->n_nodes);
	for (uint32_t i = 0; i < a->n_nodes; i++) {
		const struct lmi_jnode *x = a->root + i, *y = b->root + i;

		REQUIRE(x->span == y->span);
		if (x->type == LMI_JREAL) { /* 1e2 is written as 100 */
			double v = 0;

			REQUIRE(lmi_jnode_real(y, &v) && v == x->u.d);
			continue;
		}
		REQUIRE(x->type == y->type);
		REQUIRE(x->type == LMI_JINT || x->n == y->n);
		REQUIRE(x->type != LMI_JINT || x->u.i == y->u.i);
		REQUIRE(x->type != LMI_JSTRING || memcmp(x->u.s, y->u.s, x->n + 1) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lmi_jtree_opts opts = {.unique_keys = size && (data[size - 1] & 1)};
	struct lmi_jtree t = {0}, again = {0};
	struct lmi_jtext text = {0};
	struct lmi_alloc_stats stats;
	struct lmd_error err = {0};
	enum lmd_status st;

	st = lmi_jtree_parse(&t, (const char *)data, size, &opts, &err);
	if (st == LMD_OK) {
		REQUIRE(t.root->span == t.n_nodes);
		lmi_jtext_node(&text, t.root);
		REQUIRE(lmi_jtext_finish(&text, &err) == LMD_OK);
		REQUIRE(lmi_jtree_parse(&again, text.text, text.bytes, &opts, &err) == LMD_OK);
		same(&t, &again);
	} else {
		REQUIRE(err.status == st && strstr(err.text, "JSON"));
	}
	lmi_jtext_fini(&text);
	lmi_jtree_fini(&again);
	lmi_jtree_fini(&t);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == 0);
	return 0;
}

static const char *const seeds[] = {
	"{\"a\": [1, -2.5e-3, true, false, null], \"b\": {\"c\": \"d\"}, \"a\": "
	"9223372036854775807}",
	"\"\\ud83d\\ude00\\u0000\\n\\\"\\\\\\/ \xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80\"",
	"[[[[[[[[{}]]]]]]]]",
	"-0",
	"[0.1, 1E400, 123456789012345678901234567890, 4.9e-324]",
};

/* Handles -seeds=FOLDER: writes one file for each text above. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strncmp((*argv)[i], "-seeds=", 7) != 0)
			continue;
		for (size_t k = 0; k < LMD_LEN(seeds); k++) {
			char path[4096];
			FILE *f;

			snprintf(path, sizeof(path), "%s/seed%02zu.json", (*argv)[i] + 7, k);
			f = fopen(path, "wb");
			if (!f || fputs(seeds[k], f) < 0 || fclose(f)) {
				perror(path);
				exit(1);
			}
		}
		exit(0);
	}
	return 0;
}
