/* SPDX-License-Identifier: MIT */
#include "service/adapter_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/comma_list.h"
#include "proto/proto.h"
#include "service/adapters.h"
#include "service/preset.h"

static bool is_number(const struct lmd_str *name)
{
	for (size_t i = 0; i < name->len; i++)
		if (name->ptr[i] < '0' || name->ptr[i] > '9')
			return false;
	return true;
}

/* Is it one of "NAME=FILE,...", or the number of one? */
static bool is_in_list(const char *list, const struct lmd_str *name)
{
	const char *rest = lmi_comma_list_begin(list);
	struct lmd_str word;

	if (is_number(name))
		return true;
	while (list && lmi_comma_list_next(&rest, &word))
		if (word.len > name->len && word.ptr[name->len] == '=' &&
		    !memcmp(word.ptr, name->ptr, name->len))
			return true;
	return false;
}

/* The folder is local and its owner's, so that a look at it does not take long. */
static bool find_in_dir(const char *dir, const struct lmd_str *name,
			struct lmi_svc_adapter_file *out)
{
	struct stat sb;
	int n;

	if (!lmi_svc_adapters_is_name(name) || name->ptr[0] == '.')
		return false;
	(void)snprintf(out->name, sizeof(out->name), "%.*s", (int)name->len, name->ptr);
	n = snprintf(out->path, sizeof(out->path), "%s/%s.gguf", dir, out->name);
	if (n < 0 || (size_t)n >= sizeof(out->path))
		return false;
	if (!stat(out->path, &sb))
		return S_ISREG(sb.st_mode);
	out->path[strlen(out->path) - strlen(".gguf")] = 0;
	return !stat(out->path, &sb) && S_ISDIR(sb.st_mode);
}

bool lmi_svc_adapter_file_find(struct lmi_svc_adapter_file *out, const struct lmi_service *svc,
			       const char *model, const struct lmi_wire_req_generate *q)
{
	const struct lmi_svc_preset *asked = lmi_svc_preset_find(svc, q->model.ptr, q->model.len);
	const struct lmi_svc_preset *own = lmi_svc_preset_find(svc, model, strlen(model));
	struct lmd_str name = q->adapter;

	if (!asked)
		asked = own;
	if (!q->has_adapter && asked && asked->adapter_file) {
		(void)snprintf(out->name, sizeof(out->name), "%.*s", (int)q->model.len,
			       q->model.ptr);
		(void)snprintf(out->path, sizeof(out->path), "%s", asked->adapter_file);
		return true;
	}
	if (!q->has_adapter && asked && asked->adapter)
		name = (struct lmd_str){asked->adapter, strlen(asked->adapter)};
	return name.len && own && own->adapters_dir && !is_in_list(own->adapters, &name) &&
	       find_in_dir(own->adapters_dir, &name, out);
}
