/* SPDX-License-Identifier: MIT */
#include "service/adapter_book.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "service/service_state.h"

struct lmi_svc_adapter_book *lmi_svc_adapter_book_find(const struct lmi_service *svc,
						       const char *model)
{
	for (struct lmi_svc_adapter_book *b = svc->adapter_books; b; b = b->next)
		if (!strcmp(b->model, model))
			return b;
	return NULL;
}

static void destroy(struct lmi_svc_adapter_book *b)
{
	lmi_svc_adapters_fini(&b->list);
	lmi_free(b->chosen);
	lmi_free(b);
}

enum lmd_status lmi_svc_adapter_book_get(struct lmi_svc_adapter_book **out, struct lmi_service *svc,
					 const char *model, struct lmd_error *err)
{
	struct lmi_svc_adapter_book *b = lmi_svc_adapter_book_find(svc, model);
	uint32_t n = 0;

	if (b) {
		*out = b;
		return LMD_OK;
	}
	for (b = svc->adapter_books; b; b = b->next)
		n++;
	if (n == LMI_SVC_ADAPTER_BOOKS_MAX)
		return lmd_fail(err, LMD_BUSY, "adapters of %u models have names, the maximum is %d", n,
				LMI_SVC_ADAPTER_BOOKS_MAX);
	b = lmi_alloc(1, sizeof(*b));
	if (b) {
		b->list.names = lmi_alloc(LMI_SVC_ADAPTER_NAMES_MAX, sizeof(*b->list.names));
		b->list.refs = lmi_alloc(LMI_SVC_ADAPTER_NAMES_MAX, sizeof(*b->list.refs));
	}
	if (!b || !b->list.names || !b->list.refs) {
		if (b)
			destroy(b);
		return lmd_fail(err, LMD_NOMEM, "no memory for the names of adapters");
	}
	(void)snprintf(b->model, sizeof(b->model), "%s", model);
	b->next = svc->adapter_books;
	svc->adapter_books = b;
	*out = b;
	return LMD_OK;
}

static bool find(const struct lmi_svc_adapter_book *b, const char *name, uint32_t *i)
{
	const struct lmd_str s = {.ptr = name, .len = strlen(name)};

	return lmi_svc_adapters_find(&b->list, &s, i);
}

enum lmd_status lmi_svc_adapter_book_put(struct lmi_svc_adapter_book *b, const char *name,
					 const char *path, float scale, bool *found,
					 struct lmd_error *err)
{
	struct lmi_svc_adapters *a = &b->list;
	char *own_name, *own_path;
	uint32_t i;

	*found = find(b, name, &i);
	if (!*found && a->n == LMI_SVC_ADAPTER_NAMES_MAX)
		return lmd_fail(err, LMD_BUSY, "model %.100s has %d names of adapters, the maximum",
				b->model, LMI_SVC_ADAPTER_NAMES_MAX);
	own_name = *found ? NULL : lmi_strndup(name, strlen(name));
	own_path = lmi_strndup(path, strlen(path));
	if (!own_path || (!*found && !own_name)) {
		lmi_free(own_name);
		lmi_free(own_path);
		return lmd_fail(err, LMD_NOMEM, "no memory for the name of an adapter");
	}
	if (*found)
		lmi_free((char *)a->refs[i].path);
	else
		a->names[a->n++] = (struct lmd_str){.ptr = own_name, .len = strlen(own_name)};
	a->refs[i] = (struct lmi_engine_adapter_ref){.path = own_path, .scale = scale};
	return LMD_OK;
}

bool lmi_svc_adapter_book_remove(struct lmi_svc_adapter_book *b, const char *name)
{
	struct lmi_svc_adapters *a = &b->list;
	uint32_t i;

	if (!find(b, name, &i))
		return false;
	lmi_free((char *)a->names[i].ptr);
	lmi_free((char *)a->refs[i].path);
	a->n--;
	memmove(a->names + i, a->names + i + 1, (a->n - i) * sizeof(*a->names));
	memmove(a->refs + i, a->refs + i + 1, (a->n - i) * sizeof(*a->refs));
	return true;
}

void lmi_svc_adapter_books_fini(struct lmi_service *svc)
{
	while (svc->adapter_books) {
		struct lmi_svc_adapter_book *b = svc->adapter_books;

		svc->adapter_books = b->next;
		destroy(b);
	}
}
