/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as an importance matrix of either format.  A matrix that is read must be
 * sorted, have the shape that it claims and no negative sums, and survive writing and reading
 * again.
 *
 * There is a dictionary with encoded keys and names:
 *     tests/fuzz/imatrix_fuzz -dict=SOURCE/tests/fuzz/imatrix.dict FOLDER */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/format/imatrix/imatrix.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"

static void check(const struct lmi_imatrix *m)
{
	for (uint32_t i = 0; i < m->n_entry; i++) {
		const struct lmi_imatrix_entry *e = &m->entry[i];
		struct lmi_imatrix_stats s;

		REQUIRE(!i || strcmp(m->entry[i - 1].name, e->name) < 0);
		REQUIRE(lmi_imatrix_find(m, e->name) == e);
		REQUIRE(e->n && e->n_count && e->n % e->n_count == 0);
		for (uint64_t k = 0; k < e->n; k++)
			REQUIRE(e->sum2[k] >= 0);
		lmi_imatrix_stats(m, e, &s);
		REQUIRE(s.n <= e->n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct lmi_alloc_stats stats;
	struct lmd_error err = {0};
	struct lmi_imatrix m;

	if (fd < 0) {
		fd = memfd_create("imatrix", 0);
		REQUIRE(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	REQUIRE(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	lmi_imatrix_init(&m);
	if (lmi_imatrix_read(&m, path, &err) == LMD_OK)
		check(&m);
	else
		REQUIRE(err.text[0]);
	lmi_imatrix_fini(&m);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == 0);
	return 0;
}

static void put32(struct fuzz_bytes *b, uint32_t v)
{
	lmi_put_le32(b->p + b->n, v);
	b->n += 4;
}

static void put_text(struct fuzz_bytes *b, const char *s)
{
	put32(b, (uint32_t)strlen(s));
	memcpy(b->p + b->n, s, strlen(s));
	b->n += strlen(s);
}

/* Seed 0: the older format; seed 1: GGUF, created by the writer. */
bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	static const float sum[4] = {1, 2, 3, 4}, count = 512;
	char path[] = "/tmp/lmd-fuzz-XXXXXX";
	struct lmi_imatrix m;
	FILE *f;

	*out = (struct fuzz_bytes){.p = malloc(4096)};
	if (k == 0) {
		put32(out, 1);
		put_text(out, "blk.0.attn_q.weight");
		put32(out, 2);
		put32(out, 2);
		put32(out, 0x3F800000);
		put32(out, 0x40000000);
		put32(out, 2);
		put_text(out, "text");
		return true;
	}
	if (k > 1) {
		free(out->p);
		return false;
	}
	lmi_imatrix_init(&m);
	REQUIRE(lmi_imatrix_add(&m, "blk.0.attn_q.weight", 4, 1, sum, sum, &count, NULL) == LMD_OK);
	REQUIRE(close(mkstemp(path)) == 0);
	REQUIRE(lmi_imatrix_write_gguf(&m, path, NULL) == LMD_OK);
	f = fopen(path, "rb");
	REQUIRE(f != NULL);
	out->n = fread(out->p, 1, 4096, f);
	fclose(f);
	unlink(path);
	lmi_imatrix_fini(&m);
	return true;
}
