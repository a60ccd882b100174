/* SPDX-License-Identifier: MIT
 *
 * The index of a bundle.  It comes from elsewhere: everything in it is checked here. */
#include <jansson.h>
#include <string.h>

#include "client/llamactl/bundle.h"
#include "core/base/arena.h"
#include "core/base/printable.h"
#include "store/modelfile.h"
#include "store/store.h"

#define FORMAT "llamad bundle 1"

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for the index of a bundle");
}

static enum lmd_status corrupt(struct lmd_error *err, const char *what)
{
	return lmd_fail(err, LMD_CORRUPT, "the index of the bundle: %s", what);
}

/* ---- files ---- */

static struct lmi_ctl_bundle_file *find(const struct lmi_ctl_bundle *b, const char *sha256)
{
	for (uint32_t i = 0; i < b->n_files; i++)
		if (!strcmp(b->files[i].sha256, sha256))
			return &b->files[i];
	return NULL;
}

static enum lmd_status list_file(struct lmi_ctl_bundle *b, const struct lmi_ctl_bundle_file *f,
				 struct lmd_error *err)
{
	const struct lmi_ctl_bundle_file *known = find(b, f->sha256);

	if (known)
		return known->size == f->size ? LMD_OK : corrupt(err, "a file has two sizes");
	if (f->size > LMI_CTL_BUNDLE_SIZE_MAX - b->size)
		return corrupt(err, "the files are larger than 2^50 bytes");
	b->files[b->n_files++] = *f;
	b->size += f->size;
	return LMD_OK;
}

enum lmd_status lmi_ctl_bundle_list_files(struct lmi_ctl_bundle *b, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	size_t n = 0;

	for (uint32_t i = 0; i < b->n_models; i++)
		n += b->models[i].n_files + 1;
	b->n_files = 0;
	b->size = 0;
	b->files = lmi_arena_array(b->arena, n ? n : 1, sizeof(*b->files));
	if (!b->files)
		return no_memory(err);
	for (uint32_t i = 0; i < b->n_models; i++) {
		const struct lmi_ctl_bundle_model *m = &b->models[i];

		for (uint32_t k = 0; k < m->n_files && st == LMD_OK; k++)
			st = list_file(b, &m->files[k], err);
		if (m->tower.size && st == LMD_OK)
			st = list_file(b, &m->tower, err);
	}
	return st;
}

/* ---- models ---- */

static const char *text_of(struct lmi_ctl_bundle *b, const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	size_t n = json_string_length(v);

	if (!json_is_string(v) || memchr(json_string_value(v), 0, n))
		return NULL;
	return lmi_arena_strndup(b->arena, json_string_value(v), n);
}

static enum lmd_status parse_file(struct lmi_ctl_bundle_file *f, const json_t *row, struct lmd_error *err)
{
	const json_t *size = json_object_get(row, "size");
	const char *hex = json_string_value(json_object_get(row, "sha256"));

	if (!hex || strlen(hex) != LMI_SHA256_HEX - 1 || !lmi_sha256_is_hex(hex) || !json_is_integer(size) ||
	    json_integer_value(size) < 1)
		return corrupt(err, "a file has no sha256 of 64 digits, or no size");
	memcpy(f->sha256, hex, LMI_SHA256_HEX);
	f->size = (uint64_t)json_integer_value(size);
	return LMD_OK;
}

static enum lmd_status parse_files(struct lmi_ctl_bundle *b, struct lmi_ctl_bundle_model *m,
				   const json_t *list, struct lmd_error *err)
{
	size_t n = json_array_size(list);

	if (!n || n > LMI_CTL_BUNDLE_FILES_MAX)
		return corrupt(err, "a model has no files, or more than 1000");
	m->files = lmi_arena_array(b->arena, n, sizeof(*m->files));
	if (!m->files)
		return no_memory(err);
	for (; m->n_files < n; m->n_files++) {
		enum lmd_status st = parse_file(&m->files[m->n_files], json_array_get(list, m->n_files), err);

		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* Takes the base's name from the Modelfile. */
static enum lmd_status parse_modelfile(struct lmi_ctl_bundle *b, struct lmi_ctl_bundle_model *m,
				       struct lmd_error *err)
{
	struct lmi_store_modelfile f = {0};
	enum lmd_status st = lmi_store_modelfile_parse(&f, m->modelfile, strlen(m->modelfile), err);

	if (st == LMD_OK && f.adapter)
		st = lmd_fail(err, LMD_CORRUPT, "an ADAPTER is not part of a bundle");
	if (st == LMD_OK)
		st = lmi_store_name_check(f.from, err);
	if (st == LMD_OK) {
		m->base = lmi_arena_strndup(b->arena, f.from, strlen(f.from));
		st = m->base ? LMD_OK : no_memory(err);
	} else {
		lmd_error_prefix(err, m->name);
	}
	lmi_store_modelfile_fini(&f);
	return st;
}

/* Names are unique; those of one base have the same files. */
static enum lmd_status check_names(const struct lmi_ctl_bundle *b, struct lmd_error *err)
{
	for (uint32_t i = 0; i < b->n_models; i++) {
		const struct lmi_ctl_bundle_model *m = &b->models[i];

		for (uint32_t k = 0; k < i; k++) {
			const struct lmi_ctl_bundle_model *o = &b->models[k];

			if (!strcmp(m->name, o->name))
				return corrupt(err, "a name occurs twice");
			if (!strcmp(m->base, o->base) &&
			    (m->n_files != o->n_files || strcmp(m->tower.sha256, o->tower.sha256) != 0 ||
			     memcmp(m->files, o->files, m->n_files * sizeof(*m->files)) != 0))
				return corrupt(err, "two models with one base have different files");
		}
		if (m->modelfile && !strcmp(m->base, m->name))
			return corrupt(err, "a Modelfile is made from itself");
	}
	return LMD_OK;
}

static enum lmd_status parse_model(struct lmi_ctl_bundle *b, const json_t *row, struct lmd_error *err)
{
	struct lmi_ctl_bundle_model *m = &b->models[b->n_models];
	enum lmd_status st;

	m->name = text_of(b, row, "name");
	if (!m->name)
		return corrupt(err, "a model has no name");
	st = lmi_store_name_check(m->name, err);
	if (st == LMD_OK)
		st = parse_files(b, m, json_object_get(row, "files"), err);
	if (st == LMD_OK && json_object_get(row, "tower"))
		st = parse_file(&m->tower, json_object_get(row, "tower"), err);
	if (st != LMD_OK)
		return st;
	m->base = m->name;
	if (json_object_get(row, "modelfile")) {
		m->modelfile = text_of(b, row, "modelfile");
		st = m->modelfile ? parse_modelfile(b, m, err) : corrupt(err, "a modelfile is not a text");
	}
	b->n_models += st == LMD_OK;
	return st;
}

static enum lmd_status parse_models(struct lmi_ctl_bundle *b, const json_t *o, struct lmd_error *err)
{
	const char *format = json_string_value(json_object_get(o, "format"));
	const json_t *list = json_object_get(o, "models");
	size_t n = json_array_size(list);
	char shown[64];
	enum lmd_status st = LMD_OK;

	if (!format || strcmp(format, FORMAT) != 0)
		return lmd_fail(err, LMD_CORRUPT, "the bundle has the format '%s', not '" FORMAT "'",
				lmi_printable_path(shown, sizeof(shown), format ? format : ""));
	if (!n || n > LMI_CTL_BUNDLE_MODELS_MAX)
		return corrupt(err, "no models, or more than 256");
	b->models = lmi_arena_array(b->arena, n, sizeof(*b->models));
	if (!b->models)
		return no_memory(err);
	for (size_t i = 0; i < n && st == LMD_OK; i++)
		st = parse_model(b, json_array_get(list, i), err);
	if (st == LMD_OK)
		st = check_names(b, err);
	return st == LMD_OK ? lmi_ctl_bundle_list_files(b, err) : st;
}

enum lmd_status lmi_ctl_bundle_parse(struct lmi_ctl_bundle *out, const char *text, size_t n,
				     struct lmd_error *err)
{
	json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	enum lmd_status st;

	*out = (struct lmi_ctl_bundle){.arena = lmi_arena_create(0)};
	if (!out->arena)
		st = no_memory(err);
	else if (!json_is_object(o))
		st = corrupt(err, "not a JSON object");
	else
		st = parse_models(out, o, err);
	json_decref(o);
	if (st != LMD_OK)
		lmi_ctl_bundle_fini(out);
	return st;
}

static json_t *emit_file(const struct lmi_ctl_bundle_file *f)
{
	return json_pack("{s:s, s:I}", "sha256", f->sha256, "size", (json_int_t)f->size);
}

char *lmi_ctl_bundle_emit(const struct lmi_ctl_bundle *b)
{
	json_t *models = json_array();
	json_t *o = json_pack("{s:s, s:o}", "format", FORMAT, "models", models);
	char *text;

	for (uint32_t i = 0; i < b->n_models; i++) {
		const struct lmi_ctl_bundle_model *m = &b->models[i];
		json_t *files = json_array();
		json_t *row = json_pack("{s:s, s:o}", "name", m->name, "files", files);

		for (uint32_t k = 0; k < m->n_files; k++)
			(void)json_array_append_new(files, emit_file(&m->files[k]));
		if (m->tower.size)
			(void)json_object_set_new(row, "tower", emit_file(&m->tower));
		if (m->modelfile)
			(void)json_object_set_new(row, "modelfile", json_string(m->modelfile));
		(void)json_array_append_new(models, row);
	}
	text = o ? json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(o);
	return text;
}

void lmi_ctl_bundle_fini(struct lmi_ctl_bundle *b)
{
	lmi_arena_destroy(b->arena);
	*b = (struct lmi_ctl_bundle){0};
}
