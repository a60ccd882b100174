/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the manifest of a signed model. A text that is accepted is the only one for what it
 * says, and its chunks are those of its files; otherwise there must be an error message. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/sign/chunks.h"
#include "core/sign/manifest.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"

static void check_files(const struct lmi_sign_manifest *m)
{
	uint64_t chunks = 0, bytes = 0;

	for (uint32_t i = 0; i < m->n_files; i++) {
		const struct lmi_sign_file *f = &m->files[i];

		REQUIRE(lmi_sign_name_ok(f->name, strlen(f->name)));
		REQUIRE(f->first_chunk == chunks);
		REQUIRE(f->n_chunks == lmi_sign_n_chunks(f->bytes, m->chunk_bytes));
		chunks += f->n_chunks;
		bytes += f->bytes;
	}
	REQUIRE(m->n_files && chunks == m->n_chunks && bytes == m->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct lmi_sign_envelope e;
	struct lmi_sign_manifest m;
	struct lmd_error err = {0};
	enum lmd_status st = lmi_sign_envelope_parse(&e, text, size, &err);
	char *again;
	size_t n;

	REQUIRE(st == LMD_OK || *err.text);
	n = st == LMD_OK ? e.signed_bytes : size;
	REQUIRE(n <= size);
	st = lmi_sign_manifest_parse(&m, text, n, &err);
	REQUIRE(st == LMD_OK || *err.text);
	if (st != LMD_OK)
		return 0;
	check_files(&m);
	REQUIRE(lmi_sign_manifest_body(&again, &size, &m, m.key_id, &err) == LMD_OK);
	REQUIRE(size == n && !memcmp(again, text, n));
	lmi_free(again);
	lmi_sign_manifest_fini(&m);
	return 0;
}

#define HEAD  "llamad-model-manifest 1\nkey 0123456789abcdef\nchunk 65536\n"
#define HEX16 "0123456789abcdef"
#define HEX64 HEX16 HEX16 HEX16 HEX16
#define SHA   "sha256 " HEX64 "\n"

static const char *const seeds[] = {
	HEAD "file 0 a\nfile 65537 b.gguf\n" SHA SHA "file 7 c d\n" SHA "signature " HEX64 HEX64
	     "\n",
	HEAD "file 1 \303\244\n" SHA,
	HEAD "file 1125899906842624 a\n" SHA,
	HEAD "file 07 a\n" SHA,
	HEAD "file 1 ../a\n" SHA,
};

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	if (k >= LMD_LEN(seeds))
		return false;
	out->n = strlen(seeds[k]);
	out->p = (uint8_t *)strdup(seeds[k]);
	return out->p != NULL;
}
