/* SPDX-License-Identifier: MIT */
#include "client/llamactl/model_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/embedded/embedded.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/prompt_input.h"
#include "client/llamactl/remote.h"
#include "core/base/printable.h"

/* ---- a file or a name ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n > k && !strcmp(text + n - k, end);
}

bool lmi_ctl_is_file_at(const char *word, const char *path)
{
	char config[4096];
	struct stat f;

	if (lmi_hub_is_source(word))
		return false;
	if (*word == '/' || *word == '.' || *word == '~' || ends_with(word, ".gguf"))
		return true;
	if (stat(path, &f))
		return false;
	if (!S_ISDIR(f.st_mode) || ends_with(path, "/"))
		return true;
	/* a folder that only happens to have the name of a model is not meant */
	(void)snprintf(config, sizeof(config), "%s/config.json", path);
	return access(config, F_OK) == 0;
}

bool lmi_ctl_is_file_argument(const char *word)
{
	return lmi_ctl_is_file_at(word, word);
}

static enum lmd_status check_file(const char *path, struct lmd_error *err)
{
	char shown[124];
	struct stat f;

	if (!stat(path, &f) || errno != ENOENT)
		return LMD_OK; /* a file that is not a model is reported by its reader */
	return lmd_fail(err, LMD_NOTFOUND, "%s: no such file",
			lmi_printable_path(shown, sizeof(shown), path));
}

/* ---- a model that is missing ---- */

static enum lmd_status find_model(struct lmi_ctl *ctl, const char *name, bool *found,
				  struct lmd_error *err)
{
	json_t *reply = NULL;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "models", json_pack("{s:s}", "model", name),
						 &reply, err);

	*found = st == LMD_OK && json_array_size(json_object_get(reply, "models"));
	json_decref(reply);
	return st == LMD_NOTFOUND ? LMD_OK : st;
}

static void keep_total(void *arg, const struct lmd_item *it)
{
	uint64_t *bytes = arg;

	if (!strcmp(it->phase, "download"))
		*bytes = it->total;
}

/* Asks on the terminal; returns LMD_NOTFOUND, with what to type, if the answer is no or nobody can
 * be asked. */
static enum lmd_status ask(struct lmi_ctl *ctl, const char *source, const char *name,
			   uint64_t bytes, struct lmd_error *err)
{
	char size[32] = "unknown size";
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	bool yes;

	if (bytes)
		(void)lmi_ctl_show_size(size, sizeof(size), bytes);
	if (lmi_arg_flag(&ctl->args, "yes"))
		return LMD_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return lmd_fail(err, LMD_NOTFOUND,
				"the model '%.64s' is not on this machine; to download it (%s): "
				"llamactl pull %.200s, or the same command with --yes",
				name, size, source);
	fprintf(stderr, "%s is not on this machine. Download it (%s)? [Y/n] ", source, size);
	(void)fflush(stderr);
	n = lmi_ctl_read_line(&line, &cap);
	yes = n == 1 || (n > 1 && (*line == 'y' || *line == 'Y'));
	if (n < 0)
		putc('\n', stderr);
	free(line);
	if (n < 0 && lmi_ctl_interrupted())
		return lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
	return yes ? LMD_OK : lmd_fail(err, LMD_NOTFOUND, "%.200s was not downloaded", source);
}

enum lmd_status lmi_ctl_ensure_model(struct lmi_ctl *ctl, const char *source, const char *name,
				     struct lmd_error *err)
{
	uint64_t bytes = 0;
	bool found = false;
	enum lmd_status st = find_model(ctl, name, &found, err);

	if (st != LMD_OK || found)
		return st;
	st = lmi_ctl_remote_watch(ctl, "pull",
				  json_pack("{s:s, s:s, s:b}", "source", source, "name", name,
					    "dry_run", true),
				  keep_total, &bytes, err);
	if (st == LMD_OK)
		st = ask(ctl, source, name, bytes, err);
	if (st != LMD_OK)
		return st;
	return lmi_ctl_remote_job(ctl, "pull",
				  json_pack("{s:s, s:s}", "source", source, "name", name), err);
}

enum lmd_status lmi_ctl_ensure_file(struct lmi_ctl *ctl, const char *path, const char *name,
				    struct lmd_error *err)
{
	char *full = realpath(path, NULL), shown[160];
	json_t *reply = NULL;
	const char *is;
	bool same;
	enum lmd_status st;

	if (!full)
		return lmd_fail(err, LMD_NOTFOUND, "%s: %s",
				lmi_printable_path(shown, sizeof(shown), path), strerror(errno));
	(void)lmi_ctl_remote_call(ctl, "models", json_pack("{s:s}", "model", name), &reply, NULL);
	is = json_string_value(
		json_object_get(json_array_get(json_object_get(reply, "models"), 0), "path"));
	same = is && !strcmp(is, full);
	json_decref(reply);
	st = same ? LMD_OK
		  : lmi_ctl_remote_job(ctl, "add",
				       json_pack("{s:s, s:s}", "name", name, "path", full), err);
	free(full);
	return st;
}

/* ---- the choice ---- */

static enum lmd_status choose_file(struct lmi_ctl *ctl, const char *path, char **own_name,
				   struct lmd_error *err)
{
	enum lmd_status st = check_file(path, err);

	*own_name = strdup(path);
	if (st == LMD_OK && !*own_name)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a path");
	return st == LMD_OK ? lmi_ctl_load_file(ctl, path, err) : st;
}

static enum lmd_status choose_name(struct lmi_ctl *ctl, const char *word, char **own_name,
				   struct lmd_error *err)
{
	char name[LMI_HUB_NAME_MAX + 1];
	struct lmi_embedded_name named;
	bool own = false, found = false;
	enum lmd_status st = lmi_hub_default_name(name, word, err);

	if (st == LMD_OK)
		st = lmi_ctl_models_client(ctl, &own, err);
	if (st == LMD_OK && !lmi_hub_is_source(word) && strcmp(word, name) != 0)
		st = find_model(ctl, word, &found, err);
	if (found) /* a name that ends in ":latest" */
		(void)snprintf(name, sizeof(name), "%s", word);
	if (st == LMD_OK)
		st = lmi_ctl_ensure_model(ctl, word, name, err);
	if (st != LMD_OK)
		return st;
	*own_name = strdup(name);
	if (!*own_name)
		return lmd_fail(err, LMD_NOMEM, "no memory for a name");
	if (own)
		st = lmi_ctl_own_model(ctl, name, &named, err);
	return own && st == LMD_OK ? lmi_ctl_load_named(ctl, &named, err) : st;
}

enum lmd_status lmi_ctl_choose_model(struct lmi_ctl *ctl, const char *word, char **own_name,
				     struct lmd_error *err)
{
	enum lmd_status st;

	*own_name = NULL;
	st = lmi_ctl_is_file_argument(word) ? choose_file(ctl, word, own_name, err)
						 : choose_name(ctl, word, own_name, err);
	if (st != LMD_OK) {
		free(*own_name);
		*own_name = NULL;
	}
	return st;
}
