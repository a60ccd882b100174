/* SPDX-License-Identifier: MIT
 *
 * Commands about the daemon itself: whether it runs, what it is doing, its counters and its
 * streams. */
#include <stdio.h>
#include <string.h>

#include "client/llamactl/remote.h"

static const struct lmi_opt json_opts[] = {LMI_OPT_JSON};

/* ---- ping, status, stats ---- */

static enum lmd_status ping(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmd_server server = {.struct_size = sizeof(server)};
	struct lmd_client *c;
	char up[24];
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "ping", NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(reply);
	} else if (lmi_ctl_client(ctl, &c, err) == LMD_OK) {
		lmd_client_server(c, &server);
		printf("llamad %s at %s: %s, up %s\n", server.version, server.url,
		       json_string_value(json_object_get(reply, "state")),
		       lmi_ctl_show_ms(up, sizeof(up),
				       json_integer_value(json_object_get(reply, "uptime_ms"))));
	}
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_ping = {
	.name = "ping",
	.brief = "Check that the daemon answers",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = ping,
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static void show_list(const json_t *list)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
		printf("%s%s", i ? ", " : "", json_string_value(v));
	puts(json_array_size(list) ? "" : "none");
}

/* Prints one member per line; the suffix of a number's name tells its unit. */
static void show_members(const json_t *o)
{
	const char *key;
	json_t *v;
	char text[32];

	json_object_foreach((json_t *)o, key, v)
	{
		int name = (int)strcspn(key, "");

		if (ends_with(key, "_ms"))
			name -= 3;
		else if (ends_with(key, "_bytes"))
			name -= 6;
		printf("%-16.*s ", name, key);
		if (json_is_string(v))
			printf("%s\n", json_string_value(v));
		else if (json_is_boolean(v))
			puts(json_is_true(v) ? "yes" : "no");
		else if (json_is_array(v))
			show_list(v);
		else if (ends_with(key, "_ms"))
			printf("%s\n", lmi_ctl_show_ms(text, sizeof(text), json_integer_value(v)));
		else if (!strcmp(key, "memory_limit") && !json_integer_value(v))
			puts("none");
		else if (ends_with(key, "_bytes") || !strcmp(key, "memory_limit"))
			printf("%s\n",
			       lmi_ctl_show_bytes(text, sizeof(text), json_integer_value(v)));
		else
			printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(v));
	}
}

static enum lmd_status status(struct lmi_ctl *ctl, struct lmd_error *err)
{
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "status", NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	else
		show_members(reply);
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_status = {
	.name = "status",
	.brief = "Show what the daemon is doing",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = status,
};

static void show_metric(const json_t *m)
{
	const json_t *labels = json_object_get(m, "labels"), *l;
	size_t i;

	printf("%s", json_string_value(json_object_get(m, "name")));
	json_array_foreach(labels, i, l)
		printf("%s%s=\"%s\"", i ? "," : "{", json_string_value(json_object_get(l, "name")),
		       json_string_value(json_object_get(l, "value")));
	printf("%s %.15g\n", json_array_size(labels) ? "}" : "",
	       json_number_value(json_object_get(m, "value")));
}

static enum lmd_status stats(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0);
	json_t *reply, *m;
	size_t i;
	enum lmd_status st = lmi_ctl_remote_call(
		ctl, "stats", name ? json_pack("{s:s}", "model", name) : NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(json_object_get(reply, "metrics"));
	} else {
		json_array_foreach(json_object_get(reply, "metrics"), i, m) show_metric(m);
	}
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_stats = {
	.name = "stats",
	.args = "[NAME]",
	.brief = "Show the daemon's counters",
	.doc = "Prints one counter per line, in the text format of Prometheus. With NAME only "
	       "those of one model.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = stats,
};

/* ---- streams, cancel ---- */

static enum lmd_status streams(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column cols[] = {
		{"ID", "id", LMI_CTL_COL_TEXT},       {"KIND", "kind", LMI_CTL_COL_TEXT},
		{"MODEL", "model", LMI_CTL_COL_TEXT}, {"STATE", "state", LMI_CTL_COL_TEXT},
		{"ITEMS", "last", LMI_CTL_COL_COUNT}, {"AGE", "age_ms", LMI_CTL_COL_TIME},
	};
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "streams", NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(json_object_get(reply, "streams"));
	else
		lmi_ctl_remote_table(json_object_get(reply, "streams"), cols, LMD_LEN(cols));
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_streams = {
	.name = "streams",
	.brief = "List your streams in the daemon",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = streams,
};

static enum lmd_status cancel(struct lmi_ctl *ctl, struct lmd_error *err)
{
	return lmi_ctl_remote_run(ctl, "cancel",
				  json_pack("{s:s}", "id", lmi_arg_pos(&ctl->args, 0)), err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_cancel = {
	.name = "cancel",
	.args = "ID",
	.brief = "Cancel a stream after the current step",
	.doc = "ID is the id that `llamactl streams` lists or that `generate --json` printed.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = cancel,
};

static enum lmd_status pause_stream(struct lmi_ctl *ctl, struct lmd_error *err)
{
	return lmi_ctl_remote_run(ctl, "pause",
				  json_pack("{s:s}", "id", lmi_arg_pos(&ctl->args, 0)), err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_pause = {
	.name = "pause",
	.args = "ID",
	.brief = "Pause a generation after the current step",
	.doc = "It computes nothing until `llamactl unpause ID`, and then has the answer that it would have "
	       "had. It is cancelled if it stays paused for longer than the limit pause_max, or if nobody "
	       "reads it. ID is the id that `llamactl streams` lists.\n\nWith --json: an object with left_ms, "
	       "the time until it is cancelled.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = pause_stream,
};

static enum lmd_status unpause(struct lmi_ctl *ctl, struct lmd_error *err)
{
	return lmi_ctl_remote_run(ctl, "unpause",
				  json_pack("{s:s}", "id", lmi_arg_pos(&ctl->args, 0)), err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_unpause = {
	.name = "unpause",
	.args = "ID",
	.brief = "Let a paused generation go on",
	.doc = "With --json: an object with was_paused.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = unpause,
};

static enum lmd_status shutdown_daemon(struct lmi_ctl *ctl, struct lmd_error *err)
{
	json_t *m = json_object();

	if (m && lmi_arg_given(&ctl->args, "drain"))
		(void)json_object_set_new(m, "drain_ms",
					  json_integer(lmi_arg_int(&ctl->args, "drain")));
	return lmi_ctl_remote_run(ctl, "shutdown", m, err);
}

static const struct lmi_opt shutdown_opts[] = {
	{.name = "drain",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 0,
	 .max = 3600000,
	 .def_text = "the configured time",
	 .doc = "Time that running requests get to finish; those that take longer are cancelled."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_shutdown = {
	.name = "shutdown",
	.brief = "Stop the daemon after it has finished its work",
	.opts = shutdown_opts,
	.n_opts = LMD_LEN(shutdown_opts),
	.run = shutdown_daemon,
};
