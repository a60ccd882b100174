/* SPDX-License-Identifier: MIT
 *
 * Signing and checking files, and the policy of the process: what is changed is found, and nothing
 * else is opened. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/sign/policy.h"
#include "core/sign/remember.h"
#include "core/sign/verify.h"
#include "tests/temp_dir.h"

#define CHUNK	LMI_SIGN_CHUNK_MIN
#define N_CHUNK 5u
#define BYTES	(4 * CHUNK + 1234)

static struct lmi_sign_private key, other;
static const struct lmi_sign_work quiet;
static char model[160]; /* the path of "m": temp_path keeps the last four only */

static void fill(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)((i * 2654435761u + seed) >> 11);
}

static void write_file(const char *name, size_t n, unsigned seed)
{
	uint8_t *p = malloc(n + 1);

	ck_assert_ptr_nonnull(p);
	fill(p, n, seed);
	temp_write(name, p, n);
	free(p);
}

/* Changes a byte of a file in place. */
static void flip(const char *name, long at, int mask)
{
	FILE *f = fopen(temp_path(name), "r+b");
	int c;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, at, SEEK_SET), 0);
	c = fgetc(f);
	ck_assert_int_ne(c, EOF);
	ck_assert_int_eq(fseek(f, at, SEEK_SET), 0);
	ck_assert_int_eq(fputc(c ^ mask, f), c ^ mask);
	ck_assert_int_eq(fclose(f), 0);
}

static void sign(const char *name)
{
	char path[LMI_SIGN_PATH_MAX];
	struct lmd_error err = {0};

	OK(lmi_sign_make(path, temp_path(name), &key, CHUNK, &quiet, &err));
}

/* Checks a model with the trusted key and returns its state; the message stays in *err. */
static enum lmi_sign_state state_of(const char *name, struct lmd_error *err)
{
	const struct lmi_sign_subject s = {.path = temp_path(name)};
	struct lmi_sign_result r;
	enum lmd_status st = lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, err);

	ck_assert_int_eq(st == LMD_OK, r.state == LMI_SIGN_VALID);
	lmi_sign_result_fini(&r);
	return r.state;
}

#define STATE(name, want)                                                                          \
	do {                                                                                       \
		struct lmd_error e_ = {0};                                                         \
		enum lmi_sign_state is_ = state_of(name, &e_);                                     \
		ck_assert_msg(is_ == (want), "%s: %s: %s", name, lmi_sign_state_word(is_),         \
			      e_.text);                                                            \
	} while (0)

static void setup(void)
{
	struct lmi_sign_public k;
	struct lmd_error err = {0};

	temp_dir_make();
	snprintf(model, sizeof(model), "%s", temp_path("m"));
	OK(lmi_sign_key_create(&k, temp_path("own"), &err));
	OK(lmi_sign_key_create(&k, temp_path("foreign"), &err));
	OK(lmi_sign_private_read(&key, temp_path("own.key"), &err));
	OK(lmi_sign_private_read(&other, temp_path("foreign.key"), &err));
}

static void teardown(void)
{
	const struct lmi_sign_policy_opts off = {0};
	struct lmd_error err = {0};

	OK(lmi_sign_policy_set(&off, &err));
	lmi_sign_private_fini(&key);
	lmi_sign_private_fini(&other);
	temp_dir_remove();
}

/* ---- keys ---- */

START_TEST(key_files)
{
	struct lmi_sign_public k;
	struct lmi_sign_private p;
	struct lmd_error err = {0};
	struct stat sb;

	ck_assert_int_eq(stat(temp_path("own.key"), &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0600);
	OK(lmi_sign_public_read(&k, temp_path("own.pub"), &err));
	ck_assert_str_eq(k.id, key.public_key.id);
	ck_assert_mem_eq(k.bytes, key.public_key.bytes, sizeof(k.bytes));
	/* nothing is replaced */
	ck_assert_int_eq(lmi_sign_key_create(&k, temp_path("own"), &err), LMD_BUSY);
	ck_assert_int_eq(unlink(temp_path("own.key")), 0);
	ck_assert_int_eq(lmi_sign_key_create(&k, temp_path("own"), &err), LMD_BUSY);
	ck_assert_int_ne(access(temp_path("own.key"), F_OK), 0);
	/* others may not read a private key */
	ck_assert_int_eq(chmod(temp_path("foreign.key"), 0640), 0);
	ck_assert_int_eq(lmi_sign_private_read(&p, temp_path("foreign.key"), &err), LMD_DENIED);
	ck_assert_ptr_nonnull(strstr(err.text, "mode 0640"));
	ck_assert_int_eq(chmod(temp_path("foreign.key"), 0600), 0);
	/* the wrong half, no key, too much */
	ck_assert_int_eq(lmi_sign_public_read(&k, temp_path("foreign.key"), &err), LMD_INVALID);
	ck_assert_int_eq(chmod(temp_path("own.pub"), 0600), 0);
	ck_assert_int_eq(lmi_sign_private_read(&p, temp_path("own.pub"), &err), LMD_INVALID);
	temp_write("none.pub", "no key\n", 7);
	ck_assert_int_eq(lmi_sign_public_read(&k, temp_path("none.pub"), &err), LMD_INVALID);
	write_file("long.pub", LMI_SIGN_KEY_FILE_BYTES + 1, 1);
	ck_assert_int_eq(lmi_sign_public_read(&k, temp_path("long.pub"), &err), LMD_INVALID);
	ck_assert_int_eq(lmi_sign_public_read(&k, temp_path("missing"), &err), LMD_NOTFOUND);
}
END_TEST

/* RFC 8032, section 7.1, test 3. */
START_TEST(a_known_signature)
{
	static const uint8_t text[] = {0xaf, 0x82};
	const struct lmi_sign_public k = {
		.bytes = {0xfc, 0x51, 0xcd, 0x8e, 0x62, 0x18, 0xa1, 0xa3, 0x8d, 0xa4, 0x7e,
			  0xd0, 0x02, 0x30, 0xf0, 0x58, 0x08, 0x16, 0xed, 0x13, 0xba, 0x33,
			  0x03, 0xac, 0x5d, 0xeb, 0x91, 0x15, 0x48, 0x90, 0x80, 0x25}};
	uint8_t sig[LMI_SIGN_SIGNATURE_BYTES] = {
		0x62, 0x91, 0xd6, 0x57, 0xde, 0xec, 0x24, 0x02, 0x48, 0x27, 0xe6, 0x9c, 0x3a,
		0xbe, 0x01, 0xa3, 0x0c, 0xe5, 0x48, 0xa2, 0x84, 0x74, 0x3a, 0x44, 0x5e, 0x36,
		0x80, 0xd7, 0xdb, 0x5a, 0xc3, 0xac, 0x18, 0xff, 0x9b, 0x53, 0x8d, 0x16, 0xf2,
		0x90, 0xae, 0x67, 0xf7, 0x60, 0x98, 0x4d, 0xc6, 0x59, 0x4a, 0x7c, 0x15, 0xe9,
		0x71, 0x6e, 0xd2, 0x8d, 0xc0, 0x27, 0xbe, 0xce, 0xea, 0x1e, 0xc4, 0x0a};

	ck_assert(lmi_sign_bytes_ok(&k, text, sizeof(text), sig));
	ck_assert(!lmi_sign_bytes_ok(&k, text, 1, sig));
	sig[63] ^= 1;
	ck_assert(!lmi_sign_bytes_ok(&k, text, sizeof(text), sig));
}
END_TEST

/* ---- one file ---- */

START_TEST(a_file)
{
	struct lmd_error err = {0};

	write_file("m.gguf", BYTES, 1);
	STATE("m.gguf", LMI_SIGN_NONE);
	sign("m.gguf");
	STATE("m.gguf", LMI_SIGN_VALID);
	/* its name does not matter, the manifest's does */
	ck_assert_int_eq(rename(temp_path("m.gguf"), temp_path("n.gguf")), 0);
	STATE("n.gguf", LMI_SIGN_NONE);
	ck_assert_int_eq(rename(temp_path("m.gguf.sig"), temp_path("n.gguf.sig")), 0);
	STATE("n.gguf", LMI_SIGN_VALID);
	ck_assert_int_eq(unlink(temp_path("n.gguf")), 0);
	ck_assert_int_eq(state_of("n.gguf", &err), LMI_SIGN_CHANGED);
	ck_assert_ptr_nonnull(strstr(err.text, "missing"));
	/* an empty file, and files of one chunk and of exactly two */
	for (size_t n = 0; n <= 2 * CHUNK; n = n == 0 ? CHUNK - 1 : n + 1 == CHUNK ? CHUNK : n + CHUNK) {
		write_file("e", n, 3);
		sign("e");
		STATE("e", LMI_SIGN_VALID);
		if (n)
			flip("e", (long)n - 1, 0x80);
		else
			write_file("e", 1, 3);
		STATE("e", LMI_SIGN_CHANGED);
	}
}
END_TEST

START_TEST(a_bit_of_each_chunk)
{
	long at[] = {0, CHUNK - 1, CHUNK, 2 * CHUNK + 77, 3 * CHUNK + 1, 4 * CHUNK, BYTES - 1};
	unsigned chunk[] = {1, 1, 2, 3, 4, 5, 5};

	write_file("m", BYTES, 2);
	sign("m");
	for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		char want[40];
		struct lmd_error err = {0};

		flip("m", at[i], 1 << i % 8);
		ck_assert_int_eq(state_of("m", &err), LMI_SIGN_CHANGED);
		snprintf(want, sizeof(want), "chunk %u of %u,", chunk[i], N_CHUNK);
		ck_assert_msg(strstr(err.text, want) != NULL, "%s: %s", want, err.text);
		ck_assert_ptr_nonnull(strstr(err.text, key.public_key.id));
		flip("m", at[i], 1 << i % 8);
		STATE("m", LMI_SIGN_VALID);
	}
	/* of two, the first is named, whatever the number of threads */
	flip("m", BYTES - 1, 1);
	flip("m", CHUNK, 1);
	for (uint32_t n = 1; n <= 4; n++) {
		const struct lmi_sign_subject s = {.path = model};
		const struct lmi_sign_work work = {.n_threads = n};
		struct lmi_sign_result r;
		struct lmd_error err = {0};

		ck_assert_int_eq(lmi_sign_verify(&r, &s, &key.public_key, 1, &work, &err),
				 LMD_CORRUPT);
		ck_assert_msg(strstr(err.text, "chunk 2 of 5,") != NULL, "%s", err.text);
		lmi_sign_result_fini(&r);
	}
}
END_TEST

START_TEST(other_lengths_and_order)
{
	static uint8_t p[BYTES], q[CHUNK];
	struct lmd_error err = {0};

	write_file("m", BYTES, 2);
	sign("m");
	ck_assert_int_eq(truncate(temp_path("m"), BYTES - 1), 0);
	ck_assert_int_eq(state_of("m", &err), LMI_SIGN_CHANGED);
	ck_assert_ptr_nonnull(strstr(err.text, "bytes, but"));
	ck_assert_int_eq(truncate(temp_path("m"), 4 * CHUNK), 0);
	STATE("m", LMI_SIGN_CHANGED);
	ck_assert_int_eq(truncate(temp_path("m"), 0), 0);
	STATE("m", LMI_SIGN_CHANGED);
	write_file("m", BYTES + 1, 2);
	STATE("m", LMI_SIGN_CHANGED);
	/* two chunks change places */
	fill(p, sizeof(p), 2);
	temp_write("m", p, sizeof(p));
	STATE("m", LMI_SIGN_VALID);
	memcpy(q, p + CHUNK, CHUNK);
	memcpy(p + CHUNK, p + 2 * CHUNK, CHUNK);
	memcpy(p + 2 * CHUNK, q, CHUNK);
	temp_write("m", p, sizeof(p));
	STATE("m", LMI_SIGN_CHANGED);
}
END_TEST

/* ---- the manifest ---- */

START_TEST(every_bit_of_a_manifest)
{
	struct lmd_error err = {0};
	size_t n;
	char *text;

	write_file("m", BYTES, 2);
	sign("m");
	OK(lmi_file_read_all(temp_path("m.sig"), 1 << 20, &text, &n, &err));
	for (size_t i = 0; i < 8 * n; i++) {
		enum lmi_sign_state is;

		text[i / 8] ^= (char)(1 << i % 8);
		temp_write("m.sig", text, n);
		is = state_of("m", &err);
		ck_assert_msg(is == LMI_SIGN_BAD_MANIFEST || is == LMI_SIGN_UNKNOWN_KEY,
			      "bit %zu: %s", i, lmi_sign_state_word(is));
		text[i / 8] ^= (char)(1 << i % 8);
	}
	for (size_t i = 0; i < n; i++) { /* cut off */
		temp_write("m.sig", text, i);
		STATE("m", LMI_SIGN_BAD_MANIFEST);
	}
	text[n] = '\n'; /* in place of the zero */
	temp_write("m.sig", text, n + 1);
	STATE("m", LMI_SIGN_BAD_MANIFEST);
	lmi_free(text);
}
END_TEST

START_TEST(other_keys)
{
	const struct lmi_sign_subject s = {.path = model};
	char path[LMI_SIGN_PATH_MAX], real[LMI_SIGN_KEY_ID];
	struct lmi_sign_result r;
	struct lmd_error err = {0};

	write_file("m", BYTES, 2);
	OK(lmi_sign_make(path, temp_path("m"), &other, CHUNK, &quiet, &err));
	ck_assert_int_eq(state_of("m", &err), LMI_SIGN_UNKNOWN_KEY);
	ck_assert_ptr_nonnull(strstr(err.text, other.public_key.id));
	/* signed by another key that claims to be the trusted one */
	memcpy(real, other.public_key.id, sizeof(real));
	memcpy(other.public_key.id, key.public_key.id, sizeof(real));
	OK(lmi_sign_make(path, temp_path("m"), &other, CHUNK, &quiet, &err));
	memcpy(other.public_key.id, real, sizeof(real));
	STATE("m", LMI_SIGN_BAD_MANIFEST);
	/* no key at all */
	sign("m");
	ck_assert_int_eq(lmi_sign_verify(&r, &s, NULL, 0, &quiet, &err), LMD_DENIED);
	ck_assert_int_eq(r.state, LMI_SIGN_UNKNOWN_KEY);
	/* the manifest of another file */
	write_file("o", BYTES, 3);
	sign("o");
	ck_assert_int_eq(rename(temp_path("o.sig"), temp_path("m.sig")), 0);
	STATE("m", LMI_SIGN_CHANGED);
}
END_TEST

#define HEAD  "llamad-model-manifest 1\nkey 0123456789abcdef\nchunk 65536\n"
#define HEX16 "0123456789abcdef"
#define SHA   "sha256 " HEX16 HEX16 HEX16 HEX16 "\n"

/* What somebody with a trusted key may have signed all the same. */
START_TEST(bodies)
{
	static const struct {
		const char *text;
		bool ok;
	} table[] = {
		{HEAD "file 1 a\n" SHA, true},
		{HEAD "file 0 a\nfile 65537 b c\n" SHA SHA, true},
		{HEAD, false},				     /* no file */
		{HEAD "file 1 a\n", false},		     /* no chunk */
		{HEAD "file 0 a\n" SHA, false},		     /* a chunk too many */
		{HEAD "file 65537 a\n" SHA, false},	     /* one too few */
		{HEAD "file 01 a\n" SHA, false},	     /* leading zeros */
		{HEAD "file -1 a\n" SHA, false},
		{HEAD "file 18446744073709551617 a\n" SHA, false},
		{HEAD "file 1125899906842625 a\n" SHA, false}, /* more than 2^50 */
		{HEAD "file 1  a\n" SHA, true},		     /* the name is " a" */
		{HEAD "file 1 \n" SHA, false},
		{HEAD "file 1 .\n" SHA, false},
		{HEAD "file 1 ..\n" SHA, false},
		{HEAD "file 1 ../a\n" SHA, false},
		{HEAD "file 1 /etc/passwd\n" SHA, false},
		{HEAD "file 1 a\tb\n" SHA, false},
		{HEAD "file 1 b\n" SHA "file 1 a\n" SHA, false}, /* order */
		{HEAD "file 1 a\n" SHA "file 1 a\n" SHA, false},
		{HEAD "file 1 a\n" SHA "more\n", false},
		{HEAD "file 1 a\nsha256 " HEX16 "\n", false},
		{HEAD "file 1 a\n" "sha256 0123456789ABCDEF" HEX16 HEX16 HEX16 "\n", false},
		{"llamad-model-manifest 2\nkey " HEX16 "\nchunk 65536\nfile 1 a\n" SHA, false},
		{"llamad-model-manifest 1\nkey " HEX16 "\nchunk 65535\nfile 1 a\n" SHA, false},
		{"llamad-model-manifest 1\nkey " HEX16 "\nchunk 32768\nfile 1 a\n" SHA, false},
		{"llamad-model-manifest 1\nkey " HEX16 "\nchunk 134217728\nfile 1 a\n" SHA, false},
		{"llamad-model-manifest 1\nkey " HEX16 "\nchunk 0\nfile 1 a\n" SHA, false},
	};

	for (size_t i = 0; i < LMD_LEN(table); i++) {
		struct lmi_sign_manifest m = {0};
		struct lmd_error err = {0};
		enum lmd_status st = lmi_sign_manifest_parse(&m, table[i].text,
							     strlen(table[i].text), &err);

		ck_assert_msg((st == LMD_OK) == table[i].ok, "row %zu: %s", i, err.text);
		ck_assert(st == LMD_OK || (st == LMD_CORRUPT && *err.text));
		lmi_sign_manifest_fini(&m);
	}
}
END_TEST

/* ---- several files ---- */

static void make_folder(void)
{
	ck_assert_int_eq(mkdir(temp_path("f"), 0700), 0);
	write_file("f/config.json", 300, 1);
	write_file("f/a.safetensors", BYTES, 2);
	write_file("f/b.safetensors", BYTES, 3);
	write_file("f/empty", 0, 0);
	write_file("f/.hidden", 10, 4);
	sign("f");
}

START_TEST(a_folder)
{
	struct lmd_error err = {0};

	make_folder();
	STATE("f", LMI_SIGN_VALID);
	STATE("f/", LMI_SIGN_VALID);
	STATE("f/config.json", LMI_SIGN_VALID);
	STATE("f/a.safetensors", LMI_SIGN_VALID);
	flip("f/.hidden", 1, 1); /* not part of it */
	write_file("f/README", 10, 4);
	STATE("f", LMI_SIGN_VALID);
	/* two files change places */
	ck_assert_int_eq(rename(temp_path("f/a.safetensors"), temp_path("f/t")), 0);
	ck_assert_int_eq(rename(temp_path("f/b.safetensors"), temp_path("f/a.safetensors")), 0);
	ck_assert_int_eq(rename(temp_path("f/t"), temp_path("f/b.safetensors")), 0);
	ck_assert_int_eq(state_of("f", &err), LMI_SIGN_CHANGED);
	ck_assert_ptr_nonnull(strstr(err.text, "a.safetensors: chunk 1 of 5"));
	sign("f");
	STATE("f", LMI_SIGN_VALID);
	flip("f/config.json", 299, 4);
	STATE("f", LMI_SIGN_CHANGED);
	flip("f/config.json", 299, 4);
	STATE("f", LMI_SIGN_VALID);
	ck_assert_int_eq(unlink(temp_path("f/empty")), 0);
	STATE("f", LMI_SIGN_CHANGED);
	ck_assert_int_eq(mkdir(temp_path("f/empty"), 0700), 0);
	STATE("f", LMI_SIGN_CHANGED);
}
END_TEST

START_TEST(a_set_of_parts)
{
	char a[160], b[160];
	const char *const files[] = {a, b}, *const exchanged[] = {b, a};
	struct lmi_sign_subject s = {.path = a, .files = files, .n_files = 2};
	struct lmi_sign_result r;
	struct lmd_error err = {0};

	write_file("m-00001-of-00002.gguf", BYTES, 1);
	write_file("m-00002-of-00002.gguf", BYTES, 2);
	sign("m-00001-of-00002.gguf");
	STATE("m-00001-of-00002.gguf", LMI_SIGN_VALID);
	flip("m-00002-of-00002.gguf", 5, 1);
	STATE("m-00001-of-00002.gguf", LMI_SIGN_CHANGED);
	flip("m-00002-of-00002.gguf", 5, 1);
	/* under other names, as a store has them: their order counts */
	snprintf(a, sizeof(a), "%s", temp_path("x"));
	snprintf(b, sizeof(b), "%s", temp_path("y"));
	ck_assert_int_eq(rename(temp_path("m-00001-of-00002.gguf"), a), 0);
	ck_assert_int_eq(rename(temp_path("m-00002-of-00002.gguf"), b), 0);
	ck_assert_int_eq(rename(temp_path("m-00001-of-00002.gguf.sig"), temp_path("x.sig")), 0);
	OK(lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, &err));
	ck_assert_uint_eq(r.n_files, 2);
	lmi_sign_result_fini(&r);
	s.files = exchanged;
	ck_assert_int_eq(lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, &err), LMD_CORRUPT);
	lmi_sign_result_fini(&r);
	s.n_files = 3;
	ck_assert_int_eq(lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, &err), LMD_CORRUPT);
	lmi_sign_result_fini(&r);
}
END_TEST

/* ---- cancelling and remembering ---- */

struct steps {
	unsigned n, stop_at;
	struct lmi_cancel *word;
	uint64_t done, total;
};

static bool on_step(void *arg, uint64_t done, uint64_t total)
{
	struct steps *s = arg;

	ck_assert(done >= s->done && done <= total && total == BYTES);
	s->done = done;
	s->total = total;
	if (++s->n == s->stop_at && s->word)
		lmi_cancel_set(s->word);
	return s->n != s->stop_at || s->word;
}

START_TEST(cancelled)
{
	const struct lmi_sign_subject s = {.path = model};
	struct lmi_cancel word = {0};
	struct steps steps = {0};
	struct lmi_sign_work work = {.progress = on_step, .arg = &steps, .n_threads = 1};
	struct lmi_sign_result r;
	struct lmd_error err = {0};
	char path[LMI_SIGN_PATH_MAX];

	write_file("m", BYTES, 2);
	sign("m");
	OK(lmi_sign_verify(&r, &s, &key.public_key, 1, &work, &err));
	ck_assert_uint_eq(steps.done, BYTES);
	ck_assert_uint_eq(r.hashed, BYTES);
	lmi_sign_result_fini(&r);
	write_file("m", BYTES, 2); /* so that it is not remembered */
	for (unsigned i = 1; i <= N_CHUNK; i++) {
		steps = (struct steps){.stop_at = i};
		ck_assert_int_eq(lmi_sign_verify(&r, &s, &key.public_key, 1, &work, &err),
				 LMD_CANCELLED);
		ck_assert_int_eq(r.state, LMI_SIGN_UNKNOWN);
		ck_assert_uint_eq(steps.n, i);
		lmi_sign_result_fini(&r);
		steps = (struct steps){.stop_at = i};
		ck_assert_int_eq(lmi_sign_make(path, temp_path("m"), &key, CHUNK, &work, &err),
				 LMD_CANCELLED);
	}
	/* by the cancel word, which reaches the other threads as well */
	for (uint32_t n = 1; n <= 3; n++) {
		word = (struct lmi_cancel){0};
		steps = (struct steps){.stop_at = 1, .word = &word};
		work.n_threads = n;
		(void)lmi_cancel_attach(&word);
		if (n == 3)
			lmi_cancel_set(&word); /* before it begins */
		ck_assert_int_eq(lmi_sign_verify(&r, &s, &key.public_key, 1, &work, &err),
				 LMD_CANCELLED);
		(void)lmi_cancel_attach(NULL);
		lmi_sign_result_fini(&r);
	}
}
END_TEST

START_TEST(remembered)
{
	const struct lmi_sign_subject s = {.path = model};
	struct lmi_sign_result r;
	struct lmd_error err = {0};

	write_file("m", BYTES, 2);
	sign("m");
	/* as soon as the clock of files has gone on, it is hashed for the last time */
	do {
		OK(lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, &err));
		lmi_sign_result_fini(&r);
	} while (r.hashed);
	/* another inode is another file, with whatever times */
	ck_assert_int_eq(rename(temp_path("m"), temp_path("old")), 0);
	write_file("m", BYTES, 2);
	OK(lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, &err));
	ck_assert_uint_eq(r.hashed, BYTES);
	lmi_sign_result_fini(&r);
	/* the times of modification can be set back, that of the change cannot */
	do {
		OK(lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, &err));
		lmi_sign_result_fini(&r);
	} while (r.hashed);
	{
		struct timespec times[2];
		struct stat sb;

		ck_assert_int_eq(stat(temp_path("m"), &sb), 0);
		flip("m", 99, 1);
		times[0] = sb.st_atim;
		times[1] = sb.st_mtim;
		ck_assert_int_eq(utimensat(AT_FDCWD, temp_path("m"), times, 0), 0);
	}
	STATE("m", LMI_SIGN_CHANGED);
	/* remembered with other contents: another manifest does not profit */
	sign("m");
	STATE("m", LMI_SIGN_VALID);
	write_file("o", BYTES, 3);
	sign("o");
	ck_assert_int_eq(rename(temp_path("o.sig"), temp_path("m.sig")), 0);
	STATE("m", LMI_SIGN_CHANGED);
}
END_TEST

START_TEST(allocations_fail)
{
	char folder[160];
	const struct lmi_sign_subject s = {.path = folder};
	struct lmi_alloc_stats before, after;
	struct lmd_error err = {0};
	uint64_t n = 0;
	enum lmd_status st;

	snprintf(folder, sizeof(folder), "%s", temp_path("f"));
	make_folder();
	lmi_alloc_stats(&before);
	do {
		struct lmi_sign_result r;

		lmi_alloc_fail_nth(++n, false);
		st = lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, &err);
		lmi_sign_result_fini(&r);
		ck_assert(st == LMD_OK || st == LMD_NOMEM);
		ck_assert(lmi_alloc_did_fail() || st == LMD_OK);
	} while (lmi_alloc_did_fail());
	ck_assert_uint_gt(n, 5);
	lmi_alloc_fail_nth(0, false);
	lmi_alloc_stats(&after);
	ck_assert_uint_eq(before.n_live, after.n_live);
	/* a file that cannot be read */
	n = 0;
	do {
		struct lmi_sign_result r;

		write_file("f/a.safetensors", BYTES, 2); /* so that it is not remembered */
		lmi_file_fail_nth(++n, LMI_FILE_FAULT_EIO);
		st = lmi_sign_verify(&r, &s, &key.public_key, 1, &quiet, &err);
		ck_assert_int_eq(st, lmi_file_did_fail() ? LMD_IO : LMD_OK);
		lmi_sign_result_fini(&r);
	} while (lmi_file_did_fail());
	ck_assert_uint_gt(n, 5);
	lmi_file_fail_nth(0, LMI_FILE_FAULT_EIO);
}
END_TEST

/* ---- the policy ---- */

static unsigned n_warn;

static void on_warn(void *arg, const char *text)
{
	ck_assert_ptr_null(arg);
	ck_assert(*text);
	n_warn++;
}

static void policy(enum lmi_sign_mode mode)
{
	const char *const keys[] = {temp_path("trusted")};
	const struct lmi_sign_policy_opts o = {
		.mode = mode, .keys = keys, .n_keys = 1, .warn = on_warn};
	struct lmd_error err = {0};

	OK(lmi_sign_policy_set(&o, &err));
}

static void trust_own_key(void)
{
	size_t n;
	char *text;
	struct lmd_error err = {0};

	ck_assert_int_eq(mkdir(temp_path("trusted"), 0700), 0);
	OK(lmi_file_read_all(temp_path("own.pub"), 4096, &text, &n, &err));
	temp_write("trusted/own.pub", text, n);
	temp_write("trusted/notes.txt", "no key", 6);
	lmi_free(text);
}

/* Puts the file "m" into a state. */
static void make_state(enum lmi_sign_state state)
{
	char path[LMI_SIGN_PATH_MAX];
	struct lmd_error err = {0};

	write_file("m", BYTES, 2);
	(void)unlink(temp_path("m.sig"));
	if (state == LMI_SIGN_UNKNOWN_KEY)
		OK(lmi_sign_make(path, temp_path("m"), &other, CHUNK, &quiet, &err));
	else if (state != LMI_SIGN_NONE)
		sign("m");
	if (state == LMI_SIGN_BAD_MANIFEST)
		flip("m.sig", 60, 1);
	if (state == LMI_SIGN_CHANGED)
		flip("m", BYTES / 2, 1);
}

START_TEST(policies)
{
	static const enum lmd_status require[] = {
		[LMI_SIGN_VALID] = LMD_OK,
		[LMI_SIGN_NONE] = LMD_DENIED,
		[LMI_SIGN_UNKNOWN_KEY] = LMD_DENIED,
		[LMI_SIGN_BAD_MANIFEST] = LMD_CORRUPT,
		[LMI_SIGN_CHANGED] = LMD_CORRUPT,
	};

	trust_own_key();
	for (int mode = LMI_SIGN_OFF; mode <= LMI_SIGN_REQUIRE; mode++) {
		for (int state = LMI_SIGN_VALID; state <= LMI_SIGN_CHANGED; state++) {
			struct lmi_sign_scope scope;
			struct lmd_error err = {0};
			struct lmi_file f;
			enum lmd_status st, want = mode == LMI_SIGN_REQUIRE ? require[state] : LMD_OK;
			unsigned warnings = mode == LMI_SIGN_WARN && state != LMI_SIGN_VALID;

			make_state((enum lmi_sign_state)state);
			policy((enum lmi_sign_mode)mode);
			n_warn = 0;
			st = lmi_sign_scope_begin_path(&scope, temp_path("m"), &err);
			ck_assert_msg(st == want, "mode %d, state %d: %s", mode, state, err.text);
			ck_assert_uint_eq(n_warn, warnings);
			if (st == LMD_OK) {
				OK(lmi_file_open(&f, temp_path("m"), &err));
				lmi_file_close(&f);
			}
			ck_assert_uint_eq(n_warn, warnings);
			lmi_sign_scope_end(&scope);
		}
	}
}
END_TEST

/* Inside of a scope only what was checked can be opened. */
START_TEST(only_checked_files)
{
	struct lmi_sign_scope scope, inner;
	struct lmd_error err = {0};
	struct lmi_file f;

	trust_own_key();
	make_folder();
	write_file("f/extra", 10, 1);
	policy(LMI_SIGN_REQUIRE);
	OK(lmi_sign_scope_begin_path(&scope, temp_path("f"), &err));
	OK(lmi_file_open(&f, temp_path("f/config.json"), &err));
	lmi_file_close(&f);
	ck_assert_int_eq(lmi_file_open(&f, temp_path("f/extra"), &err), LMD_DENIED);
	ck_assert_int_eq(f.fd, -1);
	ck_assert_ptr_nonnull(strstr(err.text, "extra"));
	/* a scope inside of it changes nothing */
	OK(lmi_sign_scope_begin_path(&inner, temp_path("f/extra"), &err));
	ck_assert_int_eq(lmi_file_open(&f, temp_path("f/extra"), &err), LMD_DENIED);
	lmi_sign_scope_end(&inner);
	ck_assert_int_eq(lmi_file_open(&f, temp_path("f/extra"), &err), LMD_DENIED);
	/* replaced after the check, by the same bytes even */
	ck_assert_int_eq(unlink(temp_path("f/b.safetensors")), 0);
	write_file("f/b.safetensors", BYTES, 3);
	ck_assert_int_eq(lmi_file_open(&f, temp_path("f/b.safetensors"), &err), LMD_DENIED);
	lmi_sign_scope_end(&scope);
	OK(lmi_file_open(&f, temp_path("f/extra"), &err));
	lmi_file_close(&f);
	/* a warning does not forbid */
	policy(LMI_SIGN_WARN);
	OK(lmi_sign_scope_begin_path(&scope, temp_path("f"), &err));
	n_warn = 0;
	OK(lmi_file_open(&f, temp_path("f/extra"), &err));
	lmi_file_close(&f);
	ck_assert_uint_eq(n_warn, 1);
	lmi_sign_scope_end(&scope);
}
END_TEST

START_TEST(policies_without_keys)
{
	char folder[160];
	const char *const missing[] = {model}, *const empty[] = {folder};
	struct lmi_sign_policy_opts o = {.mode = LMI_SIGN_REQUIRE};
	struct lmi_sign_scope scope;
	struct lmd_error err = {0};

	trust_own_key();
	policy(LMI_SIGN_REQUIRE);
	ck_assert_int_eq(lmi_sign_policy_set(&o, &err), LMD_INVALID);
	o.keys = missing;
	o.n_keys = 1;
	ck_assert_int_eq(lmi_sign_policy_set(&o, &err), LMD_NOTFOUND);
	write_file("m", BYTES, 1);
	snprintf(folder, sizeof(folder), "%s", temp_path("d"));
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	o.keys = empty;
	ck_assert_int_eq(lmi_sign_policy_set(&o, &err), LMD_INVALID);
	temp_write("d/bad.pub", "x", 1);
	ck_assert_int_eq(lmi_sign_policy_set(&o, &err), LMD_INVALID);
	/* the old policy holds */
	ck_assert_int_eq(lmi_sign_scope_begin_path(&scope, temp_path("m"), &err), LMD_DENIED);
	lmi_sign_scope_end(&scope);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sign");
	TCase *c = tcase_create("sign");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, key_files);
	tcase_add_test(c, a_known_signature);
	tcase_add_test(c, a_file);
	tcase_add_test(c, a_bit_of_each_chunk);
	tcase_add_test(c, other_lengths_and_order);
	tcase_add_test(c, every_bit_of_a_manifest);
	tcase_add_test(c, other_keys);
	tcase_add_test(c, bodies);
	tcase_add_test(c, a_folder);
	tcase_add_test(c, a_set_of_parts);
	tcase_add_test(c, cancelled);
	tcase_add_test(c, remembered);
	tcase_add_test(c, allocations_fail);
	tcase_add_test(c, policies);
	tcase_add_test(c, only_checked_files);
	tcase_add_test(c, policies_without_keys);
	suite_add_tcase(s, c);
	return lmd_check_run(srunner_create(s));
}
