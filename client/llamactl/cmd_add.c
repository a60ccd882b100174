/* SPDX-License-Identifier: MIT
 *
 * llamactl add: registers a model file, or the models that another program keeps on this machine. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/bundle.h"
#include "client/llamactl/foreign_models.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/remote.h"

/* Registers one model. path: absolute, since the daemon's working directory is a different one. */
static enum lmd_status add_path(struct lmi_ctl *ctl, const char *name, const char *path,
				struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	json_t *m = json_pack("{s:s, s:s, s:b, s:b}", "name", name, "path", path, "copy",
			      lmi_arg_flag(a, "import"), "replace", lmi_arg_flag(a, "replace"));

	if (m && lmi_arg_str(a, "digest"))
		(void)json_object_set_new(m, "digest", json_string(lmi_arg_str(a, "digest")));
	return lmi_ctl_remote_job(ctl, "add", m, err);
}

static enum lmd_status add_file(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0), *path = lmi_arg_pos(&ctl->args, 1);
	char *full = realpath(path, NULL);
	enum lmd_status st = add_path(ctl, name, full ? full : path, err);

	free(full);
	return st == LMD_OK ? lmi_ctl_remote_print_row(ctl, "models", "name", name, err) : st;
}

/* ---- models of other programs ---- */

static bool is_known(const json_t *models, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(models, i, row)
	{
		const char *s = json_string_value(json_object_get(row, "name"));

		if (s && !strcmp(s, name))
			return true;
	}
	return false;
}

/* Registers the model unless that was done before; returns the word for the table. */
static const char *add_found(struct lmi_ctl *ctl, const struct lmi_ctl_foreign_model *m,
			     const json_t *models, char *text, size_t size)
{
	struct lmd_error err = {0};

	if (is_known(models, m->name) && !lmi_arg_flag(&ctl->args, "replace"))
		return "there already";
	if (lmi_arg_flag(&ctl->args, "dry-run"))
		return "not added";
	if (add_path(ctl, m->name, m->path, &err) == LMD_OK)
		return "added";
	(void)snprintf(text, size, "%s", err.text);
	return text;
}

static void print_found(const json_t *rows, bool json)
{
	static const struct lmi_ctl_column cols[] = {
		{"NAME", "name", LMI_CTL_COL_TEXT},
		{"SIZE", "size", LMI_CTL_COL_BYTES},
		{"RESULT", "result", LMI_CTL_COL_TEXT},
		{"PATH", "path", LMI_CTL_COL_PATH},
	};

	if (json)
		lmi_ctl_remote_print(rows);
	else
		lmi_ctl_remote_table(rows, cols, LMD_LEN(cols));
}

static enum lmd_status add_foreign(struct lmi_ctl *ctl, const char *only, struct lmd_error *err)
{
	struct lmi_ctl_foreign_models found = {0};
	json_t *reply = NULL, *rows = json_array();
	enum lmd_status st = lmi_ctl_remote_call(ctl, "models", NULL, &reply, err);

	if (st == LMD_OK)
		st = lmi_ctl_foreign_find(
			&found, (enum lmi_ctl_foreign)lmi_arg_int(&ctl->args, "from"), err);
	for (uint32_t i = 0; i < found.n; i++) {
		char text[LMD_ERROR_TEXT];
		const char *result;

		if (only && strcmp(only, found.v[i].name) != 0)
			continue;
		result = add_found(ctl, &found.v[i], json_object_get(reply, "models"), text,
				   sizeof(text));
		(void)json_array_append_new(
			rows, json_pack("{s:s, s:I, s:s, s:s}", "name", found.v[i].name, "size",
					(json_int_t)found.v[i].bytes, "result", result, "path",
					found.v[i].path));
	}
	if (st == LMD_OK && !json_array_size(rows))
		st = lmd_fail(err, LMD_NOTFOUND, "no model%s%s in %s", only ? " " : "",
			      only ? only : "", found.folder);
	if (st == LMD_OK)
		print_found(rows, lmi_arg_flag(&ctl->args, "json"));
	json_decref(rows);
	json_decref(reply);
	lmi_ctl_foreign_fini(&found);
	return st;
}

/* ---- the command ---- */

/* A bundle has no name of its own: FILE.tar, or "-" for standard input. */
static bool is_bundle(const char *word)
{
	size_t n = strlen(word);

	return !strcmp(word, "-") || (n > 4 && !strcmp(word + n - 4, ".tar"));
}

static enum lmd_status add(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	bool foreign = lmi_arg_given(a, "from"), own;
	enum lmd_status st;

	if (foreign && a->n_pos > 1)
		return lmi_ctl_usage(ctl, err, "--from takes the name of one model at most");
	if (!foreign && a->n_pos == 1 && is_bundle(lmi_arg_pos(a, 0)))
		return lmi_ctl_bundle_import(ctl, lmi_arg_pos(a, 0), err);
	if (!foreign && a->n_pos != 2)
		return lmi_ctl_usage(ctl, err,
				     "NAME and PATH are missing, or --from PROGRAM, or a bundle (FILE.tar)");
	if (lmi_arg_flag(a, "dry-run") && !foreign)
		return lmi_ctl_usage(ctl, err, "--dry-run needs --from");
	st = lmi_ctl_models_client(ctl, &own, err);
	if (st != LMD_OK)
		return st;
	return foreign ? add_foreign(ctl, lmi_arg_pos(a, 0), err) : add_file(ctl, err);
}

static const struct lmi_opt opts[] = {
	{.name = "from",
	 .type = LMI_OPT_CHOICE,
	 .value = LMI_CTL_FOREIGN_WORDS,
	 .doc = "Register the models that this program keeps on this machine, or only NAME; their "
		"files stay where they are."},
	{.name = "dry-run", .type = LMI_OPT_FLAG, .doc = "With --from: only list the models."},
	{.name = "import",
	 .type = LMI_OPT_FLAG,
	 .doc = "Copy the file and the vision tower beside it into the daemon's own store, so that the "
		"originals can be deleted."},
	{.name = "replace",
	 .type = LMI_OPT_FLAG,
	 .doc = "Replace the model of that name, if there is one."},
	{.name = "digest",
	 .type = LMI_OPT_STR,
	 .value = "SHA256",
	 .doc = "Reject the file unless it has this digest (64 hexadecimal digits, optionally "
		"after 'sha256:')."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_add = {
	.name = "add",
	.args = "[NAME|BUNDLE] [PATH]",
	.brief = "Register files, bundles, or other programs' models",
	.doc = "The model is called NAME from now on. PATH is a file on the daemon's machine, "
	       "inside one of its model folders; its digest is computed and stored, and a file "
	       "that changes later is detected before it is used. With --json: the model's row "
	       "of `list`.\n\nWith a bundle of `llamactl bundle` in place of NAME and PATH, a file whose name ends "
	       "in .tar or '-' for standard input, its models are registered by their own names, after all of "
	       "it was checked; their files are copied into the store. With --json: a list of the names.\n\n"
	       "With --from the models of Ollama, LM Studio, Hugging Face's cache or "
	       "llama.cpp's cache are registered without copying them. They are looked for in "
	       "OLLAMA_MODELS, HF_HUB_CACHE, HF_HOME or LLAMA_CACHE, if that is set, otherwise in "
	       "the program's usual folder. A model that cannot be added is listed with the "
	       "reason. With --json: a list of objects with name, size, result and path.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = add,
};
