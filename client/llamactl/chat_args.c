/* SPDX-License-Identifier: MIT */
#include "client/llamactl/chat_args.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/grammar/grammar.h"
#include "core/jinja/template.h"

enum { TEMPLATE, ARGS, TOOLS, GRAMMAR, SCHEMA };

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = s ? strlen(s) : 0};
}

static enum lmd_status from_file(struct lmi_ctl_chat_args *a, int which, const char *path,
				 uint64_t max, struct lmd_str *out, struct lmd_error *err)
{
	size_t n = 0;
	enum lmd_status st = lmi_file_read_all(path, max, &a->owned[which], &n, err);

	if (st == LMD_OK)
		*out = (struct lmd_str){.ptr = a->owned[which], .len = n};
	return st;
}

/* A name contains no slash and has no file suffix. */
static bool is_path(const char *s)
{
	size_t n = strlen(s);

	return strchr(s, '/') || (n > 6 && !strcmp(s + n - 6, ".jinja"));
}

static enum lmd_status template_args(struct lmi_ctl *ctl, struct lmi_ctl_chat_args *a,
				     struct lmd_error *err)
{
	const char *const *list;
	uint32_t n = lmi_arg_list(&ctl->args, "template-arg", &list);
	json_t *o = json_object();
	enum lmd_status st = o ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for --template-arg");

	for (uint32_t i = 0; i < n && st == LMD_OK; i++) {
		const char *eq = strchr(list[i], '=');
		char *key;
		json_t *v;

		if (!eq || eq == list[i]) {
			st = lmi_ctl_usage(ctl, err, "--template-arg: '%.60s' is not KEY=VALUE",
					   list[i]);
			break;
		}
		v = json_loads(eq + 1, JSON_DECODE_ANY, NULL);
		if (!v)
			v = json_string(eq + 1);
		key = lmi_strndup(list[i], (size_t)(eq - list[i]));
		if (!key || !v || json_object_set_new(o, key, v))
			st = lmd_fail(err, LMD_INVALID, "--template-arg: '%.60s' is not valid "
							"UTF-8",
				      list[i]);
		lmi_free(key);
	}
	if (st == LMD_OK && n) {
		char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));

		a->owned[ARGS] = text ? lmi_strndup(text, strlen(text)) : NULL;
		free(text);
		if (!a->owned[ARGS])
			st = lmd_fail(err, LMD_NOMEM, "no memory for --template-arg");
		a->args = str(a->owned[ARGS]);
	}
	json_decref(o);
	return st;
}

static enum lmd_status check(struct lmi_ctl *ctl, const struct lmi_ctl_chat_args *a,
			     struct lmd_error *err)
{
	const char *const *list;

	if (lmi_arg_given(&ctl->args, "grammar") && lmi_arg_given(&ctl->args, "json-schema"))
		return lmi_ctl_usage(ctl, err, "--grammar and --json-schema exclude each other");
	if (lmi_arg_list(&ctl->args, "grammar-trigger", &list) &&
	    !lmi_arg_given(&ctl->args, "grammar") && !lmi_arg_given(&ctl->args, "json-schema"))
		return lmi_ctl_usage(ctl, err,
				     "--grammar-trigger requires --grammar or --json-schema");
	if (a->needs_template && lmi_arg_flag(&ctl->args, "raw"))
		return lmi_ctl_usage(ctl, err,
				     "--raw cannot be combined with --system, --template, "
				     "--template-arg or --tools");
	return LMD_OK;
}

enum lmd_status lmi_ctl_chat_args(struct lmi_ctl *ctl, struct lmi_ctl_chat_args *out,
				  struct lmd_error *err)
{
	const struct lmi_args *args = &ctl->args;
	const char *template = lmi_arg_str(args, "template"), *tools = lmi_arg_str(args, "tools");
	const char *grammar = lmi_arg_str(args, "grammar");
	const char *schema = lmi_arg_str(args, "json-schema");
	enum lmd_status st;

	*out = (struct lmi_ctl_chat_args){.system = str(lmi_arg_str(args, "system")),
					  .template = str(template)};
	st = template_args(ctl, out, err);
	out->needs_template = out->system.ptr || template || tools || out->args.ptr;
	if (st == LMD_OK)
		st = check(ctl, out, err);
	if (st == LMD_OK && template && is_path(template) && !strchr(template, '{'))
		st = from_file(out, TEMPLATE, template, LMI_JINJA_MAX, &out->template, err);
	if (st == LMD_OK && tools)
		st = from_file(out, TOOLS, tools, LMI_JINJA_MAX, &out->tools, err);
	if (st == LMD_OK && grammar)
		st = from_file(out, GRAMMAR, grammar, LMI_GRAMMAR_BYTES_MAX, &out->grammar, err);
	if (st == LMD_OK && schema && *schema == '{')
		out->schema = str(schema);
	else if (st == LMD_OK && schema)
		st = from_file(out, SCHEMA, schema, LMI_GRAMMAR_BYTES_MAX, &out->schema, err);
	return st;
}

void lmi_ctl_chat_args_fini(struct lmi_ctl_chat_args *a)
{
	for (size_t i = 0; i < LMD_LEN(a->owned); i++)
		lmi_free(a->owned[i]);
	*a = (struct lmi_ctl_chat_args){0};
}
