/* SPDX-License-Identifier: MIT
 *
 * Reads a configuration.  While the file and the options are parsed, the reader holds one value
 * per row; they are stored in the struct only after everything has been checked.  Text from the
 * file is escaped before it is quoted in an error message. */
#include "daemon/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/comma_list.h"
#include "core/base/cpu_set.h"
#include "core/base/default_socket.h"
#include "core/base/default_state.h"
#include "core/base/printable.h"
#include "core/cli/conf_file.h"
#include "core/cli/suggest.h"
#include "core/quant/quant.h"
#include "daemon/listen_url.h"
#include "llamad/attr.h"
#include "service/preset_sections.h"

#define ARENA_BYTES (8ull << 20)

struct reader {
	struct lmi_config *c;
	struct lmi_config_table table;
	struct lmi_opt_value value[LMI_CONFIG_ROWS_MAX]; /* one per row */
	uint32_t line_of[LMI_CONFIG_ROWS_MAX];           /* where the value was set; 0 = not */
	const char *warning[LMI_CONFIG_ROWS_MAX];        /* [n_warning], in the arena */
	uint32_t n_warning;
	struct lmi_cli_conf conf;
	struct lmi_svc_preset_list presets;
	struct lmd_error *err;
};

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
}

static bool known_section(const struct reader *r, const char *name)
{
	for (uint32_t i = 0; i < r->table.n; i++)
		if (!strcmp(r->table.row[i].section, name))
			return true;
	return false;
}

static enum lmd_status take_section(void *arg, const char *name, struct lmd_error *err)
{
	struct reader *r = arg;
	struct lmi_cli_suggest s;
	char shown[64];

	if (lmi_svc_preset_is_section(name))
		return lmi_svc_preset_list_begin(&r->presets, name, err);
	if (known_section(r, name))
		return LMD_OK;
	lmi_cli_suggest_init(&s, name);
	for (uint32_t i = 0; i < r->table.n; i++)
		lmi_cli_suggest_consider(&s, r->table.row[i].section);
	lmi_printable(shown, sizeof(shown), name, strlen(name));
	if (s.best)
		return lmd_fail(err, LMD_INVALID, "there is no section [%s] (did you mean [%s]?)",
				shown, s.best);
	return lmd_fail(err, LMD_INVALID, "there is no section [%s]", shown);
}

static enum lmd_status unknown_key(struct reader *r, const char *section, const char *key)
{
	char name[LMI_CONFIG_KEY_BYTES], best[LMI_CONFIG_KEY_BYTES] = "", shown[64];
	const char *elsewhere = NULL;
	struct lmi_cli_suggest s;

	lmi_cli_suggest_init(&s, key);
	for (uint32_t i = 0; i < r->table.n; i++) {
		lmi_config_key(&r->table.row[i], name, sizeof(name));
		if (!strcmp(name, key))
			elsewhere = r->table.row[i].section;
		if (strcmp(r->table.row[i].section, section))
			continue;
		s.best = NULL; /* `name` is reused, so the best match is copied to `best` */
		lmi_cli_suggest_consider(&s, name);
		if (s.best)
			snprintf(best, sizeof(best), "%s", name);
	}
	lmi_printable(shown, sizeof(shown), key, strlen(key));
	if (elsewhere)
		return lmd_fail(r->err, LMD_INVALID, "the key '%s' belongs to [%s], not to [%s]",
				shown, elsewhere, section);
	if (*best)
		return lmd_fail(r->err, LMD_INVALID, "[%s] has no key '%s' (did you mean '%s'?)",
				section, shown, best);
	return lmd_fail(r->err, LMD_INVALID, "[%s] has no key '%s'", section, shown);
}

static enum lmd_status take_value(struct reader *r, uint32_t row, const char *key, const char *text)
{
	struct lmi_opt_value *v = &r->value[row];
	enum lmd_status st;
	char shown[64];

	if (!*text)
		return lmd_fail(r->err, LMD_INVALID, "the key '%s' needs a value: %s", key,
				v->opt->value);
	if (r->line_of[row] && v->opt->type != LMI_OPT_LIST)
		return lmd_fail(r->err, LMD_INVALID, "the key '%s' is already set in line %u", key,
				r->line_of[row]);
	r->line_of[row] = r->conf.line;
	v->given = true;
	st = lmi_opt_set(v, text, r->err);
	if (st == LMD_INVALID) {
		snprintf(shown, sizeof(shown), "key '%s'", key);
		lmd_error_prefix(r->err, shown);
	}
	return st;
}

static enum lmd_status warn_old_key(struct reader *r, const struct lmi_config_row *row)
{
	char key[LMI_CONFIG_KEY_BYTES], path[90];
	const char *text =
		lmi_arena_printf(r->c->arena, "%s:%u: the key '%s' in [%s] is deprecated: use '%s'",
				 lmi_printable_path(path, sizeof(path), r->conf.path), r->conf.line,
				 row->old_key, row->section, lmi_config_key(row, key, sizeof(key)));

	if (!text)
		return no_memory(r->err);
	r->warning[r->n_warning++] = text;
	return LMD_OK;
}

static enum lmd_status take_pair(void *arg, const char *section, const char *text,
				 const char *value, struct lmd_error *err)
{
	struct reader *r = arg;

	if (lmi_svc_preset_is_section(section))
		return lmi_svc_preset_list_set(&r->presets, text, value, r->c->arena, err);
	for (uint32_t i = 0; i < r->table.n; i++) {
		const struct lmi_config_row *row = &r->table.row[i];
		char key[LMI_CONFIG_KEY_BYTES];
		enum lmd_status st;

		if (strcmp(row->section, section))
			continue;
		if (!strcmp(lmi_config_key(row, key, sizeof(key)), text))
			return take_value(r, i, key, value);
		if (!row->old_key || strcmp(row->old_key, text))
			continue;
		st = take_value(r, i, row->old_key, value);
		return st == LMD_OK ? warn_old_key(r, row) : st;
	}
	return unknown_key(r, section, text);
}

static enum lmd_status read_file(struct reader *r, const char *path)
{
	r->conf = (struct lmi_cli_conf){
		.section = take_section, .pair = take_pair, .arg = r, .path = path, .arena = r->c->arena};
	return lmi_cli_conf_read(&r->conf, r->err);
}

/* Makes a path from the command line absolute.  Returns NULL if out of memory. */
static const char *absolute(struct lmi_config *c, const char *text)
{
	const char *scheme = strncmp(text, "ipc://", 6) ? "" : "ipc://";
	const char *path = text + strlen(scheme);
	char here[PATH_MAX];

	if (!*path || *path == '/' || strstr(path, "://") || !getcwd(here, sizeof(here)))
		return text;
	return lmi_arena_printf(c->arena, "%s%s/%s", scheme, here, path);
}

static enum lmd_status take_option(struct reader *r, uint32_t row, const char *text)
{
	if (r->table.row[row].path)
		text = absolute(r->c, text);
	return text ? lmi_opt_set(&r->value[row], text, r->err) : no_memory(r->err);
}

static enum lmd_status take_options(struct reader *r, const struct lmi_args *args)
{
	for (uint32_t i = 0; args && i < r->table.n; i++) {
		struct lmi_opt_value *v = &r->value[i];
		enum lmd_status st = LMD_OK;

		if (!r->table.row[i].option || !lmi_arg_given(args, v->opt->name))
			continue;
		if (v->opt->type == LMI_OPT_LIST) {
			const char *const *list;
			uint32_t n = lmi_arg_list(args, v->opt->name, &list);

			v->n_list = 0;
			for (uint32_t k = 0; k < n && st == LMD_OK; k++)
				st = take_option(r, i, list[k]);
		} else if (v->opt->type == LMI_OPT_STR || v->opt->type == LMI_OPT_CHOICE) {
			st = take_option(r, i, lmi_arg_str(args, v->opt->name));
		} else {
			v->i = lmi_arg_int(args, v->opt->name);
		}
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* ---- the environment ---- */

/* Takes a value of the environment; the words of a list have commas between. */
static enum lmd_status take_variable(struct reader *r, uint32_t row, const char *text)
{
	struct lmi_opt_value *v = &r->value[row];
	const char *rest = lmi_comma_list_begin(text);
	enum lmd_status st = LMD_OK;
	struct lmd_str word;

	if (v->opt->type != LMI_OPT_LIST)
		return lmi_opt_set(v, text, r->err);
	v->n_list = 0;
	while (st == LMD_OK && lmi_comma_list_next(&rest, &word)) {
		const char *copy = lmi_arena_strndup(r->c->arena, word.ptr, word.len);

		st = copy ? lmi_opt_set(v, copy, r->err) : no_memory(r->err);
	}
	return st;
}

const char *lmi_config_variable(const struct lmi_config_row *row, char *buf, size_t n)
{
	char key[LMI_CONFIG_KEY_BYTES];

	(void)snprintf(buf, n, "LLAMAD_%s", lmi_config_key(row, key, sizeof(key)));
	for (char *p = buf; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	return buf;
}

static enum lmd_status take_environment(struct reader *r, const struct lmi_config_env *env)
{
	for (uint32_t i = 0; i < r->table.n; i++) {
		char name[LMI_CONFIG_VARIABLE_BYTES];
		const char *text = env->get(env->arg,
					    lmi_config_variable(&r->table.row[i], name, sizeof(name)));
		enum lmd_status st = text && *text ? take_variable(r, i, text) : LMD_OK;

		if (st == LMD_OK)
			continue;
		lmd_error_prefix(r->err, name);
		return st;
	}
	return LMD_OK;
}

/* ---- defaults that depend on the environment ---- */

static const char *env_of_process(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

void lmi_config_env_init(struct lmi_config_env *env)
{
	*env = (struct lmi_config_env){.get = env_of_process, .uid = (uint32_t)geteuid()};
}

/* Returns the first path of a list in the environment, or NULL if it is unset or not absolute. */
static const char *env_path(struct lmi_config *c, const struct lmi_config_env *env,
			    const char *name)
{
	const char *v = env->get(env->arg, name);

	return v && *v == '/' ? lmi_arena_strndup(c->arena, v, strcspn(v, ":")) : NULL;
}

static enum lmd_status default_socket(struct lmi_config *c, const struct lmi_config_env *env,
				      struct lmd_error *err)
{
	const char *dir = env_path(c, env, "RUNTIME_DIRECTORY");
	const char *session = env->get(env->arg, "XDG_RUNTIME_DIR");
	enum lmi_default_socket socket =
		env->uid ? lmi_default_socket_own(env->uid, session) : LMI_DEFAULT_SOCKET_SYSTEM;
	char path[PATH_MAX];

	if (dir) {
		(void)snprintf(path, sizeof(path), "%s/" LMI_DEFAULT_SOCKET_NAME, dir);
	} else {
		(void)lmi_default_socket_path(path, sizeof(path), socket, env->uid, session);
		c->socket_in_tmp = socket == LMI_DEFAULT_SOCKET_TMP;
	}
	c->socket = lmi_arena_printf(c->arena, "ipc://%s", path);
	return c->socket ? LMD_OK : no_memory(err);
}

static enum lmd_status default_state_dir(struct lmi_config *c, const struct lmi_config_env *env,
					 struct lmd_error *err)
{
	char dir[PATH_MAX];
	int n = lmi_default_state_dir(dir, sizeof(dir), env->uid, env->get, env->arg);

	if (!n || (size_t)n >= sizeof(dir))
		return lmd_fail(err, LMD_INVALID,
				"no folder for the state, since HOME is not set: use --state-dir "
				"DIR or set the key 'state_dir' in [daemon]");
	c->state_dir = lmi_arena_strndup(c->arena, dir, (size_t)n);
	return c->state_dir ? LMD_OK : no_memory(err);
}

/* ---- from values to members ---- */

static enum lmd_status store(struct lmi_config *c, const struct lmi_config_row *row,
			     const struct lmi_opt_value *v, struct lmd_error *err)
{
	char *member = (char *)c + row->at;

	if (v->opt->type == LMI_OPT_LIST) {
		const char **item = lmi_arena_array(c->arena, v->n_list, sizeof(*item));

		if (v->n_list && !item)
			return no_memory(err);
		for (uint32_t i = 0; i < v->n_list; i++) {
			item[i] = lmi_arena_strndup(c->arena, v->list[i], strlen(v->list[i]));
			if (!item[i])
				return no_memory(err);
		}
		*(struct lmi_config_list *)member =
			(struct lmi_config_list){.item = item, .n = v->n_list};
	} else if (v->opt->type == LMI_OPT_STR) {
		if (v->s &&
		    !(*(const char **)member = lmi_arena_strndup(c->arena, v->s, strlen(v->s))))
			return no_memory(err);
	} else {
		*(int64_t *)member = v->i;
	}
	return LMD_OK;
}

enum lmd_status lmi_config_kv_types(const struct lmi_config *c, int32_t *k_dtype, int32_t *v_dtype,
				    struct lmd_error *err)
{
	const struct lmi_dtype_cache_names names = {
		.both = c->kv_type, .k = c->kv_type_k, .v = c->kv_type_v};

	return lmi_dtype_parse_cache(&names, false, k_dtype, v_dtype, err);
}

/* Checks that involve more than the range of one value. */
static enum lmd_status check(const struct lmi_config *c, struct lmd_error *err)
{
	const char *path = c->socket + strlen("ipc://");
	int32_t k_dtype, v_dtype;
	struct lmi_cpu_set cpus;
	enum lmd_status st;
	char shown[120];

	if (strncmp(c->socket, "ipc:///", strlen("ipc:///")))
		return lmd_fail(err, LMD_INVALID, "socket: '%s' is not ipc:// and an absolute path",
				lmi_printable(shown, sizeof(shown), c->socket, strlen(c->socket)));
	if (strlen(path) > sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
		return lmd_fail(err, LMD_INVALID,
				"socket: the path '%s' has %zu bytes, the maximum is %zu",
				lmi_printable_path(shown, sizeof(shown), path), strlen(path),
				sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	if (*c->state_dir != '/')
		return lmd_fail(err, LMD_INVALID, "state_dir: '%s' is not an absolute path",
				lmi_printable_path(shown, sizeof(shown), c->state_dir));
	if (c->audit_key && *c->audit_key != '/')
		return lmd_fail(err, LMD_INVALID, "audit_key: '%s' is not an absolute path",
				lmi_printable_path(shown, sizeof(shown), c->audit_key));
	if (c->hf_token && *c->hf_token != '/') /* which may be a token: it is not shown */
		return lmd_fail(err, LMD_INVALID,
				"hf_token: the value is not an absolute path; write the token to a file "
				"with mode 0600 and give its path");
	for (uint32_t i = 0; i < c->plugin_dirs.n; i++)
		if (*c->plugin_dirs.item[i] != '/')
			return lmd_fail(
				err, LMD_INVALID, "plugin_dir: '%s' is not an absolute path",
				lmi_printable_path(shown, sizeof(shown), c->plugin_dirs.item[i]));
	for (uint32_t i = 0; i < c->model_dirs.n; i++)
		if (*c->model_dirs.item[i] != '/')
			return lmd_fail(
				err, LMD_INVALID, "model_dir: '%s' is not an absolute path",
				lmi_printable_path(shown, sizeof(shown), c->model_dirs.item[i]));
	st = lmi_config_kv_types(c, &k_dtype, &v_dtype, err);
	if (st == LMD_OK && c->cpus) {
		st = lmi_cpu_set_parse(&cpus, c->cpus, err);
		if (st != LMD_OK)
			lmd_error_prefix(err, "cpus");
	}
	if (st != LMD_OK)
		return st;
	return lmi_daemon_listen_check(c, err) == LMD_OK
		       ? lmi_service_limits_check(&c->service, err)
		       : LMD_INVALID;
}

static enum lmd_status keep_warnings(struct reader *r)
{
	const char **item = lmi_arena_array(r->c->arena, r->n_warning, sizeof(*item));

	if (r->n_warning && !item)
		return no_memory(r->err);
	for (uint32_t i = 0; i < r->n_warning; i++)
		item[i] = r->warning[i];
	r->c->warnings = (struct lmi_config_list){.item = item, .n = r->n_warning};
	return LMD_OK;
}

static enum lmd_status keep_presets(struct reader *r)
{
	struct lmi_svc_preset *v = lmi_arena_array(r->c->arena, r->presets.n + 1, sizeof(*v));

	if (!v)
		return no_memory(r->err);
	memcpy(v, r->presets.v, r->presets.n * sizeof(*v));
	r->c->presets = v;
	r->c->n_presets = r->presets.n;
	return LMD_OK;
}

static enum lmd_status fill(struct reader *r, const char *file, const struct lmi_args *args,
			    const struct lmi_config_env *env)
{
	struct lmi_config *c = r->c;
	enum lmd_status st;

	for (uint32_t i = 0; i < r->table.n; i++) {
		r->value[i].opt = &r->table.row[i].opt;
		st = r->table.row[i].opt.def
			     ? lmi_opt_set(&r->value[i], r->table.row[i].opt.def, r->err)
			     : LMD_OK;
		if (st != LMD_OK)
			return st;
	}
	if (!file && !access(LMI_CONFIG_FILE, F_OK))
		file = LMI_CONFIG_FILE;
	if (file) {
		c->file = lmi_arena_strndup(c->arena, file, strlen(file));
		st = c->file ? read_file(r, c->file) : no_memory(r->err);
		if (st != LMD_OK)
			return st;
	}
	st = keep_warnings(r);
	if (st == LMD_OK)
		st = keep_presets(r);
	if (st == LMD_OK)
		st = take_environment(r, env);
	if (st == LMD_OK)
		st = take_options(r, args);
	for (uint32_t i = 0; i < r->table.n && st == LMD_OK; i++)
		st = store(c, &r->table.row[i], &r->value[i], r->err);
	if (st == LMD_OK && !c->socket)
		st = default_socket(c, env, r->err);
	if (st == LMD_OK && !c->state_dir)
		st = default_state_dir(c, env, r->err);
	return st == LMD_OK ? check(c, r->err) : st;
}

enum lmd_status lmi_config_read(struct lmi_config **out, const char *file,
				const struct lmi_args *args, const struct lmi_config_env *env,
				struct lmd_error *err)
{
	struct lmd_arena *arena = lmi_arena_create(ARENA_BYTES);
	struct reader *r = lmi_alloc(1, sizeof(*r));
	enum lmd_status st = LMD_NOMEM;

	if (arena && r) {
		r->err = err;
		r->c = lmi_arena_alloc(arena, sizeof(*r->c), 8);
		lmi_config_table_init(&r->table);
	}
	if (arena && r && r->c) {
		r->c->arena = arena;
		st = fill(r, file, args, env);
		for (uint32_t i = 0; i < r->table.n; i++)
			lmi_free(r->value[i].list);
	} else {
		(void)no_memory(err);
	}
	if (st == LMD_OK)
		*out = r->c;
	else
		lmi_arena_destroy(arena);
	lmi_free(r);
	return st;
}

void lmi_config_destroy(struct lmi_config *c)
{
	if (c)
		lmi_arena_destroy(c->arena);
}
