/* SPDX-License-Identifier: MIT
 *
 * llamactl create: a name from a Modelfile or from a preset in TOML. What FROM names is made ready
 * first: a file is added, a source is downloaded. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/model_choice.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/utf8.h"
#include "store/modelfile.h"
#include "store/preset_toml.h"

/* Writes a path that stands in the Modelfile, relative to its folder. */
static void path_in(char out[PATH_MAX], const char *modelfile, const char *path)
{
	const char *slash = strrchr(modelfile, '/');

	(void)snprintf(out, PATH_MAX, "%.*s%s",
		       *path != '/' && slash ? (int)(slash + 1 - modelfile) : 0, modelfile, path);
}

/* Writes the absolute path of ADAPTER as a value of a Modelfile, or nothing if there is none. */
static enum lmd_status adapter_value(char out[PATH_MAX + 2], const char *modelfile,
				     const char *adapter, struct lmd_error *err)
{
	char path[PATH_MAX], full[PATH_MAX];

	*out = 0;
	if (!adapter)
		return LMD_OK;
	path_in(path, modelfile, adapter);
	if (*path != '/' && !realpath(path, full))
		return lmd_fail(err, LMD_IO, "ADAPTER: %.300s: %s", path, strerror(errno));
	(void)snprintf(out, PATH_MAX + 2, "\"%s\"", *path == '/' ? path : full);
	if (strchr(out, '\n'))
		return lmd_fail(err, LMD_INVALID, "ADAPTER: the path of the file has a line break");
	return LMD_OK;
}

/* Makes the model of FROM ready and writes its name. */
static enum lmd_status prepare_base(struct lmi_ctl *ctl, const char *modelfile, const char *from,
				    char name[LMI_HUB_NAME_MAX + 1], struct lmd_error *err)
{
	char path[PATH_MAX];
	enum lmd_status st;

	path_in(path, modelfile, from);
	if (lmi_ctl_is_file_at(from, path)) {
		lmi_hub_file_default_name(name, path);
		return lmi_ctl_ensure_file(ctl, path, name, err);
	}
	st = lmi_hub_default_name(name, from, err);
	return st == LMD_OK ? lmi_ctl_ensure_model(ctl, from, name, err) : st;
}

/* A value of the Modelfile and the text that takes its place. */
struct replacement {
	struct lmi_store_modelfile_place place;
	const char *text;
};

/* Makes the text with other values for FROM and ADAPTER. */
static enum lmd_status with_values(json_t **out_text, const char *file, const char *text,
				   const struct replacement *from,
				   const struct replacement *adapter, struct lmd_error *err)
{
	bool swap = adapter->place.at < from->place.at;
	const struct replacement *a = swap ? adapter : from, *b = swap ? from : adapter;
	const char *rest = text + a->place.at + a->place.n, *end = text + b->place.at + b->place.n;
	size_t n = strlen(text) + strlen(a->text) + strlen(b->text) + 1;
	char *out;

	if (lmi_utf8_valid_prefix(text, strlen(text)) < strlen(text))
		return lmd_fail(err, LMD_INVALID, "%.200s is not valid UTF-8", file);
	out = malloc(n);
	*out_text = NULL;
	if (out) {
		(void)snprintf(out, n, "%.*s%s%.*s%s%s", (int)a->place.at, text, a->text,
			       (int)(text + b->place.at - rest), rest, b->text, end);
		*out_text = json_string(out);
	}
	free(out);
	return *out_text ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for a Modelfile");
}

static enum lmd_status create(struct lmi_ctl *ctl, const char *file, const char *text,
			      const struct lmi_store_modelfile *m, struct lmd_error *err)
{
	char base[LMI_HUB_NAME_MAX + 1], path[PATH_MAX + 2];
	const struct replacement from = {.place = m->from_at, .text = base};
	const struct replacement adapter = {.place = m->adapter_at, .text = path};
	bool own = false;
	json_t *modelfile;
	enum lmd_status st = adapter_value(path, file, m->adapter, err);

	if (st == LMD_OK)
		st = lmi_ctl_models_client(ctl, &own, err);
	if (st == LMD_OK)
		st = prepare_base(ctl, file, m->from, base, err);
	if (st != LMD_OK)
		return st;
	st = with_values(&modelfile, file, text, &from, &adapter, err);
	if (st != LMD_OK)
		return st;
	return lmi_ctl_remote_run(ctl, "create",
				  json_pack("{s:s, s:o}", "name", lmi_arg_pos(&ctl->args, 0),
					    "modelfile", modelfile),
				  err);
}

/* Replaces the text of a preset in TOML by a Modelfile. */
static enum lmd_status from_toml(char **text, size_t *n, struct lmd_error *err)
{
	char *modelfile;
	enum lmd_status st = lmi_store_preset_toml(&modelfile, *text, *n, err);

	if (st != LMD_OK)
		return st;
	lmi_free(*text);
	*text = modelfile;
	*n = strlen(modelfile);
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *file = lmi_arg_str(&ctl->args, "file"), *ending = strrchr(file, '.');
	struct lmi_store_modelfile m = {0};
	char *text = NULL;
	size_t n;
	enum lmd_status st = lmi_file_read_all(file, LMI_STORE_MODELFILE_BYTES, &text, &n, err);

	if (st == LMD_OK && ending && !strcmp(ending, ".toml"))
		st = from_toml(&text, &n, err);
	if (st == LMD_OK)
		st = lmi_store_modelfile_parse(&m, text, n, err);
	if (st == LMD_OK)
		st = create(ctl, file, text, &m, err);
	else if (text)
		lmd_error_prefix(err, file);
	lmi_store_modelfile_fini(&m);
	lmi_free(text);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "file",
	 .letter = 'f',
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .def = "Modelfile",
	 .doc = "The Modelfile, or a preset in TOML if its name ends in .toml."},
	LMI_CTL_OPT_YES,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_create = {
	.name = "create",
	.args = "NAME",
	.brief = "Make a model with a prompt and parameters of its own",
	.doc = "Reads a Modelfile in Ollama's format. FROM names a model of `llamactl list`, a file "
	       "(relative to the Modelfile), or a source of downloads. SYSTEM, TEMPLATE, PARAMETER and "
	       "MESSAGE then apply to every request that names NAME, through llamactl and every API, "
	       "unless the request has values of its own. The files of the model are shared, not "
	       "copied. A NAME that was made before is replaced; `llamactl rm NAME` removes it, and "
	       "`llamactl show NAME --modelfile` prints it.\n\n"
	       "A TEMPLATE is the name of a template or a Jinja template; one in the language of Go is "
	       "left out, and the model's own applies. Parameters that say how a model is loaded "
	       "(num_ctx, num_gpu, ...) and seed have no effect. ADAPTER is the file of an adapter (relative "
	       "to the Modelfile), which has to stay where it is, for llamad to read; requests that "
	       "name NAME use it.\n\n"
	       "A preset in TOML has the keys base (FROM), adapter, system, template and license, a "
	       "table [parameters], and a table [[messages]] with role and content for each message.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
