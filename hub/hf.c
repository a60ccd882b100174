/* SPDX-License-Identifier: MIT
 *
 * Hugging Face: the list of a repository's files and their addresses. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "hub/http.h"
#include "hub/hub_impl.h"

#define PAGES_MAX   64
#define ENTRIES_MAX 65536

struct listing {
	struct lmd_arena *a;
	struct lmi_hub_entry *e;
	uint32_t n, cap;
};

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the list of files");
}

static enum lmd_status add_entry(struct listing *l, const json_t *row, struct lmd_error *err)
{
	const char *path = json_string_value(json_object_get(row, "path"));
	const json_t *lfs = json_object_get(row, "lfs");
	const char *oid = json_string_value(json_object_get(lfs, "oid"));
	const char *type = json_string_value(json_object_get(row, "type"));
	struct lmi_hub_entry *e;

	if (!path || !type || strcmp(type, "file") != 0)
		return LMD_OK;
	if (l->n == ENTRIES_MAX)
		return lmd_fail(err, LMD_INVALID, "the repository has more than %d files",
				ENTRIES_MAX);
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 64;

		e = lmi_arena_array(l->a, cap, sizeof(*e));
		if (!e)
			return no_memory(err);
		if (l->n)
			memcpy(e, l->e, l->n * sizeof(*e));
		l->e = e;
		l->cap = cap;
	}
	e = &l->e[l->n++];
	e->path = lmi_arena_strndup(l->a, path, strlen(path));
	e->size = (uint64_t)json_integer_value(json_object_get(row, "size"));
	if (oid && lmi_sha256_is_hex(oid))
		memcpy(e->sha256, oid, sizeof(e->sha256));
	return e->path ? LMD_OK : no_memory(err);
}

static enum lmd_status add_page(struct listing *l, const char *url, const struct lmi_hub_reply *r,
				struct lmd_error *err)
{
	json_error_t where;
	json_t *rows = json_loadb(r->body ? r->body : "", r->n, 0, &where), *row;
	enum lmd_status st = LMD_OK;
	char shown[LMI_HUB_SHOWN_URL];
	size_t i;

	if (!json_is_array(rows))
		st = lmd_fail(err, LMD_CORRUPT, "%s: the reply is not a list of files (%.80s)",
			      lmi_hub_shown_url(shown, url), rows ? "no array" : where.text);
	for (i = 0; st == LMD_OK && i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		st = add_entry(l, row, err);
	}
	json_decref(rows);
	return st;
}

static enum lmd_status list_files(struct listing *l, const struct lmi_hub_ref *r,
				  const struct lmi_hub_opts *o, struct lmd_error *err)
{
	const char *first = lmi_arena_printf(l->a, "%s/api/models/%s/tree/%s?recursive=true",
					     r->base, r->repo, r->version);
	struct lmi_hub_request q = {.url = first, .bearer = o->hf_token};
	enum lmd_status st = first ? LMD_OK : no_memory(err);
	struct lmi_hub_reply reply;

	for (unsigned page = 0; st == LMD_OK && q.url; page++) {
		if (page == PAGES_MAX)
			return lmd_fail(err, LMD_INVALID, "%s: the list has more than %d pages",
					r->repo, PAGES_MAX);
		st = lmi_hub_get(&reply, &q, o, false, err);
		if (st != LMD_OK)
			break;
		st = add_page(l, q.url, &reply, err);
		q.url = *reply.next ? lmi_arena_strndup(l->a, reply.next, strlen(reply.next))
				    : NULL;
		/* the token is the server's own */
		if (q.url && strncmp(q.url, r->base, strlen(r->base)) != 0)
			q.bearer = NULL;
		lmi_hub_reply_fini(&reply);
	}
	return st;
}

/* Finds the signed manifest beside the first file of a model. */
static enum lmd_status find_manifest(struct lmi_hub_model *m, const char *base, const char *first,
				     const struct listing *l, struct lmd_error *err)
{
	const char *path = lmi_arena_printf(m->arena, "%s" LMI_HUB_SIGNATURE_SUFFIX, first);
	struct lmi_hub_file *f;
	uint32_t i = 0;

	if (!path)
		return no_memory(err);
	while (i < l->n && strcmp(l->e[i].path, path) != 0)
		i++;
	if (i == l->n || !l->e[i].size || l->e[i].size > LMI_HUB_SIGNATURE_MAX)
		return LMD_OK;
	f = lmi_arena_array(m->arena, 1, sizeof(*f));
	if (!f)
		return no_memory(err);
	*f = (struct lmi_hub_file){.name = lmi_file_base_name(path),
				   .url = lmi_hub_url(m->arena, base, path),
				   .size = l->e[i].size,
				   .with_token = m->files[0].with_token};
	m->manifest = f;
	return f->url ? LMD_OK : no_memory(err);
}

/* Finds the vision tower of a model. */
static enum lmd_status find_tower(struct lmi_hub_model *m, const char *base, uint32_t first,
				  const struct listing *l, struct lmd_error *err)
{
	uint32_t i = lmi_hub_choose_tower(l->e, l->n, first);
	struct lmi_hub_file *f;

	if (i == l->n)
		return LMD_OK;
	f = lmi_arena_array(m->arena, 1, sizeof(*f));
	if (!f)
		return no_memory(err);
	*f = (struct lmi_hub_file){.name = lmi_file_base_name(l->e[i].path),
				   .url = lmi_hub_url(m->arena, base, l->e[i].path),
				   .size = l->e[i].size,
				   .with_token = m->files[0].with_token};
	memcpy(f->sha256, l->e[i].sha256, sizeof(f->sha256));
	m->tower = f;
	m->size += f->size;
	return f->url ? LMD_OK : no_memory(err);
}

static enum lmd_status describe(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				const struct lmi_hub_opts *o, const struct listing *l,
				const uint32_t *parts, struct lmd_error *err)
{
	const struct lmi_hub_entry *e = l->e;
	struct lmi_hub_file *f = lmi_arena_array(m->arena, m->n_files, sizeof(*f));
	const char *base = lmi_arena_printf(m->arena, "%s/%s/resolve/%s", r->base, r->repo,
					    r->version);
	const char *first = e[parts[0]].path;
	bool is_main = !strcmp(r->version, "main");
	enum lmd_status st;

	if (!f || !base)
		return no_memory(err);
	for (uint32_t i = 0; i < m->n_files; i++) {
		f[i].name = lmi_file_base_name(e[parts[i]].path);
		f[i].url = lmi_hub_url(m->arena, base, e[parts[i]].path);
		f[i].size = e[parts[i]].size;
		f[i].with_token = o->hf_token != NULL;
		memcpy(f[i].sha256, e[parts[i]].sha256, sizeof(f[i].sha256));
		m->size += f[i].size;
		if (!f[i].url)
			return no_memory(err);
	}
	m->files = f;
	m->source = lmi_arena_printf(m->arena, "hf:%s%s%s%s%s", r->repo, is_main ? "" : "@",
				     is_main ? "" : r->version, m->is_folder ? "" : ":",
				     m->is_folder ? "" : first);
	if (!m->source)
		return no_memory(err);
	if (m->is_folder)
		return LMD_OK;
	st = find_manifest(m, base, first, l, err);
	return st == LMD_OK ? find_tower(m, base, parts[0], l, err) : st;
}

enum lmd_status lmi_hub_hf_files(struct lmi_hub_model *m, const struct lmi_hub_ref *r,
				 const struct lmi_hub_opts *o, struct lmd_error *err)
{
	struct listing l = {.a = m->arena};
	uint32_t *parts = lmi_arena_array(m->arena, LMI_HUB_FILES_MAX, sizeof(*parts));
	enum lmd_status st = parts ? list_files(&l, r, o, err) : no_memory(err);

	if (st == LMD_OK)
		st = lmi_hub_choose(parts, &m->n_files, l.e, l.n, r->choice, r->repo, err);
	if (st == LMD_UNSUPPORTED && !r->choice &&
	    lmi_hub_choose_folder(parts, &m->n_files, l.e, l.n)) {
		m->is_folder = true;
		st = LMD_OK;
	}
	return st == LMD_OK ? describe(m, r, o, &l, parts, err) : st;
}
