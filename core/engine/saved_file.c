/* SPDX-License-Identifier: MIT
 *
 * The file of saved rows. Its length is compared with what the head announces before anything is
 * allocated, so that no number in it can ask for more memory than the file itself has. */
#include "core/engine/saved_file.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/bytes.h"
#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/quant/quant.h"

#define PIECE_BYTES (1u << 20)

/* Offsets in the head. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 8,
	AT_PAGE_TOKENS = 12,
	AT_K_DTYPE = 16,
	AT_V_DTYPE = 20,
	AT_N_TOKEN = 24,
	AT_ZERO = 28,
	AT_N_BYTES = 32,
	AT_MODEL = 40,
	AT_ADAPTER = 72,
	AT_LAYOUT = 104,
	AT_NAME = 136,
	AT_DIGEST = 200, /* of the bytes before it, the tokens and the digests of the rows */
	HEAD_BYTES = 232
};

static const char magic[8] = {'l', 'm', 'd', 's', 'e', 's', 's', '1'};

static uint64_t n_piece(uint64_t n_bytes)
{
	return n_bytes / PIECE_BYTES + (n_bytes % PIECE_BYTES != 0);
}

uint64_t lmi_engine_saved_file_bytes(uint32_t n_token, uint64_t n_bytes)
{
	return HEAD_BYTES + (uint64_t)n_token * 4 + n_piece(n_bytes) * LMI_SHA256_BYTES + n_bytes;
}

static enum lmd_status digest_of(uint8_t out[LMI_SHA256_BYTES], const void *a, size_t n_a,
				 const void *b, size_t n_b, struct lmd_error *err)
{
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	lmi_sha256_update(&h, a, n_a);
	lmi_sha256_update(&h, b, n_b);
	return lmi_sha256_final(&h, out)
		       ? LMD_OK
		       : lmd_fail(err, LMD_CANCELLED, "the digest of a session was cancelled");
}

/* ---- writing ---- */

/* out: zeros. */
static void copy_name(char *out, const char *name)
{
	for (size_t i = 0; i + 1 < LMI_ENGINE_SAVED_MODEL && name[i]; i++)
		out[i] = name[i] > 32 && name[i] < 127 ? name[i] : '_';
}

static void put_head(uint8_t *b, const struct lmi_engine_saved_head *head,
		     const struct lmi_engine_saved *s)
{
	memset(b, 0, HEAD_BYTES);
	memcpy(b + AT_MAGIC, magic, sizeof(magic));
	lmi_put_le32(b + AT_VERSION, LMI_ENGINE_SAVED_VERSION);
	lmi_put_le32(b + AT_PAGE_TOKENS, head->layout.page_tokens);
	lmi_put_le32(b + AT_K_DTYPE, head->layout.k_dtype);
	lmi_put_le32(b + AT_V_DTYPE, head->layout.v_dtype);
	lmi_put_le32(b + AT_N_TOKEN, s->n_token);
	lmi_put_le64(b + AT_N_BYTES, s->n_bytes);
	memcpy(b + AT_MODEL, head->model, LMI_ENGINE_DIGEST_BYTES);
	memcpy(b + AT_ADAPTER, head->adapter, LMI_ENGINE_DIGEST_BYTES);
	memcpy(b + AT_LAYOUT, head->layout.digest, LMI_ENGINE_DIGEST_BYTES);
	copy_name((char *)b + AT_NAME, head->model_name);
}

/* Fills in the head, the tokens and the digests. */
static enum lmd_status put_all(uint8_t *b, size_t n, const struct lmi_engine_saved_head *head,
			       const struct lmi_engine_saved *s, struct lmd_error *err)
{
	uint8_t *at = b + HEAD_BYTES;
	enum lmd_status st = LMD_OK;

	put_head(b, head, s);
	for (uint32_t i = 0; i < s->n_token; i++, at += 4)
		lmi_put_le32(at, (uint32_t)s->tokens[i]);
	for (uint64_t i = 0; i < s->n_bytes && st == LMD_OK; i += PIECE_BYTES) {
		uint64_t len = s->n_bytes - i < PIECE_BYTES ? s->n_bytes - i : PIECE_BYTES;

		st = digest_of(at, s->bytes + i, len, NULL, 0, err);
		at += LMI_SHA256_BYTES;
	}
	return st == LMD_OK ? digest_of(b + AT_DIGEST, b, AT_DIGEST, b + HEAD_BYTES, n - HEAD_BYTES,
					err)
			    : st;
}

enum lmd_status lmi_engine_saved_write(const char *path, const struct lmi_engine_saved_head *head,
				       const struct lmi_engine_saved *saved, uint64_t *file_bytes,
				       struct lmd_error *err)
{
	struct lmi_new_file f = {.fd = -1};
	enum lmd_status st;
	uint8_t *b;
	size_t n;

	*file_bytes = lmi_engine_saved_file_bytes(saved->n_token, saved->n_bytes);
	n = (size_t)(*file_bytes - saved->n_bytes);
	b = lmi_alloc(1, n);
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "no memory for a session of %u tokens",
				saved->n_token);
	st = put_all(b, n, head, saved, err);
	if (st == LMD_OK)
		st = lmi_new_file_open(&f, path, 0600, err);
	if (st == LMD_OK) {
		st = lmi_new_file_write(&f, b, n, err);
		if (st == LMD_OK)
			st = lmi_new_file_write(&f, saved->bytes, saved->n_bytes, err);
		if (st == LMD_OK)
			st = lmi_new_file_commit(&f, err);
		else
			lmi_new_file_abort(&f);
	}
	lmi_free(b);
	return st;
}

/* ---- reading ---- */

static enum lmd_status corrupt(struct lmd_error *err, const char *path, const char *why)
{
	return lmd_fail(err, LMD_CORRUPT, "%s: %s", lmi_file_base_name(path), why);
}

/* Refuses a state file of llama.cpp, which begins with one of these numbers and a version (its public header).
 * What comes after the tokens is laid out as that program's version wants. */
static enum lmd_status refuse_llama_cpp(const uint8_t *b, const char *path, struct lmd_error *err)
{
	static const char *const names[] = {"ggsn", "ggsq"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (b[0] == names[i][3] && b[1] == names[i][2] && b[2] == names[i][1] && b[3] == names[i][0])
			return lmd_fail(err, LMD_UNSUPPORTED,
					"%s: a state file of llama.cpp (%s, version %u), whose rows only that "
					"program can read; send the text again",
					lmi_file_base_name(path), names[i], lmi_get_le32(b + 4));
	return LMD_OK;
}

/* Checks the fixed part alone. */
static enum lmd_status get_head(struct lmi_engine_saved_head *out, const uint8_t *b,
				const struct lmi_file *f, const char *path, struct lmd_error *err)
{
	enum lmd_status st = refuse_llama_cpp(b, path, err);

	if (st != LMD_OK)
		return st;
	if (memcmp(b + AT_MAGIC, magic, sizeof(magic)) != 0)
		return corrupt(err, path, "not a saved session");
	if (lmi_get_le32(b + AT_VERSION) != LMI_ENGINE_SAVED_VERSION)
		return lmd_fail(err, LMD_UNSUPPORTED, "%s: version %u of saved sessions; known is %u",
				lmi_file_base_name(path), lmi_get_le32(b + AT_VERSION),
				LMI_ENGINE_SAVED_VERSION);
	*out = (struct lmi_engine_saved_head){
		.layout = {.page_tokens = lmi_get_le32(b + AT_PAGE_TOKENS),
			   .k_dtype = lmi_get_le32(b + AT_K_DTYPE),
			   .v_dtype = lmi_get_le32(b + AT_V_DTYPE)},
		.n_token = lmi_get_le32(b + AT_N_TOKEN),
		.n_bytes = lmi_get_le64(b + AT_N_BYTES),
		.file_bytes = f->bytes};
	if (!out->n_token || out->n_token > LMI_ENGINE_SAVED_TOKENS)
		return corrupt(err, path, "its number of tokens is out of range");
	if (out->n_bytes > f->bytes ||
	    lmi_engine_saved_file_bytes(out->n_token, out->n_bytes) != f->bytes)
		return corrupt(err, path, "its length is not the one that its head announces");
	memcpy(out->model, b + AT_MODEL, LMI_ENGINE_DIGEST_BYTES);
	memcpy(out->adapter, b + AT_ADAPTER, LMI_ENGINE_DIGEST_BYTES);
	memcpy(out->layout.digest, b + AT_LAYOUT, LMI_ENGINE_DIGEST_BYTES);
	copy_name(out->model_name, (const char *)b + AT_NAME);
	return LMD_OK;
}

/* Reads up to the rows, into memory that the caller frees; *n: bytes. */
static enum lmd_status read_front(const struct lmi_file *f, const char *path,
				  struct lmi_engine_saved_head *head, uint8_t **out, size_t *n,
				  struct lmd_error *err)
{
	uint8_t fixed[HEAD_BYTES], digest[LMI_SHA256_BYTES], *b;
	enum lmd_status st;

	if (f->bytes < HEAD_BYTES)
		return corrupt(err, path, "too short for a saved session");
	st = lmi_file_read(f, 0, fixed, sizeof(fixed), err);
	if (st == LMD_OK)
		st = get_head(head, fixed, f, path, err);
	if (st != LMD_OK)
		return st;
	*n = (size_t)(f->bytes - head->n_bytes);
	b = lmi_alloc(1, *n);
	if (!b)
		return lmd_fail(err, LMD_NOMEM, "%s: no memory for %u tokens",
				lmi_file_base_name(path), head->n_token);
	st = lmi_file_read(f, 0, b, *n, err);
	if (st == LMD_OK)
		st = digest_of(digest, b, AT_DIGEST, b + HEAD_BYTES, *n - HEAD_BYTES, err);
	/* read twice: it may have changed in between */
	if (st == LMD_OK && (memcmp(b, fixed, sizeof(fixed)) != 0 ||
			     memcmp(digest, b + AT_DIGEST, sizeof(digest)) != 0))
		st = corrupt(err, path, "damaged: its head does not have its checksum");
	if (st == LMD_OK)
		*out = b;
	else
		lmi_free(b);
	return st;
}

static lmd_token *copy_tokens(const uint8_t *b, uint32_t n, lmd_token *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (lmd_token)lmi_get_le32(b + (size_t)i * 4);
	return out;
}

enum lmd_status lmi_engine_saved_read_head(const char *path, struct lmi_engine_saved_head *out,
					   lmd_token **own_tokens, struct lmd_error *err)
{
	struct lmi_file f = {.fd = -1};
	enum lmd_status st = lmi_file_open(&f, path, err);
	uint8_t *b = NULL;
	lmd_token *v;
	size_t n;

	if (st != LMD_OK)
		return st;
	st = read_front(&f, path, out, &b, &n, err);
	lmi_file_close(&f);
	if (st != LMD_OK || !own_tokens) {
		lmi_free(b);
		return st;
	}
	v = lmi_alloc(out->n_token, sizeof(*v));
	if (v)
		*own_tokens = copy_tokens(b + HEAD_BYTES, out->n_token, v);
	lmi_free(b);
	return v ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for %u tokens", out->n_token);
}

static const char *type_name(uint32_t dtype)
{
	const struct lmi_dtype *t = lmi_dtype(dtype);

	return t ? t->name : "an unknown type";
}

enum lmd_status lmi_engine_saved_check(const struct lmi_engine_saved_head *have,
				       const struct lmi_engine_saved_head *want,
				       struct lmd_error *err)
{
	const struct lmi_engine_saved_layout *h = &have->layout, *w = &want->layout;

	if (memcmp(have->model, want->model, sizeof(have->model)) != 0)
		return lmd_fail(err, LMD_INVALID,
				"it was saved with another model (%s), or with other files of %s",
				have->model_name, want->model_name);
	if (memcmp(have->adapter, want->adapter, sizeof(have->adapter)) != 0)
		return lmd_fail(err, LMD_INVALID, "it was saved with other adapters");
	if (h->k_dtype != w->k_dtype || h->v_dtype != w->v_dtype)
		return lmd_fail(err, LMD_INVALID,
				"its keys and values are %s and %s; the model is loaded with %s and "
				"%s",
				type_name(h->k_dtype), type_name(h->v_dtype), type_name(w->k_dtype),
				type_name(w->v_dtype));
	if (h->page_tokens != w->page_tokens)
		return lmd_fail(err, LMD_INVALID,
				"its pages have %u tokens; the model is loaded with %u",
				h->page_tokens, w->page_tokens);
	if (memcmp(h->digest, w->digest, sizeof(h->digest)) != 0)
		return lmd_fail(err, LMD_INVALID,
				"its caches are laid out for other devices, or were computed with "
				"other settings");
	return LMD_OK;
}

/* digests: of the pieces of the rows. */
static enum lmd_status read_rows(const struct lmi_file *f, const char *path, const uint8_t *digests,
				 struct lmi_engine_saved *s, struct lmd_error *err)
{
	uint64_t at = f->bytes - s->n_bytes;
	enum lmd_status st = LMD_OK;

	for (uint64_t i = 0; i < s->n_bytes && st == LMD_OK; i += PIECE_BYTES) {
		uint64_t len = s->n_bytes - i < PIECE_BYTES ? s->n_bytes - i : PIECE_BYTES;
		uint8_t digest[LMI_SHA256_BYTES];

		st = lmi_file_read(f, at + i, s->bytes + i, (size_t)len, err);
		if (st == LMD_OK)
			st = digest_of(digest, s->bytes + i, (size_t)len, NULL, 0, err);
		if (st == LMD_OK && memcmp(digest, digests, sizeof(digest)) != 0)
			st = corrupt(err, path, "damaged: its rows do not have their checksum");
		digests += LMI_SHA256_BYTES;
	}
	return st;
}

enum lmd_status lmi_engine_saved_read(const char *path, const struct lmi_engine_saved_head *want,
				      uint64_t max_bytes, struct lmi_engine_saved **out,
				      struct lmd_error *err)
{
	struct lmi_file f = {.fd = -1};
	struct lmi_engine_saved_head head;
	struct lmi_engine_saved *s = NULL;
	enum lmd_status st = lmi_file_open(&f, path, err);
	uint8_t *b = NULL;
	size_t n;

	if (st != LMD_OK)
		return st;
	st = read_front(&f, path, &head, &b, &n, err);
	if (st == LMD_OK && want)
		st = lmi_engine_saved_check(&head, want, err);
	if (st == LMD_OK && head.n_bytes > max_bytes)
		st = lmd_fail(err, LMD_INVALID, "its rows have %llu bytes; the limit is %llu",
			      (unsigned long long)head.n_bytes, (unsigned long long)max_bytes);
	if (st == LMD_OK && !(s = lmi_engine_saved_create(head.n_token, head.n_bytes)))
		st = lmd_fail(err, LMD_NOMEM, "no memory for %llu bytes of saved rows",
			      (unsigned long long)head.n_bytes);
	if (st == LMD_OK) {
		(void)copy_tokens(b + HEAD_BYTES, s->n_token, s->tokens);
		st = read_rows(&f, path, b + HEAD_BYTES + (size_t)s->n_token * 4, s, err);
	}
	lmi_file_close(&f);
	lmi_free(b);
	if (st == LMD_OK)
		*out = s;
	else
		lmi_engine_saved_destroy(s);
	return st;
}
