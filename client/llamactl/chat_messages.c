/* SPDX-License-Identifier: MIT */
#include "client/llamactl/chat_messages.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "llamad/attr.h"

#define FILE_MAX (64u << 20)

static void free_text(struct lmd_str *s)
{
	lmi_free((void *)(uintptr_t)s->ptr);
	*s = (struct lmd_str){0};
}

static enum lmd_status copy_text(struct lmd_str *out, const char *text, size_t n,
				 struct lmd_error *err)
{
	char *copy = lmi_strndup(n ? text : "", n);

	if (!copy)
		return lmd_fail(err, LMD_NOMEM, "no memory for a message of %zu bytes", n);
	*out = (struct lmd_str){.ptr = copy, .len = n};
	return LMD_OK;
}

void lmi_ctl_messages_cut(struct lmi_ctl_messages *m, uint32_t n)
{
	while (m->n > n) {
		struct lmi_wire_chat_message *last = &m->v[--m->n];

		free_text(&last->content);
		free_text(&last->name);
		free_text(&last->tool_calls);
		free_text(&last->tool_call_id);
		for (uint32_t i = 0; i < last->n_pictures; i++)
			lmi_free((void *)(uintptr_t)last->pictures[i].data.ptr);
		lmi_free((void *)(uintptr_t)last->pictures);
	}
}

void lmi_ctl_messages_fini(struct lmi_ctl_messages *m)
{
	lmi_ctl_messages_cut(m, 0);
	lmi_free(m->v);
	*m = (struct lmi_ctl_messages){0};
}

enum lmd_status lmi_ctl_messages_add(struct lmi_ctl_messages *m, const char *role,
				     const char *text, size_t n, struct lmd_error *err)
{
	enum lmd_status st;

	if (m->n == m->cap) {
		uint32_t cap = m->cap ? 2 * m->cap : 8;
		struct lmi_wire_chat_message *v = lmi_realloc(m->v, cap, sizeof(*v));

		if (!v)
			return lmd_fail(err, LMD_NOMEM, "no memory for %u messages", cap);
		m->v = v;
		m->cap = cap;
	}
	m->v[m->n] = (struct lmi_wire_chat_message){.role = {.ptr = role, .len = strlen(role)}};
	st = copy_text(&m->v[m->n].content, text, n, err);
	m->n += st == LMD_OK;
	return st;
}

enum lmd_status lmi_ctl_messages_set_calls(struct lmi_ctl_messages *m, const char *json,
					   struct lmd_error *err)
{
	struct lmi_wire_chat_message *last = &m->v[m->n - 1];

	last->has_tool_calls = true;
	return copy_text(&last->tool_calls, json, strlen(json), err);
}

enum lmd_status lmi_ctl_messages_set_result_of(struct lmi_ctl_messages *m, struct lmd_str name,
					       struct lmd_str id, struct lmd_error *err)
{
	struct lmi_wire_chat_message *last = &m->v[m->n - 1];
	enum lmd_status st = LMD_OK;

	last->has_name = name.len > 0;
	if (name.len)
		st = copy_text(&last->name, name.ptr, name.len, err);
	last->has_tool_call_id = id.len > 0;
	return st == LMD_OK && id.len ? copy_text(&last->tool_call_id, id.ptr, id.len, err) : st;
}

enum lmd_status lmi_ctl_messages_set_pictures(struct lmi_ctl_messages *m, struct lmi_wire_picture *own_v,
					      uint32_t n, struct lmd_error *err)
{
	struct lmi_wire_chat_message *last = &m->v[m->n - 1];
	struct lmi_wire_picture *v = lmi_alloc(n, sizeof(*v));

	for (uint32_t i = 0; i < n; i++) {
		if (v)
			v[i] = own_v[i];
		else
			lmi_free((void *)(uintptr_t)own_v[i].data.ptr);
	}
	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u pictures", n);
	last->pictures = v;
	last->n_pictures = n;
	return LMD_OK;
}

static bool has_role(const struct lmi_wire_chat_message *m, const char *role)
{
	return m->role.len == strlen(role) && !memcmp(m->role.ptr, role, m->role.len);
}

const struct lmd_str *lmi_ctl_messages_system(const struct lmi_ctl_messages *m)
{
	return m->n && has_role(&m->v[0], "system") ? &m->v[0].content : NULL;
}

enum lmd_status lmi_ctl_messages_set_system(struct lmi_ctl_messages *m, const char *text,
					    struct lmd_error *err)
{
	struct lmi_wire_chat_message added;
	enum lmd_status st;

	if (lmi_ctl_messages_system(m)) {
		free_text(&m->v[0].content);
		memmove(m->v, m->v + 1, --m->n * sizeof(*m->v));
	}
	if (!text || !*text)
		return LMD_OK;
	st = lmi_ctl_messages_add(m, "system", text, strlen(text), err);
	if (st != LMD_OK)
		return st;
	added = m->v[m->n - 1];
	memmove(m->v + 1, m->v, (m->n - 1) * sizeof(*m->v));
	m->v[0] = added;
	return LMD_OK;
}

uint32_t lmi_ctl_messages_last_question(const struct lmi_ctl_messages *m)
{
	for (uint32_t i = m->n; i; i--)
		if (has_role(&m->v[i - 1], "user"))
			return i - 1;
	return m->n;
}

/* ---- files ---- */

/* A text of the model may not be UTF-8, which JSON needs: such a message is an error. */
static json_t *message_json(const struct lmi_wire_chat_message *m)
{
	json_t *o = json_object();
	bool bad = !o;

	bad = bad || json_object_set_new(o, "role", json_stringn(m->role.ptr, m->role.len)) ||
	      json_object_set_new(o, "content", json_stringn(m->content.ptr, m->content.len));
	if (!bad && m->has_name)
		bad = json_object_set_new(o, "name", json_stringn(m->name.ptr, m->name.len));
	if (!bad && m->has_tool_calls)
		bad = json_object_set_new(o, "tool_calls",
					  json_loadb(m->tool_calls.ptr, m->tool_calls.len, 0, NULL));
	if (!bad && m->has_tool_call_id)
		bad = json_object_set_new(o, "tool_call_id",
					  json_stringn(m->tool_call_id.ptr, m->tool_call_id.len));
	if (bad) {
		json_decref(o);
		o = NULL;
	}
	return o;
}

/* A symbolic link is kept: the file that it leads to is replaced. */
static enum lmd_status follow_link(const char **path, char target[PATH_MAX], struct lmd_error *err)
{
	char shown[160];
	struct stat sb;

	if (lstat(*path, &sb) || !S_ISLNK(sb.st_mode))
		return LMD_OK;
	if (!realpath(*path, target))
		return lmd_fail(err, LMD_IO, "%s: the symbolic link leads to no file: %s",
				lmi_printable_path(shown, sizeof(shown), *path), strerror(errno));
	*path = target;
	return LMD_OK;
}

static enum lmd_status write_file(const json_t *o, const char *path, struct lmd_error *err)
{
	struct lmi_new_file f;
	char target[PATH_MAX], *text = json_dumps(o, JSON_INDENT(2));
	enum lmd_status st = text ? follow_link(&path, target, err)
				  : lmd_fail(err, LMD_NOMEM, "no memory for the messages");

	if (st == LMD_OK)
		st = lmi_new_file_open(&f, path, 0600, err);

	if (st == LMD_OK) {
		st = lmi_new_file_write(&f, text, strlen(text), err);
		if (st == LMD_OK)
			st = lmi_new_file_write(&f, "\n", 1, err);
		st = st == LMD_OK ? lmi_new_file_commit(&f, err) : st;
		lmi_new_file_abort(&f);
	}
	free(text);
	return st;
}

enum lmd_status lmi_ctl_messages_save(const struct lmi_ctl_messages *m, const char *path,
				      const char *model, struct lmd_error *err)
{
	json_t *list = json_array(), *o;
	enum lmd_status st = list ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for the messages");

	for (uint32_t i = 0; i < m->n && st == LMD_OK; i++)
		if (m->v[i].n_pictures)
			st = lmd_fail(err, LMD_UNSUPPORTED,
				      "message %u has pictures, which are not saved: /undo it, or go on "
				      "without saving",
				      i + 1);
		else if (json_array_append_new(list, message_json(&m->v[i])))
			st = lmd_fail(err, LMD_INVALID, "message %u is not UTF-8", i + 1);
	if (st != LMD_OK) {
		json_decref(list);
		return st;
	}
	o = json_pack("{s:s, s:o}", "model", model, "messages", list);
	st = o ? write_file(o, path, err) : lmd_fail(err, LMD_NOMEM, "no memory for the messages");
	json_decref(o);
	return st;
}

static enum lmd_status load_message(struct lmi_ctl_messages *m, const json_t *row, size_t i,
				    struct lmd_error *err)
{
	static const char *const roles[] = {"system", "user", "assistant", "tool"};
	const char *role = json_string_value(json_object_get(row, "role"));
	const json_t *content = json_object_get(row, "content");
	const json_t *calls = json_object_get(row, "tool_calls");
	enum lmd_status st;
	char *text;

	for (size_t k = 0; k < LMD_LEN(roles); k++) {
		if (!role || strcmp(role, roles[k]) != 0)
			continue;
		st = lmi_ctl_messages_add(m, roles[k], json_string_value(content),
					  json_string_length(content), err);
		if (st != LMD_OK || !calls)
			return st;
		text = json_dumps(calls, JSON_COMPACT);
		st = text ? lmi_ctl_messages_set_calls(m, text, err)
			  : lmd_fail(err, LMD_NOMEM, "no memory for a message");
		free(text);
		return st;
	}
	return lmd_fail(err, LMD_INVALID,
			"messages[%zu].role: '%.32s' is not system, user, assistant or tool", i,
			role ? role : "");
}

enum lmd_status lmi_ctl_messages_load(struct lmi_ctl_messages *m, const char *path,
				      struct lmd_error *err)
{
	struct lmi_ctl_messages loaded = {0};
	json_t *o, *list, *row;
	json_error_t where;
	char *text = NULL;
	size_t n, i;
	enum lmd_status st = lmi_file_read_all(path, FILE_MAX, &text, &n, err);

	if (st != LMD_OK)
		return st;
	o = json_loadb(text, n, 0, &where);
	lmi_free(text);
	list = json_is_array(o) ? o : json_object_get(o, "messages");
	if (!json_is_array(list))
		st = lmd_fail(err, LMD_INVALID, "%.200s: not a saved conversation%s%s", path,
			      o ? "" : ": ", o ? "" : where.text);
	json_array_foreach(list, i, row)
		if (st == LMD_OK)
			st = load_message(&loaded, row, i, err);
	json_decref(o);
	if (st != LMD_OK) {
		lmi_ctl_messages_fini(&loaded);
		return st;
	}
	lmi_ctl_messages_fini(m);
	*m = loaded;
	return LMD_OK;
}
