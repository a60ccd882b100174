/* SPDX-License-Identifier: MIT
 *
 * Downloads a model: by the daemon, into its store, or into a folder without a daemon. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/model_choice.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/progress.h"
#include "client/llamactl/remote.h"
#include "core/base/cancel.h"
#include "core/base/printable.h"
#include "hub/hub.h"
#include "store/import.h"

/* ---- by the daemon ---- */

/* Runs the job `op` with the members of own_members and those that all sources have. */
static enum lmd_status run_job(struct lmi_ctl *ctl, const char *op, const char *name, json_t *own_members,
			       struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	enum lmd_status st;

	if (own_members) {
		(void)json_object_set_new(own_members, "name", json_string(name));
		(void)json_object_set_new(own_members, "replace", json_boolean(lmi_arg_flag(a, "replace")));
		if (lmi_arg_str(a, "digest"))
			(void)json_object_set_new(own_members, "digest", json_string(lmi_arg_str(a, "digest")));
	}
	st = lmi_ctl_remote_job(ctl, op, own_members, err);
	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(a, "json"))
		return lmi_ctl_remote_print_row(ctl, "models", "name", name, err);
	puts(name);
	return LMD_OK;
}

/* Copies a file of this machine into the store. */
static enum lmd_status pull_file(struct lmi_ctl *ctl, const char *path, struct lmd_error *err)
{
	const char *given = lmi_arg_str(&ctl->args, "name");
	char name[LMI_HUB_NAME_MAX + 1], shown[160];
	bool own = false;
	char *full;
	enum lmd_status st;

	if (lmi_arg_str(&ctl->args, "to"))
		return lmi_ctl_usage(ctl, err, "--to is for downloads, and SOURCE is a file of this machine");
	full = realpath(path, NULL);
	if (!full)
		return lmd_fail(err, LMD_NOTFOUND, "%s: %s", lmi_printable_path(shown, sizeof(shown), path),
				strerror(errno));
	lmi_hub_file_default_name(name, full);
	st = lmi_ctl_models_client(ctl, &own, err);
	if (st == LMD_OK)
		st = run_job(ctl, "add", given ? given : name, json_pack("{s:s, s:b}", "path", full, "copy", 1),
			     err);
	free(full);
	return st;
}

/* ---- into a folder ---- */

struct local {
	struct lmi_ctl_progress bar;
	struct lmi_cancel cancel;
	uint64_t before, total; /* bytes of the files before this one, and of all */
};

static void on_progress(void *arg, uint64_t done, uint64_t total, bool checking)
{
	struct local *l = arg;

	if (checking)
		lmi_ctl_progress_show(&l->bar, "hash", done, total);
	else
		lmi_ctl_progress_show(&l->bar, "download", l->before + done,
				      l->total ? l->total : total);
}

static enum lmd_status check_digest(const struct lmi_args *a, const struct lmi_hub_model *m,
				    struct lmi_hub_file *f, struct lmd_error *err)
{
	const char *want = lmi_arg_str(a, "digest");

	if (!want)
		return LMD_OK;
	want += strncmp(want, "sha256:", 7) ? 0 : 7;
	if (m->n_files != 1)
		return lmd_fail(err, LMD_INVALID, "--digest: the model has %u files", m->n_files);
	if (!lmi_sha256_is_hex(want))
		return lmd_fail(err, LMD_INVALID, "--digest: not 64 hexadecimal digits");
	if (*f->sha256 && strcmp(f->sha256, want) != 0)
		return lmd_fail(err, LMD_INVALID, "--digest: the source announces %s", f->sha256);
	memcpy(f->sha256, want, sizeof(f->sha256));
	return LMD_OK;
}

static enum lmd_status path_in_folder(char path[PATH_MAX], const struct lmi_args *a, const struct lmi_hub_file *f,
				      struct lmd_error *err)
{
	return (size_t)snprintf(path, PATH_MAX, "%s/%s", lmi_arg_str(a, "to"), f->name) < PATH_MAX
		       ? LMD_OK
		       : lmd_fail(err, LMD_INVALID, "--to: the path is too long");
}

/* Returns whether the folder has the file: the vision tower of one quantisation is that of the others. */
static bool is_there(const char *path, const struct lmi_hub_file *f)
{
	struct lmi_store_file is;
	struct lmd_error err;
	struct stat sb;

	return *f->sha256 && stat(path, &sb) == 0 && (uint64_t)sb.st_size == f->size &&
	       lmi_store_digest_file(&is, path, NULL, &err) == LMD_OK && !strcmp(is.digest, f->sha256);
}

static enum lmd_status fetch_file(struct lmi_ctl *ctl, struct local *l, const struct lmi_hub_file *f,
				  const struct lmi_hub_opts *o, char digest[LMI_SHA256_HEX],
				  struct lmd_error *err)
{
	const struct lmi_hub_transfer t = {.progress = on_progress, .arg = l};
	char path[PATH_MAX], shown[160];
	struct stat sb;
	enum lmd_status st = path_in_folder(path, &ctl->args, f, err);

	if (st == LMD_OK && !lmi_arg_flag(&ctl->args, "replace") && stat(path, &sb) == 0)
		st = lmd_fail(err, LMD_INVALID, "%s exists; --replace replaces it",
			      lmi_printable_path(shown, sizeof(shown), path));
	if (st == LMD_OK)
		st = lmi_hub_fetch(f, path, o, &t, digest, err);
	l->before += f->size;
	if (st == LMD_OK)
		lmi_ctl_progress_end(&l->bar);
	return st;
}

static enum lmd_status print_file(struct lmi_ctl *ctl, const struct lmi_hub_file *f, const char *digest,
				  struct lmd_error *err)
{
	char path[PATH_MAX];
	enum lmd_status st = path_in_folder(path, &ctl->args, f, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(json_pack("{s:s, s:s}", "path", path, "digest", digest));
	else
		puts(path);
	return LMD_OK;
}

/* Fetches the vision tower before the model: an interruption leaves at most a tower, which is recognised. */
static enum lmd_status fetch_tower(struct lmi_ctl *ctl, struct local *l, const struct lmi_hub_file *f,
				   const struct lmi_hub_opts *o, char digest[LMI_SHA256_HEX],
				   struct lmd_error *err)
{
	char path[PATH_MAX];
	enum lmd_status st = path_in_folder(path, &ctl->args, f, err);

	if (st != LMD_OK || !is_there(path, f))
		return st == LMD_OK ? fetch_file(ctl, l, f, o, digest, err) : st;
	memcpy(digest, f->sha256, LMI_SHA256_HEX);
	l->before += f->size;
	return LMD_OK;
}

static enum lmd_status fetch_all(struct lmi_ctl *ctl, struct local *l, const struct lmi_hub_model *m,
				 const struct lmi_hub_opts *o, struct lmd_error *err)
{
	char digest[LMI_SHA256_HEX], tower[LMI_SHA256_HEX];
	enum lmd_status st = m->tower ? fetch_tower(ctl, l, m->tower, o, tower, err) : LMD_OK;

	for (uint32_t i = 0; i < m->n_files + (m->manifest != NULL) && st == LMD_OK; i++) {
		bool is_manifest = i == m->n_files;
		struct lmi_hub_file f = is_manifest ? *m->manifest : m->files[i];

		if (!is_manifest)
			st = check_digest(&ctl->args, m, &f, err);
		if (st == LMD_OK)
			st = fetch_file(ctl, l, &f, o, digest, err);
		if (st == LMD_OK)
			st = print_file(ctl, &f, digest, err);
	}
	return st == LMD_OK && m->tower ? print_file(ctl, m->tower, tower, err) : st;
}

static enum lmd_status pull_local(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_ctl_hub_paths paths;
	struct lmi_hub_opts o;
	struct lmi_hub_model *m;
	struct local l = {0};
	enum lmd_status st;

	lmi_ctl_hub_opts(&o, &paths);
	lmi_ctl_interrupt_install();
	(void)lmi_cancel_attach(&l.cancel);
	lmi_ctl_interrupt_cancel(&l.cancel);
	lmi_ctl_progress_init(&l.bar);
	st = lmi_hub_resolve(&m, lmi_arg_pos(&ctl->args, 0), &o, err);
	if (st == LMD_OK) {
		l.total = m->size;
		st = fetch_all(ctl, &l, m, &o, err);
		lmi_hub_model_free(m);
	}
	lmi_ctl_progress_end(&l.bar);
	lmi_ctl_interrupt_cancel(NULL);
	(void)lmi_cancel_attach(NULL);
	if (st == LMD_CANCELLED)
		(void)lmd_fail(err, st, "stopped by a signal; the same command continues");
	return st;
}

/* ---- the command ---- */

static enum lmd_status pull(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_str(&ctl->args, "name"), *source = lmi_arg_pos(&ctl->args, 0);
	char proposed[LMI_HUB_NAME_MAX + 1];
	bool own = false;
	enum lmd_status st;

	if (lmi_ctl_is_file_argument(source))
		return pull_file(ctl, source, err);
	st = lmi_hub_default_name(proposed, source, err);
	if (st != LMD_OK)
		return st;
	if (lmi_arg_str(&ctl->args, "to"))
		return pull_local(ctl, err);
	st = lmi_ctl_models_client(ctl, &own, err);
	return st == LMD_OK ? run_job(ctl, "pull", name ? name : proposed,
				      json_pack("{s:s}", "source", source), err)
			    : st;
}

static const struct lmi_opt opts[] = {
	{.name = "name",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .def_text = "made of the source",
	 .doc = "What the model is called from now on."},
	{.name = "replace",
	 .type = LMI_OPT_FLAG,
	 .doc = "Replace the model of that name or, with --to, the file, if there is one."},
	{.name = "digest",
	 .type = LMI_OPT_STR,
	 .value = "SHA256",
	 .doc = "Reject what was downloaded unless it has this digest (64 hexadecimal digits, "
		"optionally after 'sha256:')."},
	{.name = "to",
	 .type = LMI_OPT_STR,
	 .value = "DIR",
	 .doc = "Download into this folder, without a daemon. Of a repository with safetensors and "
		"no GGUF file, this takes what is needed to load it: `llamactl run DIR`. The environment variables HF_TOKEN "
		"and HF_ENDPOINT are used, as in every download without a daemon."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_pull = {
	.name = "pull",
	.args = "SOURCE",
	.brief = "Download a model",
	.doc = "SOURCE is a short name such as smollm2 from the daemon's catalogue; "
	       "hf:USER/REPO[:QUANTISATION or :FILE] on Hugging Face, where Q4_K_M is preferred if "
	       "nothing is said; ollama:NAME[:TAG]; oci:HOST/REPO[:TAG]; a URL; or the path of a GGUF file on "
	       "the daemon's machine, which is copied. The daemon "
	       "downloads the GGUF file, with all its parts and the vision tower that the source has for it, "
	       "checks the digests, and keeps them in its own store; if no daemon answers, llamactl does the same "
	       "in the store of the user's own daemon. After an interruption the same command continues. Prints the "
	       "model's name, or with --to the paths.\n\nThe proxy variables of curl(1), such as "
	       "https_proxy, apply to the process that downloads. With --json: the model's row of "
	       "`list`, or with --to an object with path and digest for each file.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = pull,
};
