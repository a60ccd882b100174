/* SPDX-License-Identifier: MIT */
#include "tests/engine_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tests/support.h"

enum lmd_status lmt_env_init(struct lmt_env *env, struct lmd_error *err)
{
	char dir[4096];
	const char *dirs[] = {dir, lmd_env_or("LMD_TEST_PLUGIN_DIR", "")};
	struct lmi_plugin_registry_opts o = {.no_default_dirs = true};
	struct stat sb;

	*env = (struct lmt_env){0};
	if (lmi_host_create(&env->host, UINT64_MAX) != LMD_OK)
		return lmd_fail(err, LMD_NOMEM, "no host");
	snprintf(dir, sizeof(dir), "%s/plugins/.libs", lmd_build_dir());
	o.host = env->host;
	if (!stat(dir, &sb)) { /* otherwise they are linked in */
		o.dirs = dirs;
		o.n_dirs = *dirs[1] ? 2 : 1;
	}
	return lmi_plugin_registry_create(&env->registry, &o, err);
}

void lmt_env_fini(struct lmt_env *env)
{
	lmi_plugin_registry_destroy(env->registry);
	lmi_host_destroy(env->host);
	*env = (struct lmt_env){0};
}

struct lmi_engine_opts lmt_opts(const struct lmt_env *env, const char *path)
{
	bool always = !strcmp(lmd_env_or("LMD_TEST_HALVES", "never"), "always");
	/* not by measured times */
	enum lmi_engine_halves halves = always ? LMI_ENGINE_HALVES_ALWAYS : LMI_ENGINE_HALVES_NEVER;

	return (struct lmi_engine_opts){.inst = {.registry = env->registry,
						 .host = env->host,
						 .path = path,
						 .backend = lmd_env_or("LMD_TEST_BACKEND", "ref"),
						 .n_thread = 1,
						 .activations = LMD_ACTIVATIONS_F32,
						 .k_dtype = LMD_DTYPE_F32,
						 .v_dtype = LMD_DTYPE_F32,
						 .pooling = LMD_POOL_UNSET},
					.in_line = true,
					.no_tokenizer = true,
					.halves = halves};
}

struct lmi_engine_input_seq lmt_tokens(const lmd_token *v, uint32_t n)
{
	return (struct lmi_engine_input_seq){
		.tokens = v, .n_tokens = n, .fork_of = LMI_ENGINE_NO_FORK};
}

/* Rows of a sequence follow those of the previous one.  Their number is known only at the end, so
 * each sequence gets space for the maximum number. */
struct collect {
	const struct lmi_engine_eval *cmd;
	float *v;
	uint32_t width, n_max;
	uint32_t *seen; /* [n_seq] */
};

static uint32_t rows_of(const struct lmi_engine_input_seq *q)
{
	return q->n_tokens + q->n_rows;
}

static enum lmd_status take(struct collect *c, const struct lmi_engine_event *ev)
{
	uint32_t at = 0;

	if (!c->v) {
		c->width = ev->u.rows.width;
		for (uint32_t i = 0; i < c->cmd->n_seq; i++)
			c->n_max += rows_of(&c->cmd->seqs[i]);
		c->v = lmi_alloc((size_t)c->n_max * c->width, sizeof(float));
		c->seen = lmi_alloc(c->cmd->n_seq, sizeof(uint32_t));
		if (!c->v || !c->seen)
			return LMD_NOMEM;
	}
	for (uint32_t i = 0; i < ev->u.rows.seq; i++)
		at += rows_of(&c->cmd->seqs[i]);
	memcpy(c->v + (size_t)(at + ev->u.rows.first) * c->width, ev->u.rows.v,
	       (size_t)ev->u.rows.n * c->width * sizeof(float));
	c->seen[ev->u.rows.seq] += ev->u.rows.n;
	return LMD_OK;
}

/* Closes the gaps: a sequence has its last seen[i] rows or, if pooled, the first one. */
static void pack(struct collect *c, struct lmt_rows *out)
{
	uint32_t at = 0, n = 0;

	for (uint32_t i = 0; c->v && i < c->cmd->n_seq; i++) {
		uint32_t rows = rows_of(&c->cmd->seqs[i]), skip = 0;

		if (c->cmd->seqs[i].fork_of != LMI_ENGINE_NO_FORK ||
		    c->cmd->want == LMI_ENGINE_WANT_LAST)
			skip = rows - c->seen[i];
		memmove(c->v + (size_t)n * c->width, c->v + (size_t)(at + skip) * c->width,
			(size_t)c->seen[i] * c->width * sizeof(float));
		n += c->seen[i];
		at += rows;
	}
	out->v = c->v;
	out->n_row = n;
	out->width = c->width;
}

enum lmd_status lmt_eval(struct lmi_engine *e, const struct lmi_engine_eval *cmd,
			 struct lmt_rows *out, struct lmd_error *err)
{
	struct collect c = {.cmd = cmd};
	enum lmd_status st = lmi_engine_eval(e, cmd, err), final = LMD_BUSY;
	struct lmi_engine_event ev;

	*out = (struct lmt_rows){0};
	while (st == LMD_OK && final == LMD_BUSY) {
		out->n_step += lmi_engine_step(e) == LMI_ENGINE_STEP_RAN;
		while (lmi_engine_poll(e, &ev)) {
			if (ev.kind == LMI_ENGINE_EV_ROWS && st == LMD_OK)
				st = take(&c, &ev);
			else if (ev.kind == LMI_ENGINE_EV_FAILED)
				final = lmd_fail(err, ev.u.error.status, "%s", ev.u.error.text);
			else if (ev.kind == LMI_ENGINE_EV_DONE)
				final = LMD_OK;
			lmi_engine_event_release(&ev);
		}
	}
	st = st == LMD_OK ? final : st;
	if (st == LMD_OK)
		pack(&c, out);
	else
		lmi_free(c.v);
	lmi_free(c.seen);
	return st;
}

enum lmd_status lmt_eval_once(const struct lmi_engine_opts *o, const struct lmi_engine_eval *cmd,
			      struct lmt_rows *out, struct lmd_error *err)
{
	struct lmi_engine *e;
	enum lmd_status st = lmi_engine_open(&e, o, err);

	if (st != LMD_OK)
		return st;
	st = lmt_eval(e, cmd, out, err);
	lmi_engine_fini(e);
	return st;
}

struct lmi_engine_device_row lmt_device_row(struct lmi_engine_devices *set, const char *name)
{
	struct lmi_engine_device_row *rows = NULL, found = {0};
	uint32_t n = 0;

	if (lmi_engine_devices_list(set, &rows, &n, NULL) != LMD_OK)
		return found;
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(rows[i].name, name))
			found = rows[i];
	lmi_free(rows);
	return found;
}

const char *lmt_parity_models(void)
{
	static char dir[4096]; /* freed at the end of the test program */
	const char *pack = lmd_parity_dir();
	char cmd[32768], stamp[4200];
	struct stat made, spec;

	if (!pack)
		return NULL;
	snprintf(dir, sizeof(dir), "%s/tests/parity/models", lmd_build_dir());
	snprintf(stamp, sizeof(stamp), "%s/stamp", dir);
	snprintf(cmd, sizeof(cmd), "%s/arch/archs.json", pack);
	if (stat(cmd, &spec))
		return NULL;
	if (!stat(stamp, &made) && made.st_mtime >= spec.st_mtime)
		return dir;
	/* of several programs that come here at a time, one creates it and the others wait */
	snprintf(cmd, sizeof(cmd),
		 "mkdir -p '%s' && exec 9>'%s.lock' && flock 9 && { test '%s' -nt "
		 "'%s/arch/archs.json' || { python3 '%s/arch/make_models.py' '%s' && touch '%s'; "
		 "}; }",
		 dir, dir, stamp, pack, pack, dir, stamp);
	printf("making models in %s\n", dir);
	fflush(stdout);
	return system(cmd) == 0 ? dir : NULL;
}
