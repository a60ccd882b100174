/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a GGUF file.  Whatever opens must be consistent: every tensor lies
 * within the file, every string ends with a NUL, every id names a token.
 *
 * There is a dictionary with encoded keys and tensors:
 *     tests/fuzz/gguf_fuzz -dict=SOURCE/tests/fuzz/gguf.dict FOLDER */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/format/format.h"
#include "llamad/attr.h"
#include "tests/fuzz/target.h"
#include "tests/gguf_spec.h"

static uint64_t sink; /* keeps the compiler from removing reads */

static void check_strings(const struct lmd_str *s, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		REQUIRE(s[i].ptr[s[i].len] == 0);
		sink += (uint64_t)s[i].ptr[0];
	}
}

static void check_meta(const struct lmd_model *m)
{
	for (uint32_t i = 0; i < m->n_meta; i++) {
		const struct lmd_meta *k = &m->meta[i];

		REQUIRE(m->find_meta(m, k->key) == k);
		if (k->type == LMD_META_STR)
			check_strings(&k->v.s, 1);
		if (k->type == LMD_META_ARR_STR)
			check_strings(k->v.a, k->n);
		if (k->type == LMD_META_ARR_I64 && k->n)
			sink += (uint64_t)((const int64_t *)k->v.a)[k->n - 1];
	}
}

static void check_tensors(const struct lmd_model *m, size_t size)
{
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const struct lmd_tensor *t = &m->tensors[i];

		REQUIRE(m->find_tensor(m, t->name) == t);
		REQUIRE(t->bytes > 0 && t->bytes <= size && t->offset <= size - t->bytes);
		REQUIRE(t->n_dim >= 1 && t->n_dim <= LMD_MAX_DIMS);
		if (t->data)
			sink += *((const uint8_t *)t->data + t->bytes - 1);
	}
}

static void check_vocabulary(const struct lmd_tokspec *t)
{
	const int32_t ids[] = {t->bos,     t->eos,     t->eot,     t->eom,     t->unk,
			       t->sep,     t->pad,     t->cls,     t->mask,    t->fim_pre,
			       t->fim_suf, t->fim_mid, t->fim_pad, t->fim_rep, t->fim_sep};

	if (!t->text)
		return;
	check_strings(t->text, t->n_tokens);
	check_strings(t->merge, t->n_merges);
	for (size_t i = 0; i < LMD_LEN(ids); i++)
		REQUIRE(ids[i] >= -1 && ids[i] < (int64_t)t->n_tokens);
	if (t->type)
		REQUIRE(t->type[t->n_tokens - 1] >= 1 &&
			t->type[t->n_tokens - 1] <= LMD_TOKEN_BYTE);
	if (t->score)
		REQUIRE(t->score[t->n_tokens - 1] == t->score[t->n_tokens - 1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct lmi_alloc_stats stats;
	struct lmd_error err = {0};
	struct lmi_model *m = NULL;
	enum lmd_status st;

	if (fd < 0) {
		fd = memfd_create("gguf_fuzz", MFD_CLOEXEC);
		REQUIRE(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	REQUIRE(ftruncate(fd, 0) == 0);
	REQUIRE(pwrite(fd, data, size, 0) == (ssize_t)size);
	/* The last byte of the input, which no parser reads, determines how to open the file. */
	st = lmi_model_open(&m, path, size && data[size - 1] & 1 ? LMI_OPEN_NO_MMAP : 0, &err);
	if (st == LMD_OK) {
		const struct lmd_model *v = lmi_model_view(m);

		REQUIRE(v->arch && v->name && v->format);
		check_meta(v);
		check_tensors(v, size);
		check_vocabulary(v->tok);
	} else {
		REQUIRE(!m && err.status == st && err.text[0]);
	}
	lmi_model_close(m);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == 0);
	REQUIRE(stats.peak_bytes < 256u << 20);
	return 0;
}

static const char *const specs[] = {
	SPEC_HEAD(0, 1) SPEC_ARCH,
	SPEC_HEAD(1, 1) SPEC_ARCH SPEC_TENSOR(t, 0) SPEC_DATA,
	SPEC_HEAD(3, 2) SPEC_ARCH "s:general.alignment 4:4 4:8 s:a 4:2 8:32 8:2 4:2 8:0 "
				  "s:b 4:1 8:256 4:12 8:40 s:c 4:0 4:1 8:184 p:8 z:192",
	SPEC_HEAD(1, 1) SPEC_ARCH "s:a 4:2 8:256 8:2 4:144 8:0 p:32 z:280",
	SPEC_HEAD(0, 13) SPEC_ARCH
	"s:a 4:0 1:1 s:b 4:1 1:1 s:c 4:2 2:1 s:d 4:3 2:1 s:e 4:4 4:1 s:f 4:5 4:1 s:g 4:6 f:1 "
	"s:h 4:7 1:1 s:i 4:8 s:x s:j 4:10 8:1 s:k 4:11 8:1 s:l 4:12 d:1",
	SPEC_HEAD(0, 7) SPEC_ARCH
	"s:a 4:9 4:0 8:2 1:1 1:2 s:b 4:9 4:3 8:1 2:1 s:c 4:9 4:6 8:1 f:1 s:d 4:9 4:7 8:2 1:0 1:1 "
	"s:e 4:9 4:8 8:2 s:x s:y s:f 4:9 4:12 8:1 d:1",
	SPEC_HEAD(0, 12) SPEC_ARCH
	"s:tokenizer.ggml.model 4:8 s:llama s:tokenizer.ggml.pre 4:8 s:default "
	"s:tokenizer.ggml.tokens 4:9 4:8 8:3 s:a s:b s:c "
	"s:tokenizer.ggml.scores 4:9 4:6 8:3 f:1 f:2 f:3 "
	"s:tokenizer.ggml.token_type 4:9 4:5 8:3 4:1 4:2 4:6 "
	"s:tokenizer.ggml.merges 4:9 4:8 8:1 s:a~b "
	"s:tokenizer.ggml.precompiled_charsmap 4:9 4:0 8:2 1:1 1:2 "
	"s:tokenizer.ggml.bos_token_id 4:4 4:1 s:tokenizer.ggml.fim_pre_token_id 4:4 4:2 "
	"s:tokenizer.ggml.add_bos_token 4:7 1:1 s:tokenizer.chat_template 4:8 s:{{x}}",
	SPEC_HEAD(0, 5) SPEC_ARCH
	"s:llama.block_count 4:4 4:2 s:llama.attention.head_count 4:9 4:5 8:2 4:1 4:1 "
	"s:llama.expert_count 4:4 4:8 s:llama.context_length 4:4 4:128",
	SPEC_HEAD(0, 4) SPEC_ARCH
	"s:split.no 4:2 2:0 s:split.count 4:2 2:1 s:split.tensors.count 4:5 4:0",
	("m:GGUF 4:1 4:1 4:1 S:general.architecture 4:8 S:llama S:t 4:2 4:4 4:2 4:0 "
	 "8:0 " SPEC_DATA),
	"m:GGUF B4:3 B8:0 B8:2 Z:general.architecture B4:8 Z:llama Z:llama.block_count B4:4 B4:7",
	("m:GGUF B4:3 B8:1 B8:1 Z:general.architecture B4:8 Z:llama Z:t B4:2 B8:256 B8:1 B4:12 "
	 "B8:0 "
	 "p:32 z:144"),
};

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	struct spec_file f;

	if (k >= LMD_LEN(specs))
		return false;
	f = spec_build(specs[k]);
	*out = (struct fuzz_bytes){f.p, f.n};
	return true;
}
