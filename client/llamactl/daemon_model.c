/* SPDX-License-Identifier: MIT
 *
 * The commands on files that also take the name of a model of the daemon. */
#include "client/llamactl/daemon_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"

bool lmi_ctl_is_named(struct lmi_ctl *ctl, const char *what)
{
	return access(what, F_OK) != 0 && lmi_ctl_has_daemon(ctl);
}

/* ---- info ---- */

/* Only those that are not the same for every model. */
static void show_defaults(const json_t *r)
{
	const json_t *system = json_object_get(r, "system"), *v;
	size_t i;

	if (system)
		printf("%-14s%s\n", "system prompt", json_string_value(system));
	json_array_foreach(json_object_get(r, "defaults"), i, v)
	{
		const char *from = json_string_value(json_object_get(v, "from"));

		if (strcmp(from, "builtin") != 0)
			printf("%-14s%g (%s)\n", json_string_value(json_object_get(v, "name")),
			       json_number_value(json_object_get(v, "value")),
			       !strcmp(from, "config") ? "from the configuration" : "from the model");
	}
}

static void show_facts(const json_t *r)
{
	static const char *const numbers[] = {"n_layer", "n_embd", "n_vocab", "n_ctx_train",
					      "elements"};
	const json_t *m = json_object_get(r, "model"), *t;
	char text[24];
	size_t i;

	printf("%-14s%s\n%-14s%s\n%-14s%s\n%-14s%s\n", "name",
	       json_string_value(json_object_get(m, "name")), "architecture",
	       json_string_value(json_object_get(m, "arch")), "state",
	       lmi_ctl_show_state(json_string_value(json_object_get(m, "state"))), "digest",
	       json_string_value(json_object_get(m, "digest")));
	printf("%-14s%s\n", "weights",
	       lmi_ctl_show_bytes(text, sizeof(text),
				  json_integer_value(json_object_get(r, "weight_bytes"))));
	for (i = 0; i < LMD_LEN(numbers); i++)
		printf("%-14s%" JSON_INTEGER_FORMAT "\n", numbers[i],
		       json_integer_value(json_object_get(r, numbers[i])));
	json_array_foreach(json_object_get(r, "types"), i, t)
		printf("  %-8s %5" JSON_INTEGER_FORMAT " tensors, %s\n",
		       json_string_value(json_object_get(t, "type")),
		       json_integer_value(json_object_get(t, "tensors")),
		       lmi_ctl_show_bytes(text, sizeof(text),
					  json_integer_value(json_object_get(t, "bytes"))));
	show_defaults(r);
	json_array_foreach(json_object_get(r, "meta"), i, t)
		printf("  %-40s %s\n", json_string_value(json_object_get(t, "key")),
		       json_string_value(json_object_get(t, "value")));
}

enum lmd_status lmi_ctl_named_info(struct lmi_ctl *ctl, struct lmd_error *err)
{
	json_t *reply;
	enum lmd_status st =
		lmi_ctl_remote_call(ctl, "info",
				    json_pack("{s:s, s:b}", "model", lmi_arg_pos(&ctl->args, 0),
					      "keys", lmi_arg_flag(&ctl->args, "full")),
				    &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	else
		show_facts(reply);
	json_decref(reply);
	return LMD_OK;
}

/* ---- tokenize, detokenize ---- */

static void print_ids(const json_t *ids)
{
	const json_t *id;
	size_t i;

	json_array_foreach(ids, i, id)
		printf("%s%" JSON_INTEGER_FORMAT, i ? "," : "", json_integer_value(id));
	putchar('\n');
}

enum lmd_status lmi_ctl_named_tokenize(struct lmi_ctl *ctl, const char *text, size_t n,
				       struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	json_t *m, *reply;
	enum lmd_status st;

	if (lmi_arg_flag(a, "batch") || lmi_arg_given(a, "pre") || lmi_arg_flag(a, "pieces"))
		return lmi_ctl_usage(ctl, err,
				     "--batch, --pre and --pieces need a model file; '%s' is not a "
				     "file",
				     lmi_arg_pos(a, 0));
	m = json_pack("{s:s, s:s%, s:b, s:b}", "model", lmi_arg_pos(a, 0), "text", text, n,
		      "add_special", !lmi_arg_flag(a, "no-special"), "parse_special",
		      lmi_arg_flag(a, "parse-special"));
	if (!m)
		return lmd_fail(err, LMD_INVALID,
				"the text is not valid UTF-8; arbitrary bytes need a model file "
				"instead of a name");
	st = lmi_ctl_remote_call(ctl, "tokenize", m, &reply, err);
	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(a, "json")) {
		json_t *out = json_pack("{s:O}", "ids", json_object_get(reply, "tokens"));

		(void)json_dumpf(out, stdout, 0);
		putchar('\n');
		json_decref(out);
	} else {
		print_ids(json_object_get(reply, "tokens"));
	}
	json_decref(reply);
	return LMD_OK;
}

void lmi_ctl_detokenize_print(const char *text, size_t n, bool json)
{
	struct lmi_ctl_json j;
	char *hex;

	if (!json) {
		(void)fwrite(text, 1, n, stdout);
		return;
	}
	hex = lmi_alloc(2 * n + 1, 1);
	for (size_t i = 0; hex && i < n; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)text[i]);
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	if (lmi_utf8_valid_prefix(text, n) == n)
		lmi_ctl_json_strn(&j, "text", text, n);
	else
		lmi_ctl_json_null(&j, "text");
	lmi_ctl_json_str(&j, "hex", n ? hex : "");
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
	lmi_free(hex);
}

/* Decodes hexadecimal digits in place; returns the number of bytes. */
static size_t from_hex(char *hex)
{
	size_t n = 0;
	unsigned v;

	for (; sscanf(hex + 2 * n, "%2x", &v) == 1; n++)
		hex[n] = (char)v;
	return n;
}

enum lmd_status lmi_ctl_named_detokenize(struct lmi_ctl *ctl, const lmd_token *ids, size_t n,
					 struct lmd_error *err)
{
	bool json = lmi_arg_flag(&ctl->args, "json");
	json_t *list = json_array(), *reply;
	const json_t *text;
	char *hex;
	enum lmd_status st;

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(list, json_integer(ids[i]));
	st = lmi_ctl_remote_call(ctl, "detokenize",
				 json_pack("{s:s, s:o, s:b}", "model", lmi_arg_pos(&ctl->args, 0),
					   "tokens", list, "special",
					   !lmi_arg_flag(&ctl->args, "no-special")),
				 &reply, err);
	if (st != LMD_OK)
		return st;
	text = json_object_get(reply, "text");
	if (json_is_string(text)) {
		lmi_ctl_detokenize_print(json_string_value(text), json_string_length(text), json);
	} else {
		hex = strdup(json_string_value(json_object_get(text, "hex")));
		if (hex)
			lmi_ctl_detokenize_print(hex, from_hex(hex), json);
		else
			st = lmd_fail(err, LMD_NOMEM, "no memory for a text");
		free(hex);
	}
	json_decref(reply);
	return st;
}
