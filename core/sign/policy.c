/* SPDX-License-Identifier: MIT
 *
 * The policy of the process: an object with a count of its users, which a new one replaces. */
#include "core/sign/policy.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/printable.h"

#define SHOW 112
#define PUBLIC_SUFFIX ".pub"

struct lmi_sign_policy {
	enum lmi_sign_mode mode;
	struct lmi_sign_public *keys; /* [n_keys] */
	uint32_t n_keys;
	void (*warn)(void *arg, const char *text);
	void *arg;
	uint32_t n_users; /* under the lock; 1 for being current */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lmi_sign_policy *current; /* NULL: off */

static void unref(struct lmi_sign_policy *p)
{
	bool last;

	if (!p)
		return;
	pthread_mutex_lock(&lock);
	last = --p->n_users == 0;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	lmi_free(p->keys);
	lmi_free(p);
}

static struct lmi_sign_policy *ref(void)
{
	struct lmi_sign_policy *p;

	pthread_mutex_lock(&lock);
	p = current;
	if (p)
		p->n_users++;
	pthread_mutex_unlock(&lock);
	return p;
}

/* ---- keys ---- */

struct key_list {
	struct lmi_sign_public *v;
	uint32_t n;
};

static enum lmd_status add_key(struct key_list *l, const char *path, struct lmd_error *err)
{
	struct lmi_sign_public key, *v;
	enum lmd_status st = lmi_sign_public_read(&key, path, err);

	if (st != LMD_OK)
		return st;
	for (uint32_t i = 0; i < l->n; i++)
		if (!memcmp(l->v[i].bytes, key.bytes, sizeof(key.bytes)))
			return LMD_OK;
	if (l->n == LMI_SIGN_KEYS_MAX)
		return lmd_fail(err, LMD_INVALID, "%s: more than %u trusted keys", path,
				LMI_SIGN_KEYS_MAX);
	v = lmi_realloc(l->v, l->n + 1u, sizeof(*v));
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for a key");
	v[l->n++] = key;
	l->v = v;
	return LMD_OK;
}

static enum lmd_status add_folder(struct key_list *l, DIR *d, const char *folder,
				  struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (struct dirent *e; st == LMD_OK && (e = readdir(d));) {
		size_t n = strlen(e->d_name), m = strlen(PUBLIC_SUFFIX);
		char path[LMI_SIGN_PATH_MAX];

		if (n <= m || e->d_name[0] == '.' || strcmp(e->d_name + n - m, PUBLIC_SUFFIX))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >=
		    sizeof(path))
			return lmd_fail(err, LMD_INVALID, "%s: the path is too long", folder);
		st = add_key(l, path, err);
	}
	return st;
}

enum lmd_status lmi_sign_keys_read(struct lmi_sign_public **out, uint32_t *n_out,
				   const char *const *paths, uint32_t n, struct lmd_error *err)
{
	struct key_list l = {0};
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < n; i++) {
		DIR *d = opendir(paths[i]);

		st = d ? add_folder(&l, d, paths[i], err) : add_key(&l, paths[i], err);
		if (d)
			closedir(d);
	}
	if (st != LMD_OK) {
		lmi_free(l.v);
		return st;
	}
	*out = l.v;
	*n_out = l.n;
	return LMD_OK;
}

enum lmd_status lmi_sign_policy_set(const struct lmi_sign_policy_opts *o, struct lmd_error *err)
{
	struct lmi_sign_policy *p = NULL, *old;
	enum lmd_status st;

	if (o->mode != LMI_SIGN_OFF) {
		p = lmi_alloc(1, sizeof(*p));
		if (!p)
			return lmd_fail(err, LMD_NOMEM, "no memory for keys");
		*p = (struct lmi_sign_policy){
			.mode = o->mode, .warn = o->warn, .arg = o->arg, .n_users = 1};
		st = lmi_sign_keys_read(&p->keys, &p->n_keys, o->keys, o->n_keys, err);
		if (st == LMD_OK && !p->n_keys)
			st = lmd_fail(err, LMD_INVALID,
				      "signatures of models are checked, but there is no trusted "
				      "key to check them with");
		if (st != LMD_OK) {
			lmi_free(p);
			return st;
		}
	}
	pthread_mutex_lock(&lock);
	old = current;
	current = p;
	pthread_mutex_unlock(&lock);
	unref(old);
	return LMD_OK;
}

/* ---- the environment ---- */

enum lmd_status lmi_sign_env_mode(enum lmi_sign_mode *out, struct lmd_error *err)
{
	static const char *const words[] = {"off", "warn", "require"};
	const char *word = getenv(LMI_SIGN_ENV_MODE);

	*out = LMI_SIGN_OFF;
	if (!word || !*word)
		return LMD_OK;
	for (uint32_t i = 0; i < LMD_LEN(words); i++) {
		if (!strcmp(word, words[i])) {
			*out = (enum lmi_sign_mode)i;
			return LMD_OK;
		}
	}
	return lmd_fail(err, LMD_INVALID,
			LMI_SIGN_ENV_MODE " is \"%.40s\", must be off, warn or require", word);
}

enum lmd_status lmi_sign_policy_set_env(void (*warn)(void *arg, const char *text), void *arg,
					struct lmd_error *err)
{
	const char *word = getenv(LMI_SIGN_ENV_MODE), *key = getenv(LMI_SIGN_ENV_KEYS);
	struct lmi_sign_policy_opts o = {
		.keys = &key, .n_keys = key && *key, .warn = warn, .arg = arg};
	enum lmd_status st = lmi_sign_env_mode(&o.mode, err);

	return st == LMD_OK && word && *word ? lmi_sign_policy_set(&o, err) : st;
}

/* ---- a scope ---- */

static enum lmd_status opened(struct lmi_file_guard *g, const char *path, const struct stat *sb,
			      struct lmd_error *err)
{
	const struct lmi_sign_scope *scope = (const struct lmi_sign_scope *)g;
	struct lmi_sign_identity id;
	const struct lmi_sign_policy *p = scope->policy;
	char show[SHOW], manifest[SHOW];
	struct lmd_error why;

	lmi_sign_identity_of(&id, sb);
	for (uint32_t i = 0; i < scope->result.n_files; i++)
		if (lmi_sign_identity_same(&scope->result.ids[i], &id))
			return LMD_OK;
	(void)lmd_fail(&why, LMD_DENIED,
		       "%s: the signed manifest %s does not list this file, or it was changed "
		       "after it was checked",
		       lmi_printable_path(show, sizeof(show), path),
		       lmi_printable_path(manifest, sizeof(manifest), scope->result.manifest));
	if (p->mode == LMI_SIGN_WARN) {
		if (p->warn)
			p->warn(p->arg, why.text);
		return LMD_OK;
	}
	if (err)
		*err = why;
	return why.status;
}

/* Returns whether the failure says something about the model, and nothing about this attempt. */
static bool is_verdict(const struct lmi_sign_result *r)
{
	return r->state != LMI_SIGN_VALID && r->state != LMI_SIGN_UNKNOWN;
}

enum lmd_status lmi_sign_scope_begin(struct lmi_sign_scope *scope, const struct lmi_sign_subject *s,
				     const struct lmi_sign_work *work, struct lmd_error *err)
{
	struct lmi_sign_policy *p;
	struct lmd_error why = {0};
	enum lmd_status st;

	*scope = (struct lmi_sign_scope){.guard = {opened}};
	scope->previous = lmi_file_guard_attach(NULL);
	if (scope->previous) {
		(void)lmi_file_guard_attach(scope->previous);
		return LMD_OK;
	}
	scope->policy = p = ref();
	if (!p)
		return LMD_OK;
	st = lmi_sign_verify(&scope->result, s, p->keys, p->n_keys, work, &why);
	if (st == LMD_OK) {
		(void)lmi_file_guard_attach(&scope->guard);
		scope->attached = true;
	} else if (p->mode == LMI_SIGN_WARN && is_verdict(&scope->result)) {
		if (p->warn)
			p->warn(p->arg, why.text);
		st = LMD_OK;
	} else if (err) {
		*err = why;
	}
	return st;
}

enum lmd_status lmi_sign_scope_begin_path(struct lmi_sign_scope *scope, const char *path,
					  struct lmd_error *err)
{
	const struct lmi_sign_subject subject = {.path = path};
	const struct lmi_sign_work work = {0};

	return lmi_sign_scope_begin(scope, &subject, &work, err);
}

void lmi_sign_scope_end(struct lmi_sign_scope *scope)
{
	if (scope->attached)
		(void)lmi_file_guard_attach(scope->previous);
	scope->attached = false;
	lmi_sign_result_fini(&scope->result);
	unref(scope->policy);
	scope->policy = NULL;
}
