/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes as a checkpoint folder, and as an adapter for it.
 *
 * The input is a sequence of files.  Each consists of a byte that names it (see the table below),
 * its text, and the byte 0xff.  For a safetensors file the text is only the header: the target puts
 * the length before it and appends as many bytes of data as its "data_offsets" require.  These
 * repeat the bytes after a byte 0xfe in the text, or count up.  Thus a mutated header still has its
 * data. After 'r' the rest of the input is model.safetensors verbatim, whose lengths and data may
 * be wrong.  After 'f' a byte selects the family, whose name is put first in config.json.
 *
 * Whatever opens must be consistent: every tensor has data of its size, reading gives the same
 * bytes as mapping, and a folder that opens with data also opens with headers only.  The adapter is
 * opened for the model that opened.
 *
 * There is a dictionary with the words of all these files:
 *     tests/fuzz/folder_fuzz -dict=SOURCE/tests/fuzz/folder.dict FOLDER
 * If LMD_FUZZ_SAY is in the environment, the result for each input is printed. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/checkpoint/adapter/adapter.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/checkpoint/open.h"
#include "llamad/attr.h"
#include "tests/arch_plugins.h"
#include "tests/fuzz/target.h"

#define END      0xff
#define DATA     0xfe
#define DATA_MAX (16u << 10) /* maximum bytes of data after a header */
#define HEADER   (64u << 10) /* bytes of the header that are examined */

enum form { TEXT, FAMILY, SAFETENSORS, RAW };

static const struct {
	char letter;
	uint8_t form;
	const char *name;
} files[] = {
	{'c', TEXT, "config.json"},
	{'f', FAMILY, "config.json"},
	{'g', TEXT, "generation_config.json"},
	{'p', TEXT, "1_Pooling/config.json"},
	{'t', TEXT, "tokenizer.json"},
	{'v', TEXT, "tokenizer.model"},
	{'d', TEXT, "added_tokens.json"},
	{'k', TEXT, "tokenizer_config.json"},
	{'s', TEXT, "special_tokens_map.json"},
	{'j', TEXT, "chat_template.jinja"},
	{'i', TEXT, "model.safetensors.index.json"},
	{'m', SAFETENSORS, "model.safetensors"},
	{'1', SAFETENSORS, "model-00001-of-00002.safetensors"},
	{'2', SAFETENSORS, "model-00002-of-00002.safetensors"},
	{'r', RAW, "model.safetensors"},
	{'a', TEXT, "lora/adapter_config.json"},
	{'b', SAFETENSORS, "lora/adapter_model.safetensors"},
};

static char dir[64];
static float sink; /* keeps the compiler from removing reads */

static const char *path_of(char out[128], const char *name)
{
	snprintf(out, 128, "%s/%s", dir, name);
	return out;
}

/* ---- the folder ---- */

static void clear(void)
{
	char path[128];

	for (size_t i = 0; i < LMD_LEN(files); i++)
		(void)unlink(path_of(path, files[i].name));
}

static void remove_dir(void)
{
	char path[128];

	clear();
	(void)rmdir(path_of(path, "1_Pooling"));
	(void)rmdir(path_of(path, "lora"));
	(void)rmdir(dir);
}

static void make_dir(void)
{
	char path[128];

	snprintf(dir, sizeof(dir), "%s/lmd-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	REQUIRE(mkdtemp(dir));
	REQUIRE(atexit(remove_dir) == 0);
	REQUIRE(mkdir(path_of(path, "1_Pooling"), 0700) == 0);
	REQUIRE(mkdir(path_of(path, "lora"), 0700) == 0);
}

/* The largest end of a "data_offsets" span, even if the rest of the header is invalid. */
static size_t data_bytes(const uint8_t *p, size_t n)
{
	static const char key[] = "data_offsets";
	const uint8_t *end = p + n;
	size_t most = 0;

	while ((p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1)) != NULL) {
		size_t v = 0;

		for (; p < end && *p != ']'; p++) {
			if (*p >= '0' && *p <= '9')
				v = v < DATA_MAX ? 10 * v + (*p - '0') : DATA_MAX;
			else if (*p == ',')
				v = 0;
		}
		most = v > most ? v : most;
	}
	return most < DATA_MAX ? most : DATA_MAX;
}

static void put_all(int fd, const void *p, size_t n)
{
	REQUIRE(write(fd, p, n) == (ssize_t)n);
}

static void put_safetensors(int fd, const uint8_t *p, size_t n)
{
	const uint8_t *cut = memchr(p, DATA, n);
	size_t head = cut ? (size_t)(cut - p) : n, unit = cut ? n - head - 1 : 0;
	uint8_t length[8], data[DATA_MAX];
	size_t total = data_bytes(p, head < HEADER ? head : HEADER);

	for (size_t i = 0; i < total; i++)
		data[i] = unit ? cut[1 + i % unit] : (uint8_t)(i % 61);
	lmi_put_le64(length, head);
	put_all(fd, length, sizeof(length));
	put_all(fd, p, head);
	put_all(fd, data, total);
}

static void put_family(int fd, const uint8_t *p, size_t n)
{
	struct lmi_checkpoint_maps maps;
	struct lmd_error err;
	uint32_t n_family = 0;
	char head[96];

	if (!n)
		return;
	REQUIRE(lmi_checkpoint_maps_take(&maps, arch_plugins(), &err) == LMD_OK);
	while (lmi_checkpoint_map_at(&maps, n_family))
		n_family++;
	snprintf(head, sizeof(head), "{\"model_type\": \"%s\", ",
		 lmi_checkpoint_map_at(&maps, p[0] % n_family)->type);
	lmi_checkpoint_maps_give(&maps);
	put_all(fd, head, strlen(head));
	put_all(fd, p + 1, n - 1);
}

/* Writes one file of the input; returns the number of bytes consumed. */
static size_t put_file(const uint8_t *p, size_t n)
{
	const uint8_t *end = memchr(p, END, n);
	size_t i = 0, all = end ? (size_t)(end - p) : n;
	char path[128];
	int fd;

	while (i < LMD_LEN(files) && files[i].letter != (char)p[0])
		i++;
	if (i == LMD_LEN(files))
		return all + (end != NULL);
	if (files[i].form == RAW)
		all = n;
	fd = open(path_of(path, files[i].name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	if (files[i].form == SAFETENSORS)
		put_safetensors(fd, p + 1, all - 1);
	else if (files[i].form == FAMILY)
		put_family(fd, p + 1, all - 1);
	else
		put_all(fd, p + 1, all - 1);
	REQUIRE(close(fd) == 0);
	return all + (all < n);
}

/* ---- invariants ---- */

static void check(const struct lmi_model *m)
{
	const struct lmd_model *v = lmi_model_view(m);
	uint8_t a[256];

	REQUIRE(v->arch && v->name && v->format && v->n_files >= 2);
	for (uint32_t i = 0; i < v->n_tensors; i++) {
		const struct lmd_tensor *t = &v->tensors[i];
		struct lmd_error err;
		size_t n = t->bytes < sizeof(a) ? (size_t)t->bytes : sizeof(a);

		REQUIRE(v->find_tensor(v, t->name) == t);
		REQUIRE(t->bytes > 0 && t->n_dim >= 1 && t->n_dim <= LMD_MAX_DIMS);
		REQUIRE(t->file < v->n_files && t->data);
		REQUIRE(lmi_model_read(m, t, t->bytes - n, a, n, &err) == LMD_OK);
		REQUIRE(!memcmp(a, (const uint8_t *)t->data + t->bytes - n, n));
	}
}

static void check_adapter(const struct lmi_adapter_file *f)
{
	REQUIRE(lmi_adapter_n(f) > 0);
	for (uint32_t i = 0; i < lmi_adapter_n(f); i++) {
		const struct lmi_adapter_pair *p = lmi_adapter_pair(f, i);

		REQUIRE(!i || strcmp(lmi_adapter_pair(f, i - 1)->site, p->site) < 0);
		REQUIRE(p->rank && p->n && p->k && p->n_slice && isfinite(p->scale));
		sink += p->a[(size_t)p->n_slice * p->rank * p->k - 1];
		sink += p->b[(size_t)p->n_slice * p->n * p->rank - 1];
	}
}

/* Opens the headers of the model, and the adapter if there is one.  Did the adapter open? */
static bool open_headers(void)
{
	struct lmi_adapter_file *f = NULL;
	struct lmd_error err = {0};
	struct lmi_model *m = NULL;
	bool there, opens = false;
	char path[128];

	REQUIRE(lmi_model_open_any(&m, arch_plugins(), dir, LMI_OPEN_HEADER_ONLY, &err) == LMD_OK);
	there = !access(path_of(path, "lora/adapter_config.json"), F_OK);
	(void)path_of(path, "lora");
	if (there &&
	    lmi_adapter_open(&f, path, lmi_model_view(m), arch_plugins(), &err) == LMD_OK) {
		check_adapter(f);
		opens = true;
	} else {
		REQUIRE(!there || (!f && err.text[0]));
	}
	lmi_adapter_close(f);
	lmi_model_close(m);
	return opens;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lmi_alloc_stats before, stats;
	struct lmd_error err = {0};
	struct lmi_model *m = NULL;
	bool said = getenv("LMD_FUZZ_SAY") != NULL, adapter = false;
	enum lmd_status st;

	if (!dir[0])
		make_dir();
	(void)arch_plugins();
	lmi_alloc_stats(&before);
	clear();
	for (size_t at = 0; at < size;)
		at += put_file(data + at, size - at);
	lmi_alloc_reset_peak();
	st = lmi_model_open_any(&m, arch_plugins(), dir, 0, &err);
	lmi_alloc_stats(&stats);
	REQUIRE(stats.peak_bytes < 256u << 20);
	if (st == LMD_OK)
		check(m);
	else
		REQUIRE(!m && err.status == st && err.text[0]);
	lmi_model_close(m);
	if (st == LMD_OK)
		adapter = open_headers();
	if (said)
		fprintf(stderr, "%s%s\n", st == LMD_OK ? "opens" : err.text,
			adapter ? ", and its adapter" : "");
	lmi_alloc_stats(&stats);
	REQUIRE(stats.n_live == before.n_live);
	return 0;
}
