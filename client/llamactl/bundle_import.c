/* SPDX-License-Identifier: MIT
 *
 * A bundle becomes models.  Its files are written to a folder of the store, each checked against its
 * digest; only when all are there is the first model registered. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "client/llamactl/bundle.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/default_state.h"
#include "core/base/file.h"
#include "core/base/printable.h"

#define PIECE (1u << 20)

struct import {
	struct lmi_ctl *ctl;
	struct lmi_ctl_bundle b;
	char dir[PATH_MAX - 256]; /* "": none yet */
	struct lmi_ctl_progress bar;
	uint64_t done;
	uint8_t *buf; /* PIECE */
};

static enum lmd_status corrupt(struct lmd_error *err, const char *what)
{
	return lmd_fail(err, LMD_CORRUPT, "the bundle is damaged: %s; nothing was registered", what);
}

/* ---- the folder ---- */

static const char *environment(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

/* Makes a folder for the files among the store's downloads, where `llamactl prune` finds what a killed
 * program leaves. */
static enum lmd_status make_dir(struct import *w, bool own, struct lmd_error *err)
{
	char state[PATH_MAX - 512], shown[160];
	int n = own ? snprintf(state, sizeof(state), "%s", lmi_ctl_own_models_dir(w->ctl))
		    : lmi_default_state_dir(state, sizeof(state), geteuid(), environment, NULL);

	if (n <= 0 || (size_t)n >= sizeof(state))
		return lmd_fail(err, LMD_INVALID, "no folder for models: set STATE_DIRECTORY");
	(void)snprintf(w->dir, sizeof(w->dir), "%s/downloads", state);
	if (mkdir(w->dir, 0700) && errno != EEXIST)
		n = -1;
	(void)snprintf(w->dir, sizeof(w->dir), "%s/downloads/bundle-XXXXXX", state);
	if (n > 0 && mkdtemp(w->dir))
		return LMD_OK;
	w->dir[0] = 0;
	return lmd_fail(err, LMD_IO,
			"%s: %s: run the command as the user whose daemon has the models, or set "
			"STATE_DIRECTORY to its state folder",
			lmi_printable_path(shown, sizeof(shown), state), strerror(errno));
}

static void path_of(char out[PATH_MAX], const struct import *w, const struct lmi_ctl_bundle_file *f)
{
	(void)snprintf(out, PATH_MAX, "%s/sha256-%s", w->dir, f->sha256);
}

/* The name that a part has while its model is added. */
static void part_path(char out[PATH_MAX], const struct import *w, uint32_t i, uint32_t n)
{
	(void)snprintf(out, PATH_MAX, "%s/model-%05u-of-%05u.gguf", w->dir, i + 1, n);
}

/* The name that the vision tower has while its model is added: the daemon or the store finds it beside. */
static void tower_path(char out[PATH_MAX], const struct import *w)
{
	(void)snprintf(out, PATH_MAX, "%s/mmproj.gguf", w->dir);
}

static void remove_dir(const struct import *w)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < w->b.n_files; i++) {
		path_of(path, w, &w->b.files[i]);
		(void)unlink(path);
	}
	if (*w->dir)
		(void)rmdir(w->dir);
}

static enum lmd_status check_space(const struct import *w, struct lmd_error *err)
{
	struct statvfs v;
	uint64_t left;

	if (statvfs(w->dir, &v))
		return LMD_OK; /* the write will tell */
	left = (uint64_t)v.f_bavail * v.f_frsize;
	if (left >= w->b.size)
		return LMD_OK;
	return lmd_fail(err, LMD_NOMEM, "the bundle has %llu MB and the disk has %llu MB left",
			(unsigned long long)(w->b.size / 1000000 + 1),
			(unsigned long long)(left / 1000000));
}

/* ---- files ---- */

static enum lmd_status copy_bytes(struct import *w, FILE *in, int fd, const struct lmi_ctl_bundle_file *f,
				  struct lmd_error *err)
{
	uint8_t digest[LMI_SHA256_BYTES];
	char hex[LMI_SHA256_HEX];
	struct lmi_sha256 h;
	enum lmd_status st = LMD_OK;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory to compute a digest");
	for (uint64_t at = 0; at < f->size && st == LMD_OK;) {
		size_t n = f->size - at < PIECE ? (size_t)(f->size - at) : PIECE;

		if (lmi_ctl_interrupted())
			st = lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
		else if (fread(w->buf, 1, n, in) != n)
			st = corrupt(err, "it ends too early");
		else if (!lmi_file_write_all(fd, w->buf, n))
			st = lmd_fail(err, LMD_IO, "%s: %s", w->dir, strerror(errno));
		else
			lmi_sha256_update(&h, w->buf, n);
		at += n;
		w->done += n;
		lmi_ctl_progress_show(&w->bar, "unpack", w->done, w->b.size);
	}
	if (st != LMD_OK)
		lmi_sha256_fini(&h);
	else if (!lmi_sha256_final(&h, digest))
		return lmd_fail(err, LMD_INTERNAL, "the digest cannot be computed");
	if (st != LMD_OK)
		return st;
	lmi_sha256_hex(hex, digest);
	return strcmp(hex, f->sha256) ? corrupt(err, "a file does not have its digest") : LMD_OK;
}

static enum lmd_status unpack_file(struct import *w, FILE *in, const struct lmi_ctl_bundle_file *f,
				   struct lmd_error *err)
{
	char name[LMI_CTL_BUNDLE_NAME_MAX + 1], path[PATH_MAX];
	uint64_t size;
	bool end;
	int fd;
	enum lmd_status st = lmi_ctl_bundle_next(in, name, &size, &end, err);

	if (st != LMD_OK)
		return st;
	if (end || size != f->size || strncmp(name, "sha256-", 7) != 0 || strcmp(name + 7, f->sha256) != 0)
		return corrupt(err, "its files are not those of its index");
	path_of(path, w, f);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return lmd_fail(err, LMD_IO, "%.300s: %s", path, strerror(errno));
	st = copy_bytes(w, in, fd, f, err);
	if (close(fd) && st == LMD_OK)
		st = lmd_fail(err, LMD_IO, "%.300s: %s", path, strerror(errno));
	return st == LMD_OK ? lmi_ctl_bundle_skip_padding(in, f->size, err) : st;
}

static enum lmd_status unpack(struct import *w, FILE *in, struct lmd_error *err)
{
	char name[LMI_CTL_BUNDLE_NAME_MAX + 1];
	uint64_t size;
	bool end = false;
	enum lmd_status st = check_space(w, err);

	for (uint32_t i = 0; i < w->b.n_files && st == LMD_OK; i++)
		st = unpack_file(w, in, &w->b.files[i], err);
	if (st == LMD_OK)
		st = lmi_ctl_bundle_next(in, name, &size, &end, err);
	return st == LMD_OK && !end ? corrupt(err, "more files than in its index") : st;
}

/* ---- models ---- */

/* Gives an unpacked file another name. */
static enum lmd_status give_name(const struct import *w, const struct lmi_ctl_bundle_file *f, const char *path,
				 struct lmd_error *err)
{
	char from[PATH_MAX];

	path_of(from, w, f);
	return link(from, path) ? lmd_fail(err, LMD_IO, "%.300s: %s", path, strerror(errno)) : LMD_OK;
}

/* Adds the files under a name; the daemon or the store copies them into its own folder. */
static enum lmd_status add_files(struct import *w, const struct lmi_ctl_bundle_model *m,
				 struct lmd_error *err)
{
	char path[PATH_MAX], tower[PATH_MAX];
	enum lmd_status st = LMD_OK;
	uint32_t n_link = 0;

	for (; n_link < m->n_files && st == LMD_OK; n_link++) {
		part_path(path, w, n_link, m->n_files);
		st = give_name(w, &m->files[n_link], path, err);
	}
	tower_path(tower, w);
	if (st == LMD_OK && m->tower.size)
		st = give_name(w, &m->tower, tower, err);
	part_path(path, w, 0, m->n_files);
	if (st == LMD_OK)
		st = lmi_ctl_remote_job(w->ctl, "add",
					json_pack("{s:s, s:s, s:b, s:b}", "name", m->base, "path", path,
						  "copy", 1, "replace",
						  lmi_arg_flag(&w->ctl->args, "replace")),
					err);
	if (m->tower.size)
		(void)unlink(tower);
	while (n_link) {
		part_path(path, w, --n_link, m->n_files);
		(void)unlink(path);
	}
	return st;
}

/* Whether a name means these files already, which one bundle does for several Modelfiles. */
static enum lmd_status is_there(struct import *w, const struct lmi_ctl_bundle_model *m, bool *yes,
				struct lmd_error *err)
{
	json_t *reply, *row;
	const char *digest, *name;
	enum lmd_status st = lmi_ctl_remote_call(w->ctl, "models", json_pack("{s:s}", "model", m->base),
						 &reply, err);

	*yes = false;
	if (st == LMD_NOTFOUND)
		return LMD_OK;
	if (st != LMD_OK)
		return st;
	row = json_array_get(json_object_get(reply, "models"), 0);
	digest = json_string_value(json_object_get(row, "digest"));
	name = json_string_value(json_object_get(row, "name"));
	if (digest && name && m->n_files == 1 && !strcmp(name, m->base))
		*yes = !strcmp(strncmp(digest, "sha256:", 7) ? digest : digest + 7, m->files[0].sha256);
	json_decref(reply);
	return LMD_OK;
}

static bool was_added(const struct import *w, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(w->b.models[k].base, w->b.models[i].base))
			return true;
	return false;
}

static enum lmd_status register_model(struct import *w, uint32_t i, struct lmd_error *err)
{
	const struct lmi_ctl_bundle_model *m = &w->b.models[i];
	bool there = was_added(w, i);
	json_t *reply = NULL;
	enum lmd_status st = there ? LMD_OK : is_there(w, m, &there, err);

	if (st == LMD_OK && !there)
		st = add_files(w, m, err);
	if (st == LMD_OK && m->modelfile) {
		st = lmi_ctl_remote_call(w->ctl, "create",
					 json_pack("{s:s, s:s}", "name", m->name, "modelfile", m->modelfile),
					 &reply, err);
		json_decref(reply);
	}
	if (st != LMD_OK)
		lmd_error_prefix(err, m->name);
	return st;
}

static enum lmd_status register_all(struct import *w, struct lmd_error *err)
{
	json_t *names = json_array();
	bool json = lmi_arg_flag(&w->ctl->args, "json");
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < w->b.n_models && st == LMD_OK; i++) {
		st = register_model(w, i, err);
		if (st == LMD_OK && !json)
			puts(w->b.models[i].name);
		if (st == LMD_OK)
			(void)json_array_append_new(names, json_string(w->b.models[i].name));
	}
	if (st == LMD_OK && json)
		lmi_ctl_remote_print(names);
	json_decref(names);
	return st;
}

static enum lmd_status import(struct import *w, FILE *in, struct lmd_error *err)
{
	bool own = false;
	enum lmd_status st = lmi_ctl_bundle_read_index(&w->b, in, err);

	if (st == LMD_OK)
		st = lmi_ctl_models_client(w->ctl, &own, err);
	if (st == LMD_OK)
		st = make_dir(w, own, err);
	if (st == LMD_OK)
		st = unpack(w, in, err);
	lmi_ctl_progress_end(&w->bar);
	if (st == LMD_OK)
		st = register_all(w, err);
	remove_dir(w);
	return st;
}

enum lmd_status lmi_ctl_bundle_import(struct lmi_ctl *ctl, const char *file, struct lmd_error *err)
{
	struct import w = {.ctl = ctl, .buf = lmi_alloc(PIECE, 1)};
	FILE *in = strcmp(file, "-") ? fopen(file, "rbe") : stdin;
	char shown[200];
	enum lmd_status st;

	if (!w.buf) {
		st = lmd_fail(err, LMD_NOMEM, "no memory for a bundle");
	} else if (!in) {
		st = lmd_fail(err, errno == ENOENT ? LMD_NOTFOUND : LMD_IO, "%s: %s",
			      lmi_printable_path(shown, sizeof(shown), file), strerror(errno));
	} else {
		lmi_ctl_interrupt_install();
		lmi_ctl_progress_init(&w.bar);
		st = import(&w, in, err);
	}
	if (in && in != stdin)
		(void)fclose(in);
	lmi_ctl_bundle_fini(&w.b);
	lmi_free(w.buf);
	return st;
}
