/* SPDX-License-Identifier: MIT
 *
 * llamactl bundle: writes models with their Modelfiles into one file for machines without network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/bundle.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/model_files.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"

#define PIECE (1u << 20)

struct bundle {
	struct lmi_ctl_bundle index;
	struct lmi_ctl_model_files *found; /* [index.n_models] */
	const char **paths;                /* [index.n_files]: where each different file is */
	struct lmi_ctl_progress bar;
	uint64_t done, total;
	uint8_t *buf; /* PIECE */
};

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for a bundle");
}

/* Reads a file from its beginning to its end; the bytes go to `out` (NULL: nowhere). */
static enum lmd_status read_file(struct bundle *b, const char *path, FILE *out,
				 struct lmi_ctl_bundle_file *is, struct lmd_error *err)
{
	uint8_t digest[LMI_SHA256_BYTES];
	struct lmi_sha256 h = {0};
	struct lmi_file f;
	enum lmd_status st = lmi_file_open(&f, path, err);

	if (st != LMD_OK)
		return st;
	is->size = f.bytes;
	if (!lmi_sha256_init(&h))
		st = no_memory(err);
	for (uint64_t at = 0; at < f.bytes && st == LMD_OK;) {
		size_t n = f.bytes - at < PIECE ? (size_t)(f.bytes - at) : PIECE;

		st = lmi_file_read(&f, at, b->buf, n, err);
		if (st == LMD_OK)
			lmi_sha256_update(&h, b->buf, n);
		if (st == LMD_OK && out && fwrite(b->buf, 1, n, out) != n)
			st = lmd_fail(err, LMD_IO, "the bundle cannot be written: is the disk full?");
		at += n;
		b->done += n;
		lmi_ctl_progress_show(&b->bar, out ? "write" : "hash", b->done, b->total);
		if (st == LMD_OK && lmi_ctl_interrupted())
			st = lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
	}
	lmi_file_close(&f);
	if (st == LMD_OK && !lmi_sha256_final(&h, digest))
		st = lmd_fail(err, LMD_INTERNAL, "the digest cannot be computed");
	if (st == LMD_OK)
		lmi_sha256_hex(is->sha256, digest);
	lmi_sha256_fini(&h);
	return st;
}

/* ---- the index ---- */

static enum lmd_status describe(struct bundle *b, uint32_t i, struct lmd_error *err)
{
	struct lmi_ctl_bundle_model *m = &b->index.models[i];
	const struct lmi_ctl_model_files *f = &b->found[i];
	enum lmd_status st = LMD_OK;

	m->name = f->name;
	m->modelfile = f->modelfile;
	m->files = lmi_arena_array(b->index.arena, f->n, sizeof(*m->files));
	if (!m->files)
		return no_memory(err);
	for (; m->n_files < f->n && st == LMD_OK; m->n_files++)
		st = read_file(b, f->paths[m->n_files], NULL, &m->files[m->n_files], err);
	if (st == LMD_OK && f->tower)
		st = read_file(b, f->tower, NULL, &m->tower, err);
	return st;
}

static void find_path(struct bundle *b, const struct lmi_ctl_bundle_file *f, const char *path)
{
	for (uint32_t i = 0; i < b->index.n_files; i++)
		if (!strcmp(b->index.files[i].sha256, f->sha256))
			b->paths[i] = path;
}

/* The place of each different file, by its digest. */
static enum lmd_status find_paths(struct bundle *b, struct lmd_error *err)
{
	const struct lmi_ctl_bundle *x = &b->index;

	b->paths = lmi_arena_array(x->arena, x->n_files, sizeof(*b->paths));
	if (!b->paths)
		return no_memory(err);
	for (uint32_t i = 0; i < x->n_models; i++) {
		for (uint32_t k = 0; k < x->models[i].n_files; k++)
			find_path(b, &x->models[i].files[k], b->found[i].paths[k]);
		if (x->models[i].tower.size)
			find_path(b, &x->models[i].tower, b->found[i].tower);
	}
	return LMD_OK;
}

/* What is written is read back by the rules of the reader, so that no bundle is made that no one can
 * read. */
static enum lmd_status make_index(struct bundle *b, char **text, struct lmd_error *err)
{
	struct lmi_ctl_bundle again = {0};
	enum lmd_status st = lmi_ctl_bundle_list_files(&b->index, err);

	if (st == LMD_OK)
		st = find_paths(b, err);
	if (st != LMD_OK)
		return st;
	*text = lmi_ctl_bundle_emit(&b->index);
	if (!*text)
		return no_memory(err);
	st = lmi_ctl_bundle_parse(&again, *text, strlen(*text), err);
	lmi_ctl_bundle_fini(&again);
	return st;
}

/* ---- the archive ---- */

static enum lmd_status write_all(struct bundle *b, FILE *out, const char *index, struct lmd_error *err)
{
	static const char zeros[1024];
	enum lmd_status st = LMD_OK;

	lmi_ctl_bundle_put_head(out, LMI_CTL_BUNDLE_INDEX, strlen(index));
	(void)fwrite(index, 1, strlen(index), out);
	lmi_ctl_bundle_put_padding(out, strlen(index));
	b->done = 0;
	b->total = b->index.size;
	for (uint32_t i = 0; i < b->index.n_files && st == LMD_OK; i++) {
		const struct lmi_ctl_bundle_file *f = &b->index.files[i];
		struct lmi_ctl_bundle_file is = {0};
		char name[LMI_SHA256_HEX + 8];

		(void)snprintf(name, sizeof(name), "sha256-%s", f->sha256);
		lmi_ctl_bundle_put_head(out, name, f->size);
		st = read_file(b, b->paths[i], out, &is, err);
		if (st == LMD_OK && (is.size != f->size || strcmp(is.sha256, f->sha256) != 0))
			st = lmd_fail(err, LMD_CORRUPT, "%.300s changed while the bundle was written",
				      b->paths[i]);
		lmi_ctl_bundle_put_padding(out, f->size);
	}
	(void)fwrite(zeros, 1, sizeof(zeros), out);
	if (st == LMD_OK && (fflush(out) || ferror(out)))
		st = lmd_fail(err, LMD_IO, "the bundle cannot be written: is the disk full?");
	return st;
}

static enum lmd_status write_file(struct bundle *b, const char *path, const char *index,
				  struct lmd_error *err)
{
	struct lmi_new_file f;
	FILE *out;
	int fd;
	enum lmd_status st = lmi_new_file_open(&f, path, 0666, err);

	if (st != LMD_OK)
		return st;
	fd = dup(f.fd);
	out = fd < 0 ? NULL : fdopen(fd, "wb");
	st = out ? write_all(b, out, index, err) : no_memory(err);
	if (out && fclose(out) && st == LMD_OK)
		st = lmd_fail(err, LMD_IO, "%.300s cannot be written", path);
	else if (!out && fd >= 0)
		(void)close(fd);
	if (st == LMD_OK)
		return lmi_new_file_commit(&f, err);
	lmi_new_file_abort(&f);
	return st;
}

/* ---- the command ---- */

static void print(struct lmi_ctl *ctl, const struct bundle *b, const char *path)
{
	json_t *o, *names = json_array();

	for (uint32_t i = 0; i < b->index.n_models; i++)
		(void)json_array_append_new(names, json_string(b->index.models[i].name));
	o = json_pack("{s:s, s:o, s:I}", "path", path, "models", names, "bytes",
		      (json_int_t)b->index.size);
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(o);
	json_decref(o);
}

static enum lmd_status make(struct lmi_ctl *ctl, struct bundle *b, const char *path, struct lmd_error *err)
{
	char *index = NULL;
	enum lmd_status st = LMD_OK;

	for (b->index.n_models = 0; b->index.n_models < ctl->args.n_pos && st == LMD_OK;
	     b->index.n_models++) {
		uint32_t i = b->index.n_models;

		st = lmi_ctl_model_files_find(&b->found[i], ctl, lmi_arg_pos(&ctl->args, i), err);
		if (st == LMD_OK)
			st = describe(b, i, err);
	}
	if (st == LMD_OK)
		st = make_index(b, &index, err);
	if (st == LMD_OK)
		st = strcmp(path, "-") ? write_file(b, path, index, err)
				       : write_all(b, stdout, index, err);
	free(index);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_str(&ctl->args, "output");
	uint32_t n = ctl->args.n_pos;
	struct bundle b = {.index.arena = lmi_arena_create(0)};
	enum lmd_status st = LMD_OK;

	if (!path)
		st = lmi_ctl_usage(ctl, err, "-o FILE is missing ('-': standard output)");
	else if (!strcmp(path, "-") && (isatty(1) || lmi_arg_flag(&ctl->args, "json")))
		st = lmi_ctl_usage(ctl, err, "-o -: a bundle is not for a terminal, and leaves no place for --json");
	else if (n > LMI_CTL_BUNDLE_MODELS_MAX)
		st = lmi_ctl_usage(ctl, err, "%u models; a bundle has at most %u", n,
				   LMI_CTL_BUNDLE_MODELS_MAX);
	if (st == LMD_OK && b.index.arena) {
		b.found = lmi_arena_array(b.index.arena, n, sizeof(*b.found));
		b.index.models = lmi_arena_array(b.index.arena, n, sizeof(*b.index.models));
		b.buf = lmi_alloc(PIECE, 1);
	}
	if (st == LMD_OK && (!b.found || !b.index.models || !b.buf))
		st = no_memory(err);
	if (st == LMD_OK) {
		lmi_ctl_interrupt_install();
		lmi_ctl_progress_init(&b.bar);
		st = make(ctl, &b, path, err);
		lmi_ctl_progress_end(&b.bar);
	}
	if (st == LMD_OK)
		print(ctl, &b, path);
	for (uint32_t i = 0; b.found && i < n; i++)
		lmi_ctl_model_files_fini(&b.found[i]);
	lmi_free(b.buf);
	lmi_ctl_bundle_fini(&b.index);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "output",
	 .letter = 'o',
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "The bundle; '-' is standard output."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_bundle = {
	.name = "bundle",
	.args = "NAME...",
	.brief = "Write models into one file for another machine",
	.doc = "NAME is a GGUF file, or a model of `llamactl list` whose files are on this machine; all "
	       "parts of a model, the vision tower beside it, and the Modelfile of a name made by `llamactl "
	       "create` are included. "
	       "`llamactl add FILE` on the other machine checks the bundle and registers its models. A "
	       "bundle is a tar archive; the same models give the same bytes. With --json: an object with "
	       "path, models and bytes.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
