/* SPDX-License-Identifier: MIT
 *
 * llamactl prune: frees the disk space of what no model uses. The store must not be in use, so that
 * nothing is removed under a running download. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/llamactl/remote.h"
#include "client/llamactl/state_folder.h"
#include "core/base/default_state.h"
#include "store/store.h"

struct sum {
	json_t *files; /* NULL: print lines */
	uint64_t bytes;
	unsigned n;
	bool dry_run;
};

static void on_file(void *arg, const char *path, uint64_t bytes)
{
	struct sum *s = arg;
	char size[24];

	s->n++;
	s->bytes += bytes;
	if (s->files)
		(void)json_array_append_new(s->files, json_pack("{s:s, s:I}", "path", path, "bytes",
								(json_int_t)bytes));
	else
		printf("%8s  %s\n", lmi_ctl_show_bytes(size, sizeof(size), (int64_t)bytes), path);
}

static const char *environment(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

static void print_sum(const struct sum *s)
{
	char size[24];

	if (s->files) {
		json_t *all = json_pack("{s:b, s:I, s:O}", "dry_run", s->dry_run, "bytes",
					(json_int_t)s->bytes, "files", s->files);

		lmi_ctl_remote_print(all);
		json_decref(all);
	} else {
		printf("%u file%s%s: %s\n", s->n, s->n == 1 ? "" : "s",
		       s->dry_run ? " can be removed" : " removed",
		       lmi_ctl_show_bytes(size, sizeof(size), (int64_t)s->bytes));
	}
}

/* Opening the store would create a registry, by which no file is used. */
static enum lmd_status check_registry(const char *dir, struct lmd_error *err)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/registry.db", dir) >= sizeof(path))
		return lmd_fail(err, LMD_INVALID, "%.200s...: the path is too long", dir);
	if (access(dir, F_OK) || !access(path, F_OK) || errno != ENOENT)
		return LMD_OK;
	return lmd_fail(err, LMD_NOTFOUND,
			"%.200s has no registry.db: prune would remove every model file", dir);
}

static enum lmd_status prune_folder(const char *dir, const struct lmi_store_prune *o,
				    struct lmd_error *err)
{
	struct lmi_store *store = NULL;
	const struct lmi_store_report *replaced;
	struct lmd_error why = {0};
	enum lmd_status st = check_registry(dir, err);

	if (st != LMD_OK)
		return st;
	st = lmi_ctl_open_state_folder(&store, dir, o->dry_run, err);
	if (st == LMD_BUSY)
		return lmd_fail(err, st,
				"%.200s is in use: end the daemon first (`llamactl shutdown`, or `sudo "
				"systemctl stop llamad`)",
				dir);
	if (st != LMD_OK)
		return st;
	replaced = lmi_store_replacement(store);
	if (replaced && replaced->moved_aside && !o->all)
		st = lmd_fail(err, LMD_CORRUPT,
			      "%.200s: the registry was damaged, and models may be missing from it (the "
			      "old one is %s): nothing was removed; --all removes every file that no "
			      "model of the new one uses",
			      dir, replaced->moved_to);
	else
		st = lmi_store_prune(store, o, &why);
	if (st == LMD_INVALID)
		st = lmd_fail(err, st, "%.200s: %.200s; nothing was removed (--all removes them)", dir,
			      why.text);
	else if (*why.text)
		*err = why;
	lmi_store_close(store);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *dir = lmi_arg_str(&ctl->args, "state-dir");
	struct sum sum = {.dry_run = lmi_arg_flag(&ctl->args, "dry-run"),
			  .files = lmi_arg_flag(&ctl->args, "json") ? json_array() : NULL};
	const struct lmi_store_prune o = {.dry_run = sum.dry_run,
					  .all = lmi_arg_flag(&ctl->args, "all"),
					  .found = on_file,
					  .arg = &sum};
	char own[PATH_MAX];
	enum lmd_status st;
	int n;

	if (!dir) {
		n = lmi_default_state_dir(own, sizeof(own), geteuid(), environment, NULL);
		if (n <= 0 || (size_t)n >= sizeof(own))
			return lmd_fail(err, LMD_INVALID, "HOME is not set: give --state-dir DIR");
		dir = own;
	}
	/* the first use creates the own folder of a user: if it is missing, nothing can be removed */
	if (dir == own && access(dir, F_OK) && errno == ENOENT)
		st = LMD_OK;
	else
		st = prune_folder(dir, &o, err);
	if (st == LMD_OK)
		print_sum(&sum);
	json_decref(sum.files);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "dry-run", .type = LMI_OPT_FLAG, .doc = "Only print what would be removed."},
	{.name = "all",
	 .type = LMI_OPT_FLAG,
	 .doc = "Remove every file in models/ that no model uses, even if the registry is empty or was "
		"damaged."},
	{.name = "state-dir",
	 .type = LMI_OPT_STR,
	 .value = "DIR",
	 .def_text = "the user's own",
	 .doc = "State folder, such as /var/lib/llamad for the service."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_prune = {
	.name = "prune",
	.brief = "Remove interrupted downloads and files that no model uses",
	.doc = "Removes the partial files of interrupted downloads, which then have to start over, and "
	       "files in the store that belong to no model, such as a crash may leave. Registered models "
	       "stay, and so do files that were added without a copy. The daemon must not be running. "
	       "Nothing is removed if there is no registry.\n\nWith --json: an object "
	       "with dry_run, bytes and files (path and bytes of each).",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
