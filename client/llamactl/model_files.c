/* SPDX-License-Identifier: MIT */
#include "client/llamactl/model_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/model_choice.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/base/tower_file.h"
#include "core/checkpoint/open.h"
#include "core/engine/tower_check.h"
#include "core/quant/ftype.h"

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the files of a model");
}

static enum lmd_status too_many(const char *name, uint32_t n, struct lmd_error *err)
{
	return lmd_fail(err, LMD_UNSUPPORTED, "%.128s has %u files; the limit is %d", name, n,
			LMI_CTL_MODEL_FILES_MAX);
}

/* ---- where the model is ---- */

/* The daemon's files belong to it; a user may not be able to read them. */
static enum lmd_status check_access(const char *name, const char *path, struct lmd_error *err)
{
	char shown[200];

	if (!access(path, R_OK))
		return LMD_OK;
	(void)lmi_printable_path(shown, sizeof(shown), path);
	if (errno == EACCES)
		return lmd_fail(err, LMD_DENIED,
				"%.128s: %s cannot be read by this user: run the command as the daemon's "
				"user (sudo -u llamad) or as root",
				name, shown);
	return lmd_fail(err, LMD_IO, "%.128s: %s: %s (is the daemon on another machine?)", name, shown,
			strerror(errno));
}

/* Takes the paths of a model in parts. */
static enum lmd_status take_paths(struct lmi_ctl_model_files *m, const char *name, const json_t *files,
				  struct lmd_error *err)
{
	size_t n = json_array_size(files);
	enum lmd_status st = LMD_OK;

	if (n < 2)
		return LMD_OK;
	if (n > LMI_CTL_MODEL_FILES_MAX)
		return too_many(name, (uint32_t)n, err);
	m->paths = lmi_alloc(n, sizeof(*m->paths));
	if (!m->paths)
		return no_memory(err);
	for (; m->n < n && st == LMD_OK; m->n++) {
		const char *path = json_string_value(json_array_get(files, m->n));

		st = check_access(name, path ? path : "", err);
		m->paths[m->n] = strdup(path ? path : "");
		if (!m->paths[m->n])
			return no_memory(err);
	}
	return st;
}

static enum lmd_status of_daemon(struct lmi_ctl_model_files *m, struct lmi_ctl *ctl, const char *name,
				 char **own_path, struct lmd_error *err)
{
	json_t *info;
	const char *path, *text;
	enum lmd_status st =
		lmi_ctl_remote_call(ctl, "info", json_pack("{s:s}", "model", name), &info, err);

	if (st != LMD_OK)
		return st;
	path = text_of(json_object_get(info, "model"), "path");
	text = text_of(info, "modelfile");
	if (!*path)
		st = lmd_fail(err, LMD_DENIED,
			      "the daemon tells the path of '%.128s' to admins only: use a key with the "
			      "role admin, or give the file",
			      name);
	else
		st = check_access(name, path, err);
	if (st == LMD_OK && !strcmp(text_of(json_object_get(info, "model"), "format"), "gguf"))
		st = take_paths(m, name, json_object_get(info, "files"), err);
	if (st == LMD_OK) {
		*own_path = strdup(path);
		m->modelfile = *text ? strdup(text) : NULL;
		if (!*own_path || (*text && !m->modelfile))
			st = no_memory(err);
	}
	json_decref(info);
	return st;
}

static enum lmd_status of_name(struct lmi_ctl_model_files *m, struct lmi_ctl *ctl, const char *name,
			       char **own_path, struct lmd_error *err)
{
	bool own;
	enum lmd_status st = lmi_ctl_models_client(ctl, &own, err);

	if (st != LMD_OK || !own)
		return st == LMD_OK ? of_daemon(m, ctl, name, own_path, err) : st;
	m->modelfile = lmi_ctl_own_modelfile(ctl, name);
	return lmi_ctl_own_model_path(ctl, name, own_path, err);
}

/* ---- the files ---- */

/* Writes the name of the mix of tensor types, as in general.file_type. */
static void read_quant(struct lmi_ctl_model_files *m, const struct lmd_model *v)
{
	const struct lmd_meta *meta = v->find_meta(v, "general.file_type");
	const struct lmi_ftype *f = meta && meta->type == LMD_META_I64 && meta->v.i >= 0 && meta->v.i < LMI_FTYPE_END
					    ? lmi_ftype((uint32_t)meta->v.i)
					    : NULL;

	(void)snprintf(m->quant, sizeof(m->quant), "%s", f ? f->name : "");
}

/* Takes the vision tower beside the model, unless the file only has the name of one. */
static enum lmd_status find_tower(struct lmi_ctl_model_files *m, struct lmi_ctl *ctl, const struct lmd_model *v,
				  struct lmd_error *err)
{
	struct lmi_plugin_registry *plugins;
	struct lmd_error why = {0};
	char tower[PATH_MAX], first[PATH_MAX];
	enum lmd_status st;

	/* a name without a folder is one of the current folder */
	(void)snprintf(first, sizeof(first), "%s%s", strchr(m->paths[0], '/') ? "" : "./", m->paths[0]);
	if (!lmi_tower_beside(tower, sizeof(tower), first))
		return LMD_OK;
	st = check_access(m->name, tower, err);
	if (st == LMD_OK)
		st = lmi_ctl_registry(ctl, &plugins, err);
	if (st != LMD_OK)
		return st;
	if (lmi_engine_tower_check(tower, v, plugins, &why) != LMD_OK) {
		(void)fprintf(stderr, "%.128s goes without the vision tower beside it: %s\n", m->name, why.text);
		return LMD_OK;
	}
	m->tower = strdup(tower);
	return m->tower ? LMD_OK : no_memory(err);
}

static enum lmd_status read_model(struct lmi_ctl_model_files *m, struct lmi_ctl *ctl, const struct lmi_model *model,
				  struct lmd_error *err)
{
	const struct lmd_model *v = lmi_model_view(model);
	uint32_t n = lmi_model_n_files(model);

	if (strncmp(v->format, "gguf", 4) != 0)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"%.128s is not a GGUF file (%s): `llamactl convert` makes one", m->name,
				v->format);
	if (n > LMI_CTL_MODEL_FILES_MAX)
		return too_many(m->name, n, err);
	if (!m->paths)
		m->paths = lmi_alloc(n, sizeof(*m->paths));
	if (!m->paths)
		return no_memory(err);
	for (; m->n < n; m->n++) { /* unless the daemon told them */
		struct lmi_model_file f;

		lmi_model_file(model, m->n, &f);
		m->paths[m->n] = strdup(f.path);
		if (!m->paths[m->n])
			return no_memory(err);
	}
	(void)snprintf(m->arch, sizeof(m->arch), "%s", v->arch);
	read_quant(m, v);
	return find_tower(m, ctl, v, err);
}

enum lmd_status lmi_ctl_model_files_find(struct lmi_ctl_model_files *out, struct lmi_ctl *ctl,
					 const char *word, struct lmd_error *err)
{
	struct lmi_ctl_model_files m = {0};
	struct lmi_model *model = NULL;
	char *own_path = NULL;
	bool is_file = lmi_ctl_is_file_argument(word);
	enum lmd_status st = LMD_OK;

	if (is_file) {
		lmi_hub_file_default_name(m.name, word);
		own_path = strdup(word);
		st = own_path ? LMD_OK : no_memory(err);
	} else {
		(void)snprintf(m.name, sizeof(m.name), "%s", word);
		st = of_name(&m, ctl, word, &own_path, err);
	}
	if (st == LMD_OK)
		st = m.n ? lmi_ctl_open_files(ctl, &model, (const char *const *)m.paths, m.n, err)
			 : lmi_ctl_open_model(ctl, &model, own_path, LMI_OPEN_HEADER_ONLY, err);
	if (st == LMD_OK)
		st = read_model(&m, ctl, model, err);
	lmi_model_close(model);
	free(own_path);
	if (st == LMD_OK)
		*out = m;
	else
		lmi_ctl_model_files_fini(&m);
	return st;
}

void lmi_ctl_model_files_fini(struct lmi_ctl_model_files *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->paths[i]);
	lmi_free(m->paths);
	free(m->tower);
	free(m->modelfile);
	*m = (struct lmi_ctl_model_files){0};
}
