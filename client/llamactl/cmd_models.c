/* SPDX-License-Identifier: MIT
 *
 * The models of a daemon: its model store and the models in memory. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/embedded.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/ps_memory.h"
#include "client/llamactl/remote.h"

static const struct lmi_opt json_opts[] = {LMI_OPT_JSON};

/* ---- rm, alias ---- */

static enum lmd_status rm(struct lmi_ctl *ctl, struct lmd_error *err)
{
	bool own;
	enum lmd_status st = lmi_ctl_models_client(ctl, &own, err);

	if (st != LMD_OK)
		return st;
	return lmi_ctl_remote_run(ctl, "rm", json_pack("{s:s}", "name", lmi_arg_pos(&ctl->args, 0)),
				  err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_rm = {
	.name = "rm",
	.args = "NAME",
	.brief = "Remove a model or an alias from the daemon",
	.doc = "The file itself is kept, unless it was imported and nothing else uses it. A "
	       "model in memory must be unloaded first.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = rm,
};

/* Returns true if s is the name of a model or an alias. */
static bool is_known(const json_t *models, const char *name)
{
	json_t *row, *other;
	const char *s;
	size_t i, k;

	json_array_foreach(models, i, row)
	{
		s = json_string_value(json_object_get(row, "name"));
		if (s && !strcmp(s, name))
			return true;
		json_array_foreach(json_object_get(row, "aliases"), k, other)
		{
			s = json_string_value(other);
			if (s && !strcmp(s, name))
				return true;
		}
	}
	return false;
}

/* After a failure: if the two names were swapped, replaces the error with one that shows the right
 * order. Leaves any other error alone. */
static enum lmd_status name_swapped(struct lmi_ctl *ctl, const char *model, const char *other,
				    enum lmd_status st, struct lmd_error *err)
{
	json_t *reply = NULL;

	if (lmi_ctl_remote_call(ctl, "models", NULL, &reply, NULL) == LMD_OK &&
	    !is_known(json_object_get(reply, "models"), model) &&
	    is_known(json_object_get(reply, "models"), other))
		st = lmd_fail(err, st,
			      "'%.64s' is not known, but '%.64s' is: the model comes first, then "
			      "the new name: llamactl alias %.64s %.64s",
			      model, other, other, model);
	json_decref(reply);
	return st;
}

static enum lmd_status alias(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *model = lmi_arg_pos(&ctl->args, 0), *other = lmi_arg_pos(&ctl->args, 1);
	bool own;
	enum lmd_status st = lmi_ctl_models_client(ctl, &own, err);

	if (st != LMD_OK)
		return st;
	st = lmi_ctl_remote_run(ctl, "alias",
				json_pack("{s:s, s:s}", "alias", other, "model", model), err);
	return st == LMD_OK || st == LMD_DENIED || !ctl->client
		       ? st
		       : name_swapped(ctl, model, other, st, err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_alias = {
	.name = "alias",
	.args = "NAME ALIAS",
	.brief = "Give a model another name",
	.doc = "The model comes first, then its new name, in the order of ln and cp. An existing "
	       "alias is moved to the model NAME. `llamactl rm ALIAS` removes it.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = alias,
};

const struct lmi_cli_cmd lmi_ctl_cmd_cp = {
	.name = "cp",
	.args = "NAME ALIAS",
	.brief = "Give a model another name; the same as alias",
	.doc = "The new name means the same files, which are not copied. Both names end when the "
	       "model NAME is removed.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = alias,
};

/* ---- list, ps ---- */

/* Prints the rows of a list reply, as JSON or as a table. */
static enum lmd_status show_list(struct lmi_ctl *ctl, const char *op, const char *member,
				 const struct lmi_ctl_column *cols, size_t n_cols,
				 struct lmd_error *err)
{
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, op, NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(json_object_get(reply, member));
	else
		lmi_ctl_remote_table(json_object_get(reply, member), cols, n_cols);
	json_decref(reply);
	return LMD_OK;
}

static enum lmd_status list(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column cols[] = {
		{"NAME", "name", LMI_CTL_COL_TEXT},       {"ARCH", "arch", LMI_CTL_COL_TEXT},
		{"SIZE", "size", LMI_CTL_COL_BYTES},      {"STATE", "state", LMI_CTL_COL_STATE},
		{"DIGEST", "digest", LMI_CTL_COL_DIGEST}, {"ALIASES", "aliases", LMI_CTL_COL_TEXT},
		{"PATH", "path", LMI_CTL_COL_PATH},
	};

	bool own;
	enum lmd_status st = lmi_ctl_models_client(ctl, &own, err);

	if (st != LMD_OK)
		return st;
	if (own && isatty(STDERR_FILENO))
		fputs("no daemon answers; these are your own models\n", stderr);
	return show_list(ctl, "models", "models", cols, LMD_LEN(cols), err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_list = {
	.name = "list",
	.brief = "List the models that the daemon knows",
	.doc = "If no daemon answers, the models are those of the user's own store. On a narrow "
	       "terminal PATH is shortened in the middle.\n\nWith --json: a list of "
	       "objects with name, digest, size, arch, path, state and others; the state of a "
	       "model that is not loaded is \"absent\".",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = list,
};

static long long number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* Prints which parts of a model are on which device if there are several, or one in a process of its
 * own. */
static void print_placement(const json_t *model)
{
	const json_t *places = json_object_get(model, "placement");
	char weights[24], kv[24];
	json_t *p;
	size_t i;

	if (json_array_size(places) < 2 && !number(json_array_get(places, 0), "pid"))
		return;
	printf("\n%s\n", text(model, "model"));
	json_array_foreach(places, i, p)
	{
		printf("  %-8s %lld operations", text(p, "device"), number(p, "ops"));
		if (number(p, "first_layer") >= 0)
			printf(" of layers %lld to %lld", number(p, "first_layer"),
			       number(p, "last_layer"));
		printf(", weights %s, KV %s",
		       lmi_ctl_show_bytes(weights, sizeof(weights), number(p, "weight_bytes")),
		       lmi_ctl_show_bytes(kv, sizeof(kv), number(p, "kv_bytes")));
		if (number(p, "pid"))
			printf(", in process %lld", number(p, "pid"));
		printf("\n");
	}
	json_array_foreach(json_object_get(model, "moved"), i, p)
		printf("  %s (%lld) on %s instead of %s: %s\n", text(p, "op"), number(p, "n"),
		       text(p, "to"), text(p, "from"), text(p, "reason"));
}

/* Prints which device chooses tokens. */
static void print_sampling(const json_t *model)
{
	if (*text(model, "sampling"))
		printf("\n%s: tokens are chosen on %s if a request has no other samplers than it knows\n",
		       text(model, "model"), text(model, "sampling"));
}

/* Prints how often running generations waited longer than they should. */
static void print_late_steps(const json_t *model)
{
	if (number(model, "late_steps"))
		printf("\n%s: %lld steps took longer than target_itl because of prompts\n",
		       text(model, "model"), number(model, "late_steps"));
}

/* Prints why a model is not in memory, and when it will be. */
static void print_wait(const json_t *model)
{
	char when[24];

	if (*text(model, "reason"))
		printf("\n%s\n  it is loaded again in %s\n", text(model, "reason"),
		       lmi_ctl_show_ms(when, sizeof(when), number(model, "retry_ms")));
}

static enum lmd_status ps(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column cols[] = {
		{"MODEL", "model", LMI_CTL_COL_TEXT},
		{"STATE", "state", LMI_CTL_COL_STATE},
		{"BACKEND", "backend", LMI_CTL_COL_TEXT},
		{"CONTEXT", "n_ctx", LMI_CTL_COL_COUNT},
		{"SESSIONS", "n_seq", LMI_CTL_COL_COUNT | LMI_CTL_COL_SPARE},
		{"ACTIVE", "active", LMI_CTL_COL_COUNT},
		{"WAITING", "waiting", LMI_CTL_COL_COUNT},
		{"WEIGHTS", "weight_bytes", LMI_CTL_COL_BYTES},
		{"KV RESERVED", "kv_bytes", LMI_CTL_COL_BYTES | LMI_CTL_COL_SPARE},
		{"CACHED", "cached", LMI_CTL_COL_COUNT | LMI_CTL_COL_SPARE},
		{"PINNED", "pinned", LMI_CTL_COL_COUNT | LMI_CTL_COL_SPARE},
		{"IDLE", "idle_ms", LMI_CTL_COL_TIME},
		{"UNLOADS AFTER", "keep_alive_ms", LMI_CTL_COL_TIME},
	};

	json_t *reply;
	enum lmd_status st;
	size_t i;
	json_t *model;

	if (lmi_arg_flag(&ctl->args, "memory"))
		return lmi_ctl_ps_memory(ctl, err);
	st = lmi_ctl_remote_call(ctl, "ps", NULL, &reply, err);
	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(json_object_get(reply, "models"));
	} else {
		lmi_ctl_remote_table(json_object_get(reply, "models"), cols, LMD_LEN(cols));
		json_array_foreach(json_object_get(reply, "models"), i, model)
		{
			print_placement(model);
			print_late_steps(model);
			print_sampling(model);
			print_wait(model);
		}
	}
	json_decref(reply);
	return LMD_OK;
}

static const struct lmi_opt ps_opts[] = {
	{.name = "memory",
	 .type = LMI_OPT_FLAG,
	 .doc = "Show the memory of each model by what it holds: weights, vocabulary, values of steps, the KV cache "
		"and recurrent states, the last two as reserved, in use now, and the most that was in use."},
	LMI_OPT_JSON};

const struct lmi_cli_cmd lmi_ctl_cmd_ps = {
	.name = "ps",
	.brief = "List the models in the daemon's memory",
	.doc = "KV RESERVED is the address space of the KV cache for all sessions at their full "
	       "length; memory is taken as it is used. A narrow terminal gets fewer columns; --json has all.\n\nFor a model on several devices, its layers and memory on each of them follow, and the "
	       "operations that run on another device than their layer, with the reason.\n\nA model whose "
	       "device was lost is listed as failed until it is loaded again, with the time until then.",
	.opts = ps_opts,
	.n_opts = LMD_LEN(ps_opts),
	.run = ps,
};

/* ---- load, unload, reload ---- */

static void give_int(json_t *m, const struct lmi_args *a, const char *opt, const char *member)
{
	if (m && lmi_arg_given(a, opt))
		(void)json_object_set_new(m, member, json_integer(lmi_arg_int(a, opt)));
}

static void give_text(json_t *m, const char *text, const char *member)
{
	if (m && text)
		(void)json_object_set_new(m, member, json_string(text));
}

static void give_str(json_t *m, const struct lmi_args *a, const char *opt, const char *member)
{
	give_text(m, lmi_arg_given(a, opt) ? lmi_arg_str(a, opt) : NULL, member);
}

static enum lmd_status load(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const struct lmi_dtype_cache_names types = lmi_ctl_kv_types(a);
	json_t *m = json_pack("{s:s}", "model", lmi_arg_pos(a, 0));
	enum lmd_status st;

	give_str(m, a, "backend", "backend");
	give_str(m, a, "device", "devices");
	give_str(m, a, "n-gpu-layers", "gpu_layers");
	give_str(m, a, "ngl", "gpu_layers");
	give_str(m, a, "split", "split");
	give_str(m, a, "override-tensor", "override_tensor");
	give_str(m, a, "isolation", "isolation");
	give_int(m, a, "threads", "threads");
	give_int(m, a, "threads-batch", "threads_batch");
	give_int(m, a, "tb", "threads_batch");
	give_str(m, a, "cpus", "cpus");
	give_int(m, a, "ctx", "n_ctx");
	give_int(m, a, "sessions", "n_seq");
	give_text(m, types.both, "kv_type");
	give_text(m, types.k, "kv_type_k");
	give_text(m, types.v, "kv_type_v");
	give_text(m, lmi_ctl_draft_model(a), "draft_model");
	give_str(m, a, "mmproj", "mmproj");
	if (lmi_arg_int(a, "activations"))
		give_str(m, a, "activations", "activations");
	give_int(m, a, "keep-alive", "keep_alive_ms");
	if (lmi_arg_flag(a, "pin") && m)
		(void)json_object_set_new(m, "keep_alive_ms", json_integer(-1));
	st = lmi_ctl_remote_job(ctl, "load", m, err);
	return st == LMD_OK ? lmi_ctl_remote_print_row(ctl, "ps", "model", lmi_arg_pos(a, 0), err) : st;
}

static const struct lmi_opt load_opts[] = {
	{.name = "backend",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .def_text = "the best one available",
	 .doc = "Backend to compute with."},
	LMI_CTL_OPTS_DEVICES,
	{.name = "threads",
	 .letter = 't',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1024,
	 .def_text = "the daemon's choice",
	 .doc = "Number of compute threads."},
	{.name = "threads-batch",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1024,
	 .def_text = "as --threads, or the daemon's choice",
	 .doc = "Number of compute threads for steps of more than 16 tokens, such as prompts. Also "
		"-tb."},
	{.name = "tb", .type = LMI_OPT_INT, .value = "N", .min = 1, .max = 1024},
	{.name = "cpus",
	 .type = LMI_OPT_STR,
	 .value = "LIST|MASK",
	 .def_text = "the daemon's choice",
	 .doc = "Processors that these threads run on, such as 0-7,16 or 0xff."},
	{.name = "ctx",
	 .letter = 'c',
	 .type = LMI_OPT_SIZE,
	 .value = "N",
	 .min = 1,
	 .max = 1 << 30,
	 .def_text = "the trained length, or what memory allows",
	 .doc = "Context length of a session in tokens."},
	{.name = "sessions",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 4096,
	 .def_text = "the daemon's choice",
	 .doc = "Number of sessions that can run at the same time."},
	LMI_CTL_OPTS_KV_TYPE,
	LMI_CTL_OPTS_DRAFT_MODEL,
	{.name = "activations",
	 .type = LMI_OPT_CHOICE,
	 .value = "default|f32|int8|int16",
	 .def = "default",
	 .doc = "Arithmetic for quantised weights: f32 keeps the activations in float, int8 "
		"and int16 round them to 8 or 16 bits, default leaves the choice to the backend."},
	{.name = "keep-alive",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 0,
	 .max = 86400000,
	 .def_text = "the daemon's keep_alive",
	 .doc = "Unload the model after it has been idle for this long."},
	{.name = "pin", .type = LMI_OPT_FLAG, .doc = "Never unload the model automatically."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_load = {
	.name = "load",
	.args = "NAME",
	.brief = "Load a model into the daemon's memory",
	.doc = "Waits until the model is ready, with a progress bar on a terminal. `generate` "
	       "loads a model automatically if it is not in memory. With --json: the model's row "
	       "of `ps`.",
	.opts = load_opts,
	.n_opts = LMD_LEN(load_opts),
	.run = load,
};

static enum lmd_status unload(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0);
	enum lmd_status st = lmi_ctl_remote_job(
		ctl, "unload",
		json_pack("{s:s, s:b}", "model", name, "force", lmi_arg_flag(&ctl->args, "force")),
		err);

	return st == LMD_OK ? lmi_ctl_remote_print_row(ctl, "models", "name", name, err) : st;
}

static const struct lmi_opt unload_opts[] = {
	{.name = "force",
	 .type = LMI_OPT_FLAG,
	 .doc = "Cancel the requests that are running on the model instead of waiting for them."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_unload = {
	.name = "unload",
	.args = "NAME",
	.brief = "Unload a model from the daemon's memory",
	.opts = unload_opts,
	.n_opts = LMD_LEN(unload_opts),
	.run = unload,
};

static void print_keys(const char *what, const json_t *keys)
{
	size_t i;
	json_t *k;

	json_array_foreach(keys, i, k) printf("%s%s", i ? ", " : what, json_string_value(k));
	if (json_array_size(keys))
		putchar('\n');
}

static enum lmd_status reload(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0);
	json_t *reply;
	enum lmd_status st;

	if (name) {
		st = lmi_ctl_remote_job(ctl, "reload", json_pack("{s:s}", "model", name), err);
		return st == LMD_OK ? lmi_ctl_remote_print_row(ctl, "ps", "model", name, err) : st;
	}
	st = lmi_ctl_remote_call(ctl, "config_reload", NULL, &reply, err);
	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(reply);
	} else {
		print_keys("changed: ", json_object_get(reply, "changed"));
		print_keys("after a restart: ", json_object_get(reply, "restart"));
	}
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_reload = {
	.name = "reload",
	.args = "[NAME]",
	.brief = "Reload the configuration, or a model",
	.doc = "Without NAME the daemon reads its configuration again; either all of it takes "
	       "effect or none.\n\nWith NAME the model is loaded again with the current plugins "
	       "and file: running requests finish on the old instance, new ones use the new "
	       "instance.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = reload,
};
