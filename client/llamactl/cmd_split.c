/* SPDX-License-Identifier: MIT
 *
 * llamactl split and merge: write one model file as a set of files, and a set as one file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/open.h"
#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/progress.h"
#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/format/gguf/split_merge.h"

#define DEFAULT_TENSORS 128u /* tensors per file when no limit is given */

struct writing {
	struct lmi_ctl_progress bar;
	const char *phase;
};

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct writing *w = arg;

	lmi_ctl_progress_show(&w->bar, w->phase, done, total);
	return true;
}

static enum lmd_status write_all(const struct lmi_model *m, const struct lmi_gguf_parts *p,
				 const char *const *paths, const char *phase,
				 struct lmd_error *err)
{
	struct writing w = {.phase = phase};
	const struct lmi_gguf_parts_dest to = {.paths = paths, .progress = on_progress, .arg = &w};
	enum lmd_status st;

	lmi_ctl_progress_init(&w.bar);
	st = lmi_gguf_write_parts(m, p, &to, err);
	lmi_ctl_progress_end(&w.bar);
	return st;
}

static void print_parts(const struct lmi_model *m, const struct lmi_gguf_parts *p,
			char *const *paths, bool json)
{
	struct lmi_ctl_json j;
	char show[160];

	if (!json) {
		for (uint32_t i = 0; i < p->n; i++)
			printf("%s: %u tensors, %" PRIu64 " bytes\n",
			       lmi_printable_path(show, sizeof(show), paths[i]), p->v[i].n,
			       lmi_gguf_part_bytes(m, &p->v[i]));
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_array(&j, NULL);
	for (uint32_t i = 0; i < p->n; i++) {
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_str(&j, "path", paths[i]);
		lmi_ctl_json_uint(&j, "tensors", p->v[i].n);
		lmi_ctl_json_uint(&j, "bytes", lmi_gguf_part_bytes(m, &p->v[i]));
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static void free_paths(char **paths, uint32_t n)
{
	for (uint32_t i = 0; paths && i < n; i++)
		lmi_free(paths[i]);
	lmi_free(paths);
}

/* Makes the names PREFIX-0000I-of-0000N.gguf; a prefix that ends in .gguf loses that ending. */
static enum lmd_status name_parts(const char *prefix, uint32_t n, char ***out,
				  struct lmd_error *err)
{
	size_t len = strlen(prefix);
	char *stem, **paths = lmi_alloc(n, sizeof(*paths));
	bool ok = paths != NULL;

	if (len > 5 && !strcmp(prefix + len - 5, ".gguf"))
		len -= 5;
	stem = lmi_strndup(prefix, len);
	for (uint32_t i = 0; ok && stem && i < n; i++) {
		paths[i] = lmi_gguf_part_name(stem, i, n);
		ok = paths[i] != NULL;
	}
	ok = ok && stem;
	lmi_free(stem);
	*out = paths;
	return ok ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for %u names", n);
}

static enum lmd_status split(struct lmi_ctl *ctl, const struct lmi_model *m, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	struct lmi_gguf_split_opts limits = {
		.max_bytes = (uint64_t)lmi_arg_int(a, "split-max-size"),
		.max_tensors = (uint32_t)lmi_arg_int(a, "split-max-tensors"),
		.keys_only = lmi_arg_flag(a, "no-tensor-first-split")};
	struct lmi_gguf_parts p = {0};
	char **paths = NULL;
	enum lmd_status st;

	if (!limits.max_bytes && !limits.max_tensors)
		limits.max_tensors = DEFAULT_TENSORS;
	st = lmi_gguf_plan_parts(&p, m, &limits, err);
	if (st == LMD_OK && p.n == 1)
		st = lmd_fail(err, LMD_INVALID,
			      "%u tensors, %" PRIu64 " bytes: everything fits in one file, there "
						     "is nothing to split",
			      p.v->n, lmi_gguf_part_bytes(m, p.v));
	if (st == LMD_OK)
		st = name_parts(lmi_arg_pos(a, 1), p.n, &paths, err);
	if (st == LMD_OK && !lmi_arg_flag(a, "dry-run"))
		st = lmi_file_check_folder(lmi_arg_pos(a, 1), err);
	if (st == LMD_OK && !lmi_arg_flag(a, "dry-run"))
		st = write_all(m, &p, (const char *const *)paths, "split", err);
	if (st == LMD_OK)
		print_parts(m, &p, paths, lmi_arg_flag(a, "json"));
	free_paths(paths, p.n);
	lmi_gguf_parts_fini(&p);
	return st;
}

static enum lmd_status run_split(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_model *m = NULL;
	enum lmd_status st =
		lmi_model_open(&m, lmi_arg_pos(&ctl->args, 0), LMI_OPEN_HEADER_ONLY, err);

	if (st == LMD_OK)
		st = split(ctl, m, err);
	lmi_model_close(m);
	return st;
}

static void json_merged(const struct lmi_model *m, const struct lmi_gguf_parts *p, const char *to)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "path", to);
	lmi_ctl_json_uint(&j, "tensors", p->v->n);
	lmi_ctl_json_uint(&j, "bytes", lmi_gguf_part_bytes(m, p->v));
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status run_merge(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *to = lmi_arg_pos(&ctl->args, 1);
	struct lmi_gguf_parts p = {0};
	struct lmi_model *m = NULL;
	enum lmd_status st =
		lmi_model_open(&m, lmi_arg_pos(&ctl->args, 0), LMI_OPEN_HEADER_ONLY, err);

	if (st == LMD_OK)
		st = lmi_gguf_plan_parts(&p, m, &(struct lmi_gguf_split_opts){0}, err);
	if (st == LMD_OK)
		st = write_all(m, &p, &to, "merge", err);
	if (st == LMD_OK && lmi_arg_flag(&ctl->args, "json"))
		json_merged(m, &p, to);
	lmi_gguf_parts_fini(&p);
	lmi_model_close(m);
	return st;
}

static const struct lmi_opt split_opts[] = {
	{.name = "split-max-size",
	 .type = LMI_OPT_SIZE,
	 .value = "SIZE",
	 .min = 1,
	 .max = 1ll << 50,
	 .doc = "Maximum size of a file, such as 2G; a larger tensor gets a file of its own."},
	{.name = "split-max-tensors",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1 << 17,
	 .def_text = "128 if there is no --split-max-size",
	 .doc = "Maximum number of tensors in a file."},
	{.name = "no-tensor-first-split",
	 .type = LMI_OPT_FLAG,
	 .doc = "Put only the keys into the first file, so that it stays small."},
	{.name = "dry-run",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print the names and sizes of the files without writing them."},
	LMI_OPT_JSON,
};

static const struct lmi_opt merge_opts[] = {LMI_OPT_JSON};

const struct lmi_cli_cmd lmi_ctl_cmd_split = {
	.name = "split",
	.args = "FILE PREFIX",
	.brief = "Split a model file into a set of files",
	.doc = "Writes PREFIX-00001-of-0000N.gguf and so on, and prints their names; programs "
	       "open the set by its first file. That file holds the keys and is written last: if "
	       "it exists, the set is complete. The bytes of tensors are copied. FILE may itself "
	       "be a set, which is then split anew.",
	.opts = split_opts,
	.n_opts = LMD_LEN(split_opts),
	.run = run_split,
};

const struct lmi_cli_cmd lmi_ctl_cmd_merge = {
	.name = "merge",
	.args = "FILE OUT",
	.brief = "Merge a set of model files into one file",
	.doc = "FILE is the first file of a set NAME-00001-of-0000N.gguf. OUT is one file with "
	       "the same keys and tensors; it appears only when it is complete.\n\nWith --json: "
	       "an object with path, tensors and bytes of the new file.",
	.opts = merge_opts,
	.n_opts = LMD_LEN(merge_opts),
	.run = run_merge,
};
