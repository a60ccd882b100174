/* SPDX-License-Identifier: MIT
 *
 * llamactl hash: prints the SHA-256 of the files of a model and of the data of each tensor, or
 * checks them against a list. The hash of a file changes with any key; the hash of a tensor stays
 * the same in a set of files, in a single file and under another name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/progress.h"
#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/base/printable.h"
#include "core/checkpoint/open.h"
#include "core/quant/quant.h"

#define PIECE_BYTES    (1u << 20)
#define MANIFEST_BYTES (64u << 20)

struct hashes {
	const struct lmd_model *m;
	const struct lmi_model *model;
	uint32_t n_file, n_tensor; /* files and tensors to hash; 0: none */
	char (*file)[LMI_SHA256_HEX];
	char (*tensor)[LMI_SHA256_HEX];
	uint8_t *buf; /* PIECE_BYTES */
	struct lmi_ctl_progress bar;
	uint64_t done, total;
};

/* ---- reading ---- */

static enum lmd_status no_hash(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory to compute a SHA-256");
}

static enum lmd_status end(struct lmi_sha256 *h, enum lmd_status st, char out[LMI_SHA256_HEX],
			   struct lmd_error *err)
{
	uint8_t digest[LMI_SHA256_BYTES];

	if (st == LMD_OK && lmi_sha256_final(h, digest)) {
		lmi_sha256_hex(out, digest);
		return LMD_OK;
	}
	lmi_sha256_fini(h);
	return st != LMD_OK ? st : no_hash(err);
}

static void take(struct hashes *h, struct lmi_sha256 *sha, size_t n)
{
	lmi_sha256_update(sha, h->buf, n);
	h->done += n;
	lmi_ctl_progress_show(&h->bar, "hash", h->done, h->total);
}

static enum lmd_status hash_file(struct hashes *h, uint32_t i, struct lmd_error *err)
{
	struct lmi_sha256 sha = {0};
	struct lmi_model_file mf;
	struct lmi_file f;
	enum lmd_status st;

	lmi_model_file(h->model, i, &mf);
	st = lmi_file_open(&f, mf.path, err);
	if (st != LMD_OK)
		return st;
	if (!lmi_sha256_init(&sha))
		st = no_hash(err);
	for (uint64_t at = 0; st == LMD_OK && at < f.bytes;) {
		size_t n = f.bytes - at < PIECE_BYTES ? (size_t)(f.bytes - at) : PIECE_BYTES;

		st = lmi_file_read(&f, at, h->buf, n, err);
		if (st == LMD_OK)
			take(h, &sha, n);
		at += n;
	}
	lmi_file_close(&f);
	return end(&sha, st, h->file[i], err);
}

static enum lmd_status hash_tensor(struct hashes *h, uint32_t i, struct lmd_error *err)
{
	const struct lmd_tensor *t = &h->m->tensors[i];
	uint32_t block = lmi_dtype(t->dtype)->block_bytes;
	size_t piece = PIECE_BYTES / block * block;
	struct lmi_sha256 sha = {0};
	enum lmd_status st = lmi_sha256_init(&sha) ? LMD_OK : no_hash(err);

	for (uint64_t at = 0; st == LMD_OK && at < t->bytes;) {
		size_t n = t->bytes - at < piece ? (size_t)(t->bytes - at) : piece;

		st = lmi_model_read(h->model, t, at, h->buf, n, err);
		if (st == LMD_OK)
			take(h, &sha, n);
		at += n;
	}
	return end(&sha, st, h->tensor[i], err);
}

static enum lmd_status hash_all(struct hashes *h, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	h->file = lmi_alloc(lmi_model_n_files(h->model), sizeof(*h->file));
	h->tensor = lmi_alloc(h->m->n_tensors + 1u, sizeof(*h->tensor));
	h->buf = lmi_alloc(PIECE_BYTES, 1);
	if (!h->file || !h->tensor || !h->buf)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u hashes", h->m->n_tensors);
	for (uint32_t i = 0; i < h->n_file; i++) {
		struct lmi_model_file f;

		lmi_model_file(h->model, i, &f);
		h->total += f.bytes;
	}
	for (uint32_t i = 0; i < h->n_tensor; i++)
		h->total += h->m->tensors[i].bytes;
	lmi_ctl_progress_init(&h->bar);
	for (uint32_t i = 0; st == LMD_OK && i < h->n_file; i++)
		st = hash_file(h, i, err);
	for (uint32_t i = 0; st == LMD_OK && i < h->n_tensor; i++)
		st = hash_tensor(h, i, err);
	lmi_ctl_progress_end(&h->bar);
	return st;
}

static const char *base_of(const struct hashes *h, uint32_t i)
{
	struct lmi_model_file f;
	const char *slash;

	lmi_model_file(h->model, i, &f);
	slash = strrchr(f.path, '/');
	return slash ? slash + 1 : f.path;
}

/* ---- printing ---- */

static void print_text(const struct hashes *h)
{
	for (uint32_t i = 0; i < h->n_file; i++)
		printf("%s  %s\n", h->file[i], base_of(h, i));
	for (uint32_t i = 0; i < h->n_tensor; i++)
		printf("%s  %s:%s\n", h->tensor[i], base_of(h, h->m->tensors[i].file),
		       h->m->tensors[i].name);
}

static void print_json(const struct hashes *h)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_array(&j, "files");
	for (uint32_t i = 0; i < h->n_file; i++) {
		struct lmi_model_file f;

		lmi_model_file(h->model, i, &f);
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_str(&j, "path", f.path);
		lmi_ctl_json_uint(&j, "bytes", f.bytes);
		lmi_ctl_json_str(&j, "sha256", h->file[i]);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_array(&j, "tensors");
	for (uint32_t i = 0; i < h->n_tensor; i++) {
		const struct lmd_tensor *t = &h->m->tensors[i];

		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_str(&j, "name", t->name);
		lmi_ctl_json_str(&j, "type", lmi_dtype(t->dtype)->name);
		lmi_ctl_json_uint(&j, "bytes", t->bytes);
		lmi_ctl_json_str(&j, "sha256", h->tensor[i]);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* ---- checking ---- */

enum verdict { SAME, DIFFERS, MISSING };

struct line {
	const char *name; /* as in the list */
	size_t n;
	enum verdict verdict;
};

struct check {
	char *text;
	size_t n;
	struct line *lines;
	uint32_t n_line, count[3];
};

/* Returns the hash of a name in the list: that of a tensor, whatever file stands before the colon,
 * or that of a file; NULL if the model has neither. */
static const char *find_hash(const struct hashes *h, const char *name, size_t n)
{
	char tensor[64];

	for (size_t i = 0; i < n; i++) {
		const struct lmd_tensor *t;

		if (name[i] != ':' || n - i - 1 >= sizeof(tensor))
			continue;
		memcpy(tensor, name + i + 1, n - i - 1);
		tensor[n - i - 1] = 0;
		t = h->m->find_tensor(h->m, tensor);
		if (t)
			return h->tensor[t - h->m->tensors];
	}
	for (uint32_t i = 0; i < lmi_model_n_files(h->model); i++) {
		const char *base = base_of(h, i);

		if (strlen(base) <= n && !memcmp(name + n - strlen(base), base, strlen(base)) &&
		    (strlen(base) == n || name[n - strlen(base) - 1] == '/'))
			return h->file[i];
	}
	return NULL;
}

/* "HEX  NAME" or "sha256 HEX  NAME". */
static enum lmd_status check_line(struct check *c, const struct hashes *h, const char *p, size_t n,
				  uint32_t number, struct lmd_error *err)
{
	struct line *l = &c->lines[c->n_line];
	const char *have;
	char show[40];

	if (n > 6 && !memcmp(p, "sha256", 6) && (p[6] == ' ' || p[6] == '\t')) {
		size_t skip = 6 + strspn(p + 6, " \t");

		skip = skip < n ? skip : n;
		p += skip;
		n -= skip;
	}
	if (strspn(p, "0123456789abcdefABCDEF") != LMI_SHA256_HEX - 1 || n < LMI_SHA256_HEX + 1)
		return lmd_fail(err, LMD_INVALID,
				"line %u: \"%s\" is not a SHA-256, blanks and a name", number,
				lmi_printable(show, sizeof(show), p, n));
	l->name = p + LMI_SHA256_HEX - 1;
	while (l->name < p + n && (*l->name == ' ' || *l->name == '\t' || *l->name == '*'))
		l->name++;
	l->n = (size_t)(p + n - l->name);
	have = find_hash(h, l->name, l->n);
	l->verdict = !have				    ? MISSING
		     : strncasecmp(p, have, LMI_SHA256_HEX - 1) ? DIFFERS
								  : SAME;
	c->count[l->verdict]++;
	c->n_line++;
	return LMD_OK;
}

static enum lmd_status read_list(struct check *c, const char *path, struct lmd_error *err)
{
	struct lmi_file f;
	enum lmd_status st = lmi_file_open(&f, path, err);
	uint32_t n_line = 1;

	if (st != LMD_OK)
		return st;
	if (f.bytes > MANIFEST_BYTES)
		st = lmd_fail(err, LMD_INVALID, "%.200s: %llu bytes, a list has at most %u", path,
			      (unsigned long long)f.bytes, MANIFEST_BYTES);
	c->n = (size_t)f.bytes;
	if (st == LMD_OK && !(c->text = lmi_alloc(c->n + 1, 1)))
		st = lmd_fail(err, LMD_NOMEM, "%.200s: no memory for %zu bytes", path, c->n);
	if (st == LMD_OK)
		st = lmi_file_read(&f, 0, c->text, c->n, err);
	lmi_file_close(&f);
	for (size_t i = 0; st == LMD_OK && i < c->n; i++)
		n_line += c->text[i] == '\n';
	if (st == LMD_OK && !(c->lines = lmi_alloc(n_line, sizeof(*c->lines))))
		st = lmd_fail(err, LMD_NOMEM, "%.200s: no memory for %u lines", path, n_line);
	return st;
}

static enum lmd_status check_list(struct check *c, const struct hashes *h, const char *path,
				  struct lmd_error *err)
{
	enum lmd_status st = read_list(c, path, err);
	uint32_t number = 0;

	for (size_t at = 0; st == LMD_OK && at < c->n; number++) {
		const char *p = c->text + at, *e = memchr(p, '\n', c->n - at);
		size_t n = e ? (size_t)(e - p) : c->n - at;

		at += n + 1;
		n -= n && p[n - 1] == '\r';
		if (n && *p != '#')
			st = check_line(c, h, p, n, number + 1, err);
	}
	if (st == LMD_OK && !c->n_line)
		st = lmd_fail(err, LMD_INVALID, "%.200s: the list is empty", path);
	return st;
}

static void print_check(const struct check *c, bool json)
{
	static const char *const words[] = {"same", "differs", "missing"};
	struct lmi_ctl_json j;

	if (!json) {
		for (uint32_t i = 0; i < c->n_line; i++)
			printf("%.*s: %s\n", (int)c->lines[i].n, c->lines[i].name,
			       words[c->lines[i].verdict]);
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	for (int v = 0; v < 3; v++)
		lmi_ctl_json_uint(&j, words[v], c->count[v]);
	lmi_ctl_json_array(&j, "lines");
	for (uint32_t i = 0; i < c->n_line; i++) {
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_strn(&j, "name", c->lines[i].name, c->lines[i].n);
		lmi_ctl_json_str(&j, "verdict", words[c->lines[i].verdict]);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status verdict(const struct check *c, struct lmd_error *err)
{
	const struct line *l = c->lines;

	if (!c->count[DIFFERS] && !c->count[MISSING])
		return LMD_OK;
	while (l->verdict == SAME)
		l++;
	return lmd_fail(err, LMD_CORRUPT, "%u of %u hashes differ and %u are missing, the first "
					  "one is %.*s",
			c->count[DIFFERS], c->n_line, c->count[MISSING],
			(int)(l->n < 120 ? l->n : 120), l->name);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *list = lmi_arg_str(a, "check");
	bool json = lmi_arg_flag(a, "json");
	struct hashes h = {0};
	struct check c = {0};
	struct lmi_model *m = NULL;
	enum lmd_status st =
		lmi_ctl_open_model(ctl, &m, lmi_arg_pos(a, 0), LMI_OPEN_HEADER_ONLY, err);

	if (st != LMD_OK)
		return st;
	h.model = m;
	h.m = lmi_model_view(m);
	h.n_file = lmi_arg_flag(a, "no-file") ? 0 : lmi_model_n_files(m);
	h.n_tensor = lmi_arg_flag(a, "no-layer") ? 0 : h.m->n_tensors;
	if (list) {
		h.n_file = lmi_model_n_files(m);
		h.n_tensor = h.m->n_tensors;
	}
	st = hash_all(&h, err);
	if (st == LMD_OK && list) {
		st = check_list(&c, &h, list, err);
		if (st == LMD_OK) {
			print_check(&c, json);
			st = verdict(&c, err);
		}
	} else if (st == LMD_OK) {
		(json ? print_json : print_text)(&h);
	}
	lmi_free(c.text);
	lmi_free(c.lines);
	lmi_free(h.file);
	lmi_free(h.tensor);
	lmi_free(h.buf);
	lmi_model_close(m);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "check",
	 .type = LMI_OPT_STR,
	 .value = "LIST",
	 .doc = "Compare with a list of earlier hashes and print a verdict for each line: same, "
		"differs or missing."},
	{.name = "no-file", .type = LMI_OPT_FLAG, .doc = "Do not hash whole files."},
	{.name = "no-layer", .type = LMI_OPT_FLAG, .doc = "Do not hash tensors."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_hash = {
	.name = "hash",
	.args = "FILE",
	.brief = "Print or check the SHA-256 of a model file and of its tensors",
	.doc = "Prints a line \"HASH  FILE\" for each file, as sha256sum(1) does, and a line "
	       "\"HASH  FILE:TENSOR\" for the data of each tensor. The hash of a tensor does not "
	       "change when the model is split, merged or renamed.\n\nWith --check the exit "
	       "status is 1 if a hash differs or if its tensor or file is missing.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
