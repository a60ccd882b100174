/* SPDX-License-Identifier: MIT */
#include "service/adapter_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/comma_list.h"
#include "core/base/printable.h"
#include "core/engine/adapter_ref.h"
#include "proto/proto.h"
#include "service/adapter_book.h"
#include "service/preset.h"

/* Where the adapters of a model are found. */
struct places {
	const struct lmi_service *svc;
	const char *model;
	const struct lmi_svc_preset *own; /* of the model; NULL: it has no section */
	struct lmi_svc_adapters list; /* of the configuration */
	const struct lmi_svc_adapter_book *book; /* or NULL */
};

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "no memory for adapters");
}

void lmi_svc_adapter_choice_fini(struct lmi_svc_adapter_choice *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		lmi_free((char *)c->refs[i].path);
	lmi_free(c->text);
	*c = (struct lmi_svc_adapter_choice){.n = 0};
}

static enum lmd_status add(struct lmi_svc_adapter_choice *c, const char *path, float scale,
			   struct lmd_error *err)
{
	char *copy;

	if (!(fabsf(scale) <= LMI_ENGINE_ADAPTER_SCALE_MAX))
		return lmd_fail(err, LMD_INVALID, "the scale %g of an adapter is not within +-%g",
				(double)scale, (double)LMI_ENGINE_ADAPTER_SCALE_MAX);
	if (c->n == LMI_SVC_ADAPTER_CHOICE_MAX)
		return lmd_fail(err, LMD_INVALID, "more than %d adapters for one request",
				LMI_SVC_ADAPTER_CHOICE_MAX);
	copy = lmi_strndup(path, strlen(path));
	if (!copy)
		return no_memory(err);
	c->refs[c->n++] = (struct lmi_engine_adapter_ref){.path = copy, .scale = scale};
	return LMD_OK;
}

/* Writes the text; the refs are complete. */
static enum lmd_status finish(struct lmi_svc_adapter_choice *c, struct lmd_error *err)
{
	size_t cap = 1, at = 0;

	for (uint32_t i = 0; i < c->n; i++)
		cap += strlen(c->refs[i].path) + 32;
	c->text = lmi_alloc(cap, 1);
	if (!c->text)
		return no_memory(err);
	for (uint32_t i = 0; i < c->n; i++)
		at += (size_t)snprintf(c->text + at, cap - at, "%s%s:%g", i ? "," : "",
				       c->refs[i].path, (double)c->refs[i].scale);
	c->key = lmi_engine_adapter_key(c->refs, c->n);
	for (uint32_t i = 0; i < c->n; i++)
		c->missing |= access(c->refs[i].path, F_OK) != 0;
	return LMD_OK;
}

enum lmd_status lmi_svc_adapter_choice_of(struct lmi_svc_adapter_choice *out,
					  const struct lmi_svc_adapters *a, uint32_t i,
					  struct lmd_error *err)
{
	enum lmd_status st;

	*out = (struct lmi_svc_adapter_choice){.n = 0};
	st = add(out, a->refs[i].path, a->refs[i].scale, err);
	if (st == LMD_OK)
		st = finish(out, err);
	if (st != LMD_OK)
		lmi_svc_adapter_choice_fini(out);
	return st;
}

enum lmd_status lmi_svc_adapter_choice_copy(struct lmi_svc_adapter_choice *out,
					    const struct lmi_svc_adapter_choice *c,
					    struct lmd_error *err)
{
	struct lmi_svc_adapter_choice copy = {.n = 0};
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; i < c->n && st == LMD_OK; i++)
		st = add(&copy, c->refs[i].path, c->refs[i].scale, err);
	copy.key = c->key;
	copy.missing = c->missing;
	copy.text = st == LMD_OK ? lmi_strndup(c->text, strlen(c->text)) : NULL;
	if (!copy.text) {
		lmi_svc_adapter_choice_fini(&copy);
		return no_memory(err);
	}
	lmi_svc_adapter_choice_fini(out);
	*out = copy;
	return LMD_OK;
}

/* ---- names ---- */

/* The folder is local and its owner's, so that a look at it does not take long. */
static bool find_in_dir(const char *dir, const struct lmd_str *name, char path[LMI_STORE_PATH_MAX + 1])
{
	struct stat sb;
	int n;

	if (!lmi_svc_adapters_is_name(name) || name->ptr[0] == '.')
		return false;
	n = snprintf(path, LMI_STORE_PATH_MAX + 1, "%s/%.*s.gguf", dir, (int)name->len, name->ptr);
	if (n < 0 || n > LMI_STORE_PATH_MAX)
		return false;
	if (!stat(path, &sb))
		return S_ISREG(sb.st_mode);
	path[strlen(path) - strlen(".gguf")] = 0;
	return !stat(path, &sb) && S_ISDIR(sb.st_mode);
}

static enum lmd_status not_found(const struct places *p, const struct lmd_str *name,
				 struct lmd_error *err)
{
	char shown[80], list[200] = "";
	size_t at = 0;

	lmi_printable(shown, sizeof(shown), name->ptr, name->len);
	for (uint32_t i = 0; i < p->list.n; i++) {
		int k = snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "",
				 p->list.names[i].ptr);

		at = k > 0 && (size_t)k < sizeof(list) - at ? at + (size_t)k : at;
	}
	if (p->own && p->own->adapters_dir)
		return lmd_fail(err, LMD_INVALID,
				"model %.100s has no adapter '%s': it is neither in its list of adapters "
				"nor a file in its adapters_dir",
				p->model, shown);
	for (uint32_t i = 0; p->book && i < p->book->list.n; i++) {
		int k = snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "",
				 p->book->list.names[i].ptr);

		at = k > 0 && (size_t)k < sizeof(list) - at ? at + (size_t)k : at;
	}
	return at ? lmd_fail(err, LMD_INVALID, "model %.100s has no adapter '%s'; it has: %s",
				    p->model, shown, list)
			 : lmd_fail(err, LMD_INVALID,
				    "model %.100s has no adapter '%s': its section in llamad.conf has no "
				    "key 'adapters'",
				    p->model, shown);
}

/* Adds the adapter of a name. */
static enum lmd_status add_name(struct lmi_svc_adapter_choice *c, const struct places *p,
				const struct lmd_str *name, float scale, struct lmd_error *err)
{
	char path[LMI_STORE_PATH_MAX + 1];
	uint32_t i;

	if (lmi_svc_adapters_find(&p->list, name, &i))
		return add(c, p->list.refs[i].path, p->list.refs[i].scale * scale, err);
	if (p->book && lmi_svc_adapters_find(&p->book->list, name, &i))
		return add(c, p->book->list.refs[i].path, p->book->list.refs[i].scale * scale, err);
	if (p->own && p->own->adapters_dir && find_in_dir(p->own->adapters_dir, name, path))
		return add(c, path, scale, err);
	if (lmi_svc_adapters_find_number(&p->list, name, &i))
		return add(c, p->list.refs[i].path, p->list.refs[i].scale * scale, err);
	if (p->book && i != UINT32_MAX && i - p->list.n < p->book->list.n) {
		const struct lmi_engine_adapter_ref *r = &p->book->list.refs[i - p->list.n];

		return add(c, r->path, r->scale * scale, err);
	}
	return not_found(p, name, err);
}

/* Takes ":SCALE" off the end of a word. */
static enum lmd_status take_scale(struct lmd_str *word, float *scale, struct lmd_error *err)
{
	const char *colon = memrchr(word->ptr, ':', word->len);
	char number[32], *end, shown[80];
	size_t n = colon ? word->len - (size_t)(colon + 1 - word->ptr) : 0;

	*scale = 1;
	if (!colon)
		return LMD_OK;
	(void)snprintf(number, sizeof(number), "%.*s", (int)(n < 31 ? n : 31), colon + 1);
	*scale = strtof(number, &end);
	if (!n || n > 31 || *end || end == number || number[0] == ' ' || !isfinite(*scale))
		return lmd_fail(err, LMD_INVALID, "adapter '%s': what follows the colon is not a number",
				lmi_printable(shown, sizeof(shown), word->ptr, word->len));
	word->len = (size_t)(colon - word->ptr);
	return LMD_OK;
}

/* Adds the adapters of "NAME[:SCALE],...". Those with the scale 0 must exist and have no effect. */
static enum lmd_status add_text(struct lmi_svc_adapter_choice *c, const struct places *p,
				const char *text, struct lmd_error *err)
{
	const char *rest = lmi_comma_list_begin(text);
	struct lmd_str word;
	enum lmd_status st = LMD_OK;

	while (st == LMD_OK && lmi_comma_list_next(&rest, &word)) {
		uint32_t before = c->n;
		float scale;

		st = take_scale(&word, &scale, err);
		if (st == LMD_OK)
			st = add_name(c, p, &word, scale, err);
		if (st == LMD_OK && !(scale < 0) && !(scale > 0)) {
			lmi_free((char *)c->refs[before].path);
			c->n = before;
		}
	}
	return st;
}

static enum lmd_status open_places(struct places *p, const struct lmi_service *svc, const char *model,
				   struct lmd_error *err)
{
	*p = (struct places){.svc = svc,
			     .model = model,
			     .own = lmi_svc_preset_find(svc, model, strlen(model)),
			     .book = lmi_svc_adapter_book_find(svc, model)};
	return lmi_svc_adapters_parse(&p->list, p->own ? p->own->adapters : NULL, err);
}

static enum lmd_status choose(struct lmi_svc_adapter_choice *c, const struct lmi_service *svc,
			      const char *model, const char *text, struct lmd_error *err)
{
	struct places p;
	enum lmd_status st = open_places(&p, svc, model, err);

	if (st != LMD_OK)
		return st;
	st = add_text(c, &p, text, err);
	lmi_svc_adapters_fini(&p.list);
	return st;
}

enum lmd_status lmi_svc_adapter_choose_text(struct lmi_svc_adapter_choice *out,
					    const struct lmi_service *svc, const char *model,
					    const char *text, struct lmd_error *err)
{
	enum lmd_status st;

	*out = (struct lmi_svc_adapter_choice){.n = 0};
	st = choose(out, svc, model, text, err);
	if (st == LMD_OK && out->n)
		st = finish(out, err);
	if (st != LMD_OK)
		lmi_svc_adapter_choice_fini(out);
	return st;
}

/* The adapters of requests that name none: those of their name, of op adapter_set, of the model. */
static const char *text_of(const struct lmi_service *svc, const char *model,
			   const struct lmi_svc_preset *asked)
{
	const struct lmi_svc_adapter_book *book = lmi_svc_adapter_book_find(svc, model);
	bool is_alias = asked && strcmp(asked->name, model) != 0;

	if (is_alias && asked->adapter)
		return asked->adapter;
	if (book && book->chosen)
		return book->chosen;
	return asked ? asked->adapter : NULL;
}

const char *lmi_svc_adapter_text(const struct lmi_service *svc, const char *model,
				 const struct lmd_str *asked)
{
	const struct lmi_svc_preset *own = lmi_svc_preset_find(svc, asked->ptr, asked->len);
	const char *text = text_of(svc, model,
				   own ? own : lmi_svc_preset_find(svc, model, strlen(model)));

	return text ? text : "";
}

enum lmd_status lmi_svc_adapter_choose(struct lmi_svc_adapter_choice *out,
				       const struct lmi_service *svc, const char *model,
				       const struct lmi_wire_req_generate *q, struct lmd_error *err)
{
	const struct lmi_svc_preset *asked = lmi_svc_preset_find(svc, q->model.ptr, q->model.len);
	char text[LMI_SVC_ADAPTER_CHOICE_TEXT + 1] = "";
	enum lmd_status st = LMD_OK;

	*out = (struct lmi_svc_adapter_choice){.n = 0};
	if (!asked)
		asked = lmi_svc_preset_find(svc, model, strlen(model));
	if (q->has_adapter)
		(void)snprintf(text, sizeof(text), "%.*s", (int)q->adapter.len, q->adapter.ptr);
	if (q->has_adapter && strlen(text) != q->adapter.len)
		st = lmd_fail(err, LMD_INVALID, "adapter: a text of %zu bytes that has at most %d and no "
						"zero byte is required",
			      q->adapter.len, LMI_SVC_ADAPTER_CHOICE_TEXT);
	else if (!q->has_adapter && asked && asked->adapter_file)
		st = add(out, asked->adapter_file, 1, err);
	else
		return lmi_svc_adapter_choose_text(
			out, svc, model, q->has_adapter ? text : text_of(svc, model, asked), err);
	if (st == LMD_OK && out->n)
		st = finish(out, err);
	if (st != LMD_OK)
		lmi_svc_adapter_choice_fini(out);
	return st;
}
