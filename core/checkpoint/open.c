/* SPDX-License-Identifier: MIT
 *
 * Opens a model: asks the formats who recognises the path, the built-in ones first and then those
 * of plugins, and lets the best one open it (llamad/format.h has the order).  A built-in format
 * that is sure, which is the usual case, is used without a look at the plugins. */
#include "core/checkpoint/open.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"
#include "core/checkpoint/formats.h"
#include "core/format/model_builder.h"
#include "core/model/model.h"
#include "core/plugin/registry.h"
#include "core/sign/policy.h"
#include "llamad/format.h"

#define MAX_PATH 4000u
#define ALL_FLAGS                                                                                  \
	(LMI_OPEN_HEADER_ONLY | LMI_OPEN_NO_MMAP | LMI_OPEN_MLOCK | LMI_OPEN_DIRECT |              \
	 LMI_OPEN_MEASURE)

/* A path that is probed.  `probe` is the first member: has_file gets a pointer to it. */
struct subject {
	struct lmd_format_probe probe;
	struct lmi_file file; /* fd -1 for a folder */
	uint8_t head[LMD_FORMAT_HEAD_BYTES];
	char path[MAX_PATH + 1]; /* of a folder without slashes at its end */
};

/* The best format so far. */
struct choice {
	const char *name;
	const struct lmd_format_ops *ops;
	size_t state_bytes;
	const struct lmi_factory *taken; /* NULL: built in */
	int score;
};

/* ---- what a probe sees ---- */

static bool has_file(const struct lmd_format_probe *p, const char *name)
{
	char path[MAX_PATH + 257];
	struct stat sb;

	return lmi_model_file_name_ok(name) &&
	       lmi_model_beside(path, sizeof(path), p->path, p->is_folder, name) &&
	       stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}

static enum lmd_status read_head(struct subject *s, struct lmd_error *err)
{
	uint64_t n = s->file.bytes < sizeof(s->head) ? s->file.bytes : sizeof(s->head);
	enum lmd_status st;
	char show[112];

	if (!n)
		return LMD_OK;
	st = lmi_file_read(&s->file, 0, s->head, (size_t)n, err);
	if (st != LMD_OK)
		lmd_error_prefix(err, lmi_printable_path(show, sizeof(show), s->path));
	s->probe.head_bytes = (uint32_t)n;
	return st;
}

/* Opens the path for probing.  Close s->file afterwards, also after a failure. */
static enum lmd_status subject_open(struct subject *s, const char *path, struct lmd_error *err)
{
	size_t n = strlen(path);
	const char *slash;
	enum lmd_status st;
	struct stat sb;

	memset(s, 0, sizeof(*s));
	s->file.fd = -1;
	if (n > MAX_PATH)
		return lmd_fail(err, LMD_INVALID, "path of %zu bytes, must be at most %u", n,
				MAX_PATH);
	memcpy(s->path, path, n + 1);
	s->probe.struct_size = sizeof(s->probe);
	s->probe.head = s->head;
	s->probe.path = s->path;
	s->probe.has_file = has_file;
	s->probe.is_folder = stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
	if (s->probe.is_folder) {
		while (n > 1 && s->path[n - 1] == '/')
			s->path[--n] = '\0';
	} else {
		st = lmi_file_open(&s->file, path, err);
		if (st == LMD_OK)
			st = read_head(s, err);
		if (st != LMD_OK)
			return st;
		s->probe.file_bytes = s->file.bytes;
	}
	slash = strrchr(s->path, '/');
	s->probe.name = slash ? slash + 1 : s->path;
	return LMD_OK;
}

/* ---- choosing ---- */

/* Asks a format; one that comes later must be surer. */
static bool ask(struct choice *c, const struct subject *s, const struct lmd_host *host,
		const struct lmd_factory *f, const struct lmd_format_ops *ops,
		const struct lmi_factory *taken)
{
	int score = ops->probe(host, &s->probe);

	score = score > LMD_FORMAT_SURE ? LMD_FORMAT_SURE : score;
	if (score <= c->score)
		return false;
	*c = (struct choice){f->name, ops, f->state_bytes, taken, score};
	return true;
}

static bool is_builtin(const struct lmi_factory *f)
{
	const struct lmd_plugin *p = &lmi_formats_builtin;

	for (uint32_t i = 0; i < p->n_factories; i++) {
		const struct lmd_format_ops *ops = p->factories[i].ops;

		if (f->ops.format->open == ops->open)
			return true;
	}
	return false;
}

static enum lmd_status ask_plugins(struct choice *c, const struct subject *s,
				   struct lmi_plugin_registry *plugins, struct lmd_error *err)
{
	const struct lmd_host *host = lmi_plugin_registry_host(plugins);
	const struct lmi_factory **all = NULL;
	enum lmd_status st;
	uint32_t n = 0;

	st = lmi_factory_take_all(plugins, LMD_KIND_FORMAT, &all, &n, err);
	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < n; i++) {
		const struct lmi_factory *before = c->taken;

		if (is_builtin(all[i]) || !ask(c, s, host, all[i]->f, all[i]->ops.format, all[i]))
			lmi_factory_give(plugins, all[i]);
		else
			lmi_factory_give(plugins, before);
	}
	lmi_free(all);
	return LMD_OK;
}

/* Finds the best format; c->score is 0 if there is none.  Give c->taken back. */
static enum lmd_status choose(struct choice *c, const struct subject *s,
			      struct lmi_plugin_registry *plugins, struct lmd_error *err)
{
	const struct lmd_host *host = plugins ? lmi_plugin_registry_host(plugins) : NULL;
	const struct lmd_plugin *p = &lmi_formats_builtin;

	*c = (struct choice){0};
	for (uint32_t i = 0; i < p->n_factories; i++)
		(void)ask(c, s, host, &p->factories[i], p->factories[i].ops, NULL);
	return plugins && c->score < LMD_FORMAT_SURE ? ask_plugins(c, s, plugins, err) : LMD_OK;
}

static enum lmd_status unrecognised(const struct subject *s, bool plugins, struct lmd_error *err)
{
	const char *more = plugins ? ", and no plugin recognises the format" : "";
	char show[112], found[24];

	lmi_printable_path(show, sizeof(show), s->path);
	if (s->file.bytes < LMI_FORMATS_MIN_BYTES)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: %llu bytes, but a model file has at least %u%s", show,
				(unsigned long long)s->file.bytes, LMI_FORMATS_MIN_BYTES, more);
	return lmd_fail(err, LMD_UNSUPPORTED, "%s: starts with \"%s\", not \"GGUF\"%s", show,
			lmi_printable(found, sizeof(found), (const char *)s->head, 4), more);
}

static int score(struct lmi_plugin_registry *plugins, const char *path)
{
	struct choice c = {0};
	struct subject s;

	if (subject_open(&s, path, NULL) == LMD_OK)
		(void)choose(&c, &s, plugins, NULL);
	if (c.taken)
		lmi_factory_give(plugins, c.taken);
	lmi_file_close(&s.file);
	return c.score;
}

int lmi_model_open_score(struct lmi_plugin_registry *plugins, const char *path)
{
	struct lmi_sign_scope scope;
	int best = score(NULL, path);

	/* a plugin must not see a file before its signature is checked */
	if (!plugins || best == LMD_FORMAT_SURE)
		return best;
	if (lmi_sign_scope_begin_path(&scope, path, NULL) == LMD_OK)
		best = score(plugins, path);
	lmi_sign_scope_end(&scope);
	return best;
}

/* ---- opening ---- */

/* The reference of an open model to its plugin. */
struct hold {
	struct lmi_plugin_registry *plugins;
	const struct lmi_factory *factory;
};

static void give_back(void *arg)
{
	struct hold *hold = arg;

	lmi_factory_give(hold->plugins, hold->factory);
	lmi_free(hold);
}

/* Lets the chosen format open the model; takes ownership of s->file and c->taken. */
static enum lmd_status run(struct lmi_model *m, struct subject *s, const struct choice *c,
			   const struct lmi_open_opts *opts, struct lmd_error *err)
{
	struct lmi_model_builder_opts o = {
		.m = m,
		.host = opts->plugins ? lmi_plugin_registry_host(opts->plugins) : NULL,
		.ops = c->ops,
		.format = c->name,
		.state_bytes = c->state_bytes,
		.path = s->path,
		.open_flags = opts->flags,
		.own_file = s->probe.is_folder ? NULL : &s->file,
	};
	struct hold *hold = NULL;
	char prefix[160], show[112];
	enum lmd_status st;

	if (c->taken) {
		hold = lmi_alloc(1, sizeof(*hold));
		if (!hold) {
			lmi_factory_give(opts->plugins, c->taken);
			lmi_file_close(&s->file);
			return lmd_fail(err, LMD_NOMEM, "%s: no memory for a model", s->path);
		}
		*hold = (struct hold){opts->plugins, c->taken};
		o.release = give_back;
		o.arg = hold;
	}
	st = lmi_model_builder_run(&o, err);
	if (st != LMD_OK && c->taken) {
		(void)snprintf(prefix, sizeof(prefix), "%s: format %s",
			       lmi_printable_path(show, sizeof(show), s->path), c->name);
		lmd_error_prefix(err, prefix);
	}
	return st;
}

enum lmd_status lmi_model_open(struct lmi_model **out, const char *path, uint32_t flags,
			       struct lmd_error *err)
{
	return lmi_model_open_with(out, path, &(struct lmi_open_opts){.flags = flags}, err);
}

enum lmd_status lmi_model_open_any(struct lmi_model **out, struct lmi_plugin_registry *plugins,
				   const char *path, uint32_t flags, struct lmd_error *err)
{
	return lmi_model_open_with(
		out, path, &(struct lmi_open_opts){.flags = flags, .plugins = plugins}, err);
}

static enum lmd_status open_checked(struct lmi_model **out, const char *path,
				    const struct lmi_open_opts *opts, struct lmd_error *err)
{
	struct lmi_model *m = NULL;
	struct choice c = {0};
	struct subject s;
	enum lmd_status st;

	if (opts->flags & ~ALL_FLAGS)
		return lmd_fail(err, LMD_INVALID,
				"open flags 0x%x, must be a subset of 0x%x", opts->flags,
				ALL_FLAGS);
	st = subject_open(&s, path, err);
	if (st == LMD_OK)
		st = choose(&c, &s, opts->plugins, err);
	if (st == LMD_OK && !c.score)
		st = unrecognised(&s, opts->plugins != NULL, err);
	if (st == LMD_OK) {
		m = lmi_model_create(LMI_MODEL_HEAP_BYTES);
		if (!m)
			st = lmd_fail(err, LMD_NOMEM, "%s: no memory for a model", path);
	}
	if (st != LMD_OK) {
		if (c.taken)
			lmi_factory_give(opts->plugins, c.taken);
		lmi_file_close(&s.file);
		return st;
	}
	m->plugins = opts->plugins;
	m->load_progress = (struct lmi_model_load_progress){
		.max_copy = opts->max_copy, .progress = opts->progress, .arg = opts->arg};
	m->set_paths = opts->files;
	m->n_set_paths = opts->n_files;
	st = run(m, &s, &c, opts, err);
	m->load_progress = (struct lmi_model_load_progress){0};
	m->set_paths = NULL;
	m->n_set_paths = 0;
	if (st != LMD_OK) {
		lmi_model_destroy(m);
		return st;
	}
	*out = m;
	return LMD_OK;
}

enum lmd_status lmi_model_open_with(struct lmi_model **out, const char *path,
				    const struct lmi_open_opts *opts, struct lmd_error *err)
{
	const struct lmi_sign_subject subject = {path, opts->files, opts->n_files};
	const struct lmi_sign_work work = {.progress = opts->progress, .arg = opts->arg};
	struct lmi_sign_scope scope;
	enum lmd_status st = lmi_sign_scope_begin(&scope, &subject, &work, err);

	if (st == LMD_OK)
		st = open_checked(out, path, opts, err);
	lmi_sign_scope_end(&scope);
	return st;
}
