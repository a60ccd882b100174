/* SPDX-License-Identifier: MIT
 *
 * llamactl events: what has happened in the daemon, now and as it comes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/llamactl/remote.h"
#include "core/base/printable.h"

/* How long one request waits for events. */
#define WAIT_MS 10000

static const struct lmi_opt opts[] = {
	{.name = "follow", .type = LMI_OPT_FLAG, .doc = "Go on printing events as they happen, until Ctrl-C."},
	LMI_OPT_JSON,
};

static const char *text_of(const json_t *row, const char *member)
{
	const char *s = json_string_value(json_object_get(row, member));

	return s ? s : "";
}

static int64_t number_of(const json_t *row, const char *member)
{
	return json_integer_value(json_object_get(row, member));
}

/* "2026-01-31 12:00:00Z  end    MODEL  uid:1000  stop, 12 + 30 tokens" */
static void print_row(const json_t *row)
{
	time_t t = (time_t)(number_of(row, "at_ms") / 1000);
	char when[32] = "?", text[200], model[160];
	const char *kind = text_of(row, "kind"), *more = text_of(row, "text");
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%SZ", &tm);
	lmi_printable(model, sizeof(model), text_of(row, "model"), strlen(text_of(row, "model")));
	lmi_printable(text, sizeof(text), more, strlen(more));
	printf("%s  %-11s  %s", when, kind, model);
	if (*text_of(row, "principal"))
		printf("  %s", text_of(row, "principal"));
	if (!strcmp(kind, "queue"))
		printf("  %" PRId64 " before it", number_of(row, "position"));
	if (!strcmp(kind, "start") || !strcmp(kind, "end"))
		printf("  %" PRId64 " + %" PRId64 " tokens", number_of(row, "n_prompt"),
		       number_of(row, "n_out"));
	printf("%s%s\n", *text ? "  " : "", text);
}

static void print_rows(struct lmi_ctl *ctl, const json_t *reply)
{
	json_t *row;
	size_t i;

	if (number_of(reply, "lost"))
		fprintf(stderr, "%" PRId64 " events before these are no longer kept\n",
			number_of(reply, "lost"));
	json_array_foreach(json_object_get(reply, "events"), i, row)
	{
		if (lmi_arg_flag(&ctl->args, "json"))
			lmi_ctl_remote_print(row);
		else
			print_row(row);
	}
	(void)fflush(stdout);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	bool follow = lmi_arg_flag(&ctl->args, "follow"), more = true;
	int64_t after = 0, wait_ms = 0;
	enum lmd_status st = LMD_OK;
	json_t *reply;

	while (st == LMD_OK && more) {
		st = lmi_ctl_remote_call(ctl, "events",
					 json_pack("{s:I, s:I}", "after", (json_int_t)after, "wait_ms",
						   (json_int_t)wait_ms),
					 &reply, err);
		if (st != LMD_OK)
			return st;
		print_rows(ctl, reply);
		more = follow || number_of(reply, "last") > after;
		after = number_of(reply, "last");
		wait_ms = follow ? WAIT_MS : 0;
		json_decref(reply);
	}
	return st;
}

const struct lmi_cli_cmd lmi_ctl_cmd_events = {
	.name = "events",
	.brief = "Show what has happened in the daemon",
	.doc = "Loads, unloads and evictions of models, and generations that waited, began and ended, as far "
	       "as the daemon keeps them: the latest 1024 events since it was started. You see your own "
	       "generations; administrators see all. Times are UTC.\n\nWith --json: one object for each "
	       "event, with n, at_ms, kind, model, principal, id, position, n_prompt, n_out and text.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
