/* SPDX-License-Identifier: MIT */
#include "client/llamactl/own_models.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/embedded/embedded.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/default_state.h"
#include "core/base/printable.h"
#include "core/base/tower_file.h"
#include "store/store.h"

/* How often a store that another process has open is tried again, a twentieth of a second apart. */
#define TRIES 100
/* The name of the vision tower in the folder of links. */
#define TOWER_LINK "/mmproj.gguf"

struct lmi_ctl_own_models {
	struct lmi_ctl_own_models *before; /* of an earlier model, whose links are in use until the end */
	struct lmi_store *store;
	struct lmi_hub_opts hub;
	struct lmi_ctl_hub_paths hub_paths;
	char *name, *model, *path, *modelfile; /* of lmi_ctl_own_model */
	char dir[PATH_MAX];
	char links[PATH_MAX - 64]; /* folder of links to the parts of a model; "": none */
	uint32_t n_link;
};

/* ---- the store ---- */

static const char *environment(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

/* Creates the folders above and the folder itself. */
static enum lmd_status make_folder(const char *dir, struct lmd_error *err)
{
	char part[PATH_MAX], shown[160];
	struct stat sb;

	lmi_printable_path(shown, sizeof(shown), dir);
	for (size_t i = 1; dir[i - 1]; i++) {
		if (dir[i] && dir[i] != '/')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)i, dir);
		if (stat(part, &sb) && mkdir(part, 0700) && errno != EEXIST)
			return lmd_fail(err, LMD_IO, "%s: cannot create the folder: %s", shown,
					strerror(errno));
	}
	if (stat(dir, &sb))
		return lmd_fail(err, LMD_IO, "%s: %s", shown, strerror(errno));
	if (sb.st_uid == geteuid())
		return LMD_OK;
	return lmd_fail(err, LMD_DENIED,
			"%s belongs to user %u: start the daemon that uses it, or set "
			"STATE_DIRECTORY to a folder of your own",
			shown, (unsigned)sb.st_uid);
}

static enum lmd_status open_store(struct lmi_ctl_own_models *m, struct lmd_error *err)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	const struct lmi_store_opts opts = {.now_ns = (int64_t)time(NULL) * 1000000000};
	char shown[160];
	int n = lmi_default_state_dir(m->dir, sizeof(m->dir), geteuid(), environment, NULL);
	enum lmd_status st;

	if (n <= 0 || (size_t)n >= sizeof(m->dir))
		return lmd_fail(err, LMD_INVALID,
				"no folder for models, since HOME is not set: set STATE_DIRECTORY");
	st = make_folder(m->dir, err);
	if (st != LMD_OK)
		return st;
	for (int i = 0; i < TRIES; i++) {
		st = lmi_store_open(&m->store, m->dir, &opts, NULL, err);
		if (st != LMD_BUSY)
			return st;
		(void)nanosleep(&pause, NULL);
	}
	return lmd_fail(err, st,
			"%s: another program uses these models: wait until its download is done or, "
			"if it is a daemon at another address, give --socket URL",
			lmi_printable_path(shown, sizeof(shown), m->dir));
}

static enum lmd_status open_own(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_ctl_own_models *m = lmi_alloc(1, sizeof(*m));
	struct lmi_embedded_opts o = {.hub = &lmi_hub_calls};
	const struct lmd_host *host;
	enum lmd_status st;

	if (!m)
		return lmd_fail(err, LMD_NOMEM, "no memory for the models");
	m->before = ctl->own;
	ctl->own = m;
	lmi_ctl_hub_opts(&m->hub, &m->hub_paths);
	st = open_store(m, err);
	if (st == LMD_OK)
		st = lmi_ctl_host(ctl, &host, err);
	if (st == LMD_OK)
		st = lmi_ctl_registry(ctl, &o.plugins, err);
	if (st != LMD_OK)
		return st;
	o.host = ctl->host;
	o.store = m->store;
	o.hub_opts = &m->hub;
	return lmi_embedded_open(&ctl->client, &o, err);
}

static void close_own(struct lmi_ctl *ctl)
{
	lmd_client_close(ctl->client);
	ctl->client = NULL;
}

bool lmi_ctl_has_own_models(const struct lmi_ctl *ctl)
{
	return ctl->own && ctl->client && lmi_embedded_is(ctl->client);
}

/* ---- the daemon, or the store ---- */

/* Connects to the daemon. *found is false if none listens at the default address. */
static enum lmd_status find_daemon(struct lmi_ctl *ctl, bool *found, struct lmd_error *err)
{
	struct lmd_client *c;
	char *reply = NULL;
	enum lmd_status st;

	*found = false;
	if (!lmi_ctl_has_daemon(ctl))
		return LMD_OK;
	st = lmi_ctl_client(ctl, &c, err);
	if (st == LMD_OK)
		st = lmd_client_call(c, "ping", "{}", &reply, err);
	lmd_client_free(reply);
	*found = st == LMD_OK;
	if (st != LMD_IO || lmi_ctl_socket(ctl))
		return st;
	close_own(ctl); /* the socket of a daemon that has ended */
	*err = (struct lmd_error){0};
	return LMD_OK;
}

enum lmd_status lmi_ctl_models_client(struct lmi_ctl *ctl, bool *own, struct lmd_error *err)
{
	bool found = false;
	enum lmd_status st;

	*own = lmi_ctl_has_own_models(ctl);
	if (*own)
		return LMD_OK;
	st = find_daemon(ctl, &found, err);
	if (st != LMD_OK || found)
		return st;
	*own = true;
	return open_own(ctl, err);
}

/* ---- the files of a model ---- */

/* Makes a link with the name of a vision tower, if the model has one. */
static enum lmd_status link_tower(const struct lmi_ctl_own_models *m, const struct lmi_store_model *row,
				  struct lmd_error *err)
{
	char tower[PATH_MAX], path[PATH_MAX], shown[160];

	if (!lmi_tower_beside(tower, sizeof(tower), row->files[0].path))
		return LMD_OK;
	(void)snprintf(path, sizeof(path), "%s" TOWER_LINK, m->links);
	return symlink(tower, path) ? lmd_fail(err, LMD_IO, "%s: %s", lmi_printable_path(shown, sizeof(shown), path),
					       strerror(errno))
				    : LMD_OK;
}

/* Makes links with the names of parts, and returns the path of the first. */
static enum lmd_status link_parts(struct lmi_ctl_own_models *m, const struct lmi_store_model *row,
				  char **own_path, struct lmd_error *err)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX], shown[160];

	tmp = tmp && *tmp == '/' && strlen(tmp) < sizeof(m->links) - 32 ? tmp : "/tmp";
	(void)snprintf(m->links, sizeof(m->links), "%s/llamactl-XXXXXX", tmp);
	if (!mkdtemp(m->links)) {
		m->links[0] = 0;
		return lmd_fail(err, LMD_IO, "%s: cannot create a folder: %s",
				lmi_printable_path(shown, sizeof(shown), tmp), strerror(errno));
	}
	for (m->n_link = 0; m->n_link < row->n_files; m->n_link++) {
		(void)snprintf(path, sizeof(path), "%s/model-%05u-of-%05u.gguf", m->links,
			       m->n_link + 1, row->n_files);
		if (symlink(row->files[m->n_link].path, path))
			return lmd_fail(err, LMD_IO, "%s: %s",
					lmi_printable_path(shown, sizeof(shown), path),
					strerror(errno));
	}
	(void)snprintf(path, sizeof(path), "%s/model-00001-of-%05u.gguf", m->links, row->n_files);
	*own_path = strdup(path);
	return *own_path ? link_tower(m, row, err) : lmd_fail(err, LMD_NOMEM, "no memory for a path");
}

static enum lmd_status path_of(struct lmi_ctl_own_models *m, const struct lmi_store_model *row,
			       char **own_path, struct lmd_error *err)
{
	bool gguf = !strcmp(row->format, "gguf");
	enum lmd_status st = lmi_store_model_changed(row, err);

	if (st != LMD_OK)
		return st;
	if (gguf && row->imported && row->n_files > 1)
		return link_parts(m, row, own_path, err);
	*own_path = row->n_files ? strdup(row->files[0].path) : NULL;
	if (!*own_path)
		return lmd_fail(err, LMD_NOMEM, "no memory for a path");
	if (row->n_files > 1 && !gguf) /* the folder */
		*strrchr(*own_path, '/') = 0;
	return LMD_OK;
}

char *lmi_ctl_own_modelfile(const struct lmi_ctl *ctl, const char *name)
{
	struct lmi_store_presets p = {0};
	char *text = NULL;

	if (lmi_store_preset_list(ctl->own->store, &p, NULL) != LMD_OK)
		return NULL;
	for (uint32_t i = 0; i < p.n && !text; i++)
		if (!strcmp(p.v[i].name, name))
			text = strdup(p.v[i].text);
	lmi_store_presets_fini(&p);
	return text;
}

/* own_model: where the name of the model goes, which `name` may be an alias of; NULL: nowhere. */
static enum lmd_status take_model(struct lmi_ctl *ctl, const char *name, char **own_path,
				  char **own_model, struct lmd_error *err)
{
	struct lmi_ctl_own_models *m = ctl->own;
	struct lmi_store_models found = {0};
	enum lmd_status st;

	close_own(ctl);
	st = lmi_store_model_find(m->store, name, &found, err);
	if (st == LMD_OK)
		st = path_of(m, &found.v[0], own_path, err);
	if (st == LMD_OK && own_model && !(*own_model = strdup(found.v[0].name)))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a name");
	lmi_store_models_fini(&found);
	lmi_store_close(m->store); /* others may use it while the model runs */
	m->store = NULL;
	return st;
}

enum lmd_status lmi_ctl_own_model_path(struct lmi_ctl *ctl, const char *name, char **own_path,
				       struct lmd_error *err)
{
	return take_model(ctl, name, own_path, NULL, err);
}

enum lmd_status lmi_ctl_own_model(struct lmi_ctl *ctl, const char *name,
				  struct lmi_embedded_name *out, struct lmd_error *err)
{
	struct lmi_ctl_own_models *m = ctl->own;
	enum lmd_status st;

	m->modelfile = lmi_ctl_own_modelfile(ctl, name);
	m->name = strdup(name);
	st = take_model(ctl, name, &m->path, &m->model, err);
	if (st == LMD_OK && !m->name)
		st = lmd_fail(err, LMD_NOMEM, "no memory for a name");
	*out = (struct lmi_embedded_name){
		.name = m->name, .model = m->model, .path = m->path, .modelfile = m->modelfile};
	return st;
}

const char *lmi_ctl_own_models_dir(const struct lmi_ctl *ctl)
{
	return ctl->own->dir;
}

void lmi_ctl_own_models_close(struct lmi_ctl *ctl)
{
	close_own(ctl);
	lmi_store_close(ctl->own->store);
	ctl->own->store = NULL;
}

static void destroy(struct lmi_ctl_own_models *m)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < m->n_link; i++) {
		(void)snprintf(path, sizeof(path), "%s/model-%05u-of-%05u.gguf", m->links, i + 1,
			       m->n_link);
		(void)unlink(path);
	}
	if (*m->links) {
		(void)snprintf(path, sizeof(path), "%s" TOWER_LINK, m->links);
		(void)unlink(path);
		(void)rmdir(m->links);
	}
	lmi_store_close(m->store);
	free(m->name);
	free(m->model);
	free(m->path);
	free(m->modelfile);
	lmi_free(m);
}

void lmi_ctl_own_models_fini(struct lmi_ctl *ctl)
{
	while (ctl->own) {
		struct lmi_ctl_own_models *m = ctl->own;

		ctl->own = m->before;
		destroy(m);
	}
}
