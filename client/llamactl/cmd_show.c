/* SPDX-License-Identifier: MIT
 *
 * llamactl show: what a model is and how requests to it are answered, or its Modelfile. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/own_models.h"
#include "client/llamactl/remote.h"
#include "core/base/printable.h"

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Prints a value in the syntax of a Modelfile. */
static void print_value(const char *text)
{
	if (!*text || strpbrk(text, "\n\"") || is_blank(*text) || is_blank(text[strlen(text) - 1]))
		printf("\"\"\"%s\"\"\"\n", text);
	else
		printf("%s\n", text);
}

static void print_number(const json_t *v)
{
	char out[32];

	if (json_is_integer(v))
		printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(v));
	else
		printf("%s\n", lmi_printable_number(out, json_number_value(v)));
}

/* Prints the parameters that the model or the configuration sets, and returns how many there are. */
static uint32_t print_parameters(const json_t *info, const char *before)
{
	uint32_t n = 0;
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(info, "defaults"), i, v)
	{
		const char *name = text_of(v, "name");

		if (!strcmp(text_of(v, "from"), "builtin"))
			continue;
		printf("%s%s ", before, !strcmp(name, "temp") ? "temperature" : name);
		print_number(json_object_get(v, "value"));
		n++;
	}
	return n;
}

static enum lmd_status print_modelfile(const json_t *info, const char *name, struct lmd_error *err)
{
	const char *own = text_of(info, "modelfile");

	if (*own) {
		printf("%s%s", own, own[strlen(own) - 1] == '\n' ? "" : "\n");
		return LMD_OK;
	}
	if (strstr(text_of(info, "system"), "\"\"\""))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"the system prompt of '%s' contains three double quotes, which cannot "
				"stand in a Modelfile",
				name);
	printf("FROM %s\n", name);
	(void)print_parameters(info, "PARAMETER ");
	if (*text_of(info, "system")) {
		printf("SYSTEM ");
		print_value(text_of(info, "system"));
	}
	return LMD_OK;
}

static void print_row(const char *name, const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	if (v)
		printf("  %-16s %" JSON_INTEGER_FORMAT "\n", name, v);
}

static void print_text(const json_t *info)
{
	const json_t *model = json_object_get(info, "model");
	char size[24];

	printf("Model\n  %-16s %s\n  %-16s %s\n  %-16s %s\n", "name", text_of(model, "name"),
	       "architecture", text_of(model, "arch"), "size",
	       lmi_ctl_show_bytes(size, sizeof(size),
				  json_integer_value(json_object_get(info, "weight_bytes"))));
	print_row("parameters", info, "elements");
	print_row("context length", info, "n_ctx_train");
	print_row("layers", info, "n_layer");
	print_row("embedding", info, "n_embd");
	print_row("vocabulary", info, "n_vocab");
	printf("\nParameters that differ from llamad's defaults\n");
	if (!print_parameters(info, "  "))
		printf("  none\n");
	if (*text_of(info, "modelfile"))
		printf("\nModelfile\n%s\n", text_of(info, "modelfile"));
	else if (*text_of(info, "system"))
		printf("\nSystem\n%s\n", text_of(info, "system"));
}

/* The service of the user's own store describes files, so the name is looked up first. */
static enum lmd_status own_info(struct lmi_ctl *ctl, const char *name, json_t **reply,
				struct lmd_error *err)
{
	char *modelfile = lmi_ctl_own_modelfile(ctl, name);
	json_t *found, *row;
	enum lmd_status st =
		lmi_ctl_remote_call(ctl, "models", json_pack("{s:s}", "model", name), &found, err);

	if (st == LMD_OK) {
		row = json_array_get(json_object_get(found, "models"), 0);
		st = row ? lmi_ctl_remote_call(ctl, "info",
					       json_pack("{s:s}", "model", text_of(row, "path")),
					       reply, err)
			 : lmd_fail(err, LMD_NOTFOUND, "there is no model '%s'", name);
		if (st == LMD_OK)
			(void)json_object_set(*reply, "model", row);
		json_decref(found);
	}
	if (st == LMD_OK && modelfile)
		(void)json_object_set_new(*reply, "modelfile", json_string(modelfile));
	free(modelfile);
	return st;
}

static enum lmd_status info_of(struct lmi_ctl *ctl, const char *name, json_t **reply,
			       struct lmd_error *err)
{
	bool own;
	enum lmd_status st = lmi_ctl_models_client(ctl, &own, err);

	if (st == LMD_OK && own)
		return own_info(ctl, name, reply, err);
	return st == LMD_OK ? lmi_ctl_remote_call(ctl, "info", json_pack("{s:s}", "model", name),
						  reply, err)
			    : st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0);
	json_t *reply;
	enum lmd_status st = info_of(ctl, name, &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	else if (lmi_arg_flag(&ctl->args, "modelfile"))
		st = print_modelfile(reply, name, err);
	else if (lmi_arg_flag(&ctl->args, "template"))
		printf("%s\n", text_of(reply, "chat_template"));
	else if (lmi_arg_flag(&ctl->args, "system"))
		printf("%s\n", text_of(reply, "system"));
	else if (lmi_arg_flag(&ctl->args, "parameters"))
		(void)print_parameters(reply, "");
	else
		print_text(reply);
	json_decref(reply);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "modelfile",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print the Modelfile, or one that makes a model with the same values."},
	{.name = "template", .type = LMI_OPT_FLAG, .doc = "Print the chat template."},
	{.name = "system", .type = LMI_OPT_FLAG, .doc = "Print the system prompt."},
	{.name = "parameters",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print the sampling parameters that the model or its Modelfile sets."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_show = {
	.name = "show",
	.args = "NAME",
	.brief = "Show a model, its parameters and its Modelfile",
	.doc = "NAME is a model or an alias of `llamactl list`. `llamactl info` prints the metadata and "
	       "the tensors of a file.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
