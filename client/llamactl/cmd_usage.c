/* SPDX-License-Identifier: MIT
 *
 * What keys and users have used, per model and day: as a table, CSV or JSON. */
#include <stdio.h>
#include <string.h>

#include "client/llamactl/remote.h"

static const struct lmi_ctl_column columns[] = {
	{"DATE", "date", LMI_CTL_COL_TEXT},
	{"PRINCIPAL", "principal", LMI_CTL_COL_TEXT},
	{"MODEL", "model", LMI_CTL_COL_TEXT},
	{"REQUESTS", "n_request", LMI_CTL_COL_COUNT},
	{"PROMPT", "n_prompt", LMI_CTL_COL_COUNT},
	{"CACHED", "n_cached", LMI_CTL_COL_COUNT},
	{"GENERATED", "n_out", LMI_CTL_COL_COUNT},
	{"QUEUED", "queue_ms", LMI_CTL_COL_TIME},
	{"RUN", "run_ms", LMI_CTL_COL_TIME},
	{"WORK", "work_ms", LMI_CTL_COL_TIME},
};

/* The columns of CSV have the names of GET /v1/usage. */
static const char *const csv_titles[LMD_LEN(columns)] = {
	"date",		 "principal",	     "model",	 "requests", "prompt_tokens",
	"cached_tokens", "generated_tokens", "queue_ms", "run_ms",   "work_ms",
};

/* Writes a field as RFC 4180 has it. */
static void print_field(const char *s)
{
	if (!s[strcspn(s, ",\"\r\n")]) {
		fputs(s, stdout);
		return;
	}
	putchar('"');
	for (; *s; s++) {
		if (*s == '"')
			putchar('"');
		putchar(*s);
	}
	putchar('"');
}

static void print_csv(const json_t *rows)
{
	size_t i;
	json_t *row;

	for (i = 0; i < LMD_LEN(columns); i++)
		printf("%s%s", i ? "," : "", csv_titles[i]);
	puts("");
	json_array_foreach(rows, i, row)
	{
		for (size_t k = 0; k < LMD_LEN(columns); k++) {
			const json_t *v = json_object_get(row, columns[k].member);

			if (k)
				putchar(',');
			if (json_is_string(v))
				print_field(json_string_value(v));
			else
				printf("%" JSON_INTEGER_FORMAT, json_integer_value(v));
		}
		puts("");
	}
}

static json_t *request(const struct lmi_args *a)
{
	const char *key = lmi_arg_str(a, "key");
	bool is_uid = key && !strncmp(key, "uid:", 4);
	json_t *m = json_object();

	if (lmi_arg_str(a, "since"))
		(void)json_object_set_new(m, "since", json_string(lmi_arg_str(a, "since")));
	if (lmi_arg_str(a, "model"))
		(void)json_object_set_new(m, "model", json_string(lmi_arg_str(a, "model")));
	if (key)
		(void)json_object_set_new(m, "principal",
					  json_sprintf("%s%s", is_uid ? "" : "key:", key));
	return m;
}

static enum lmd_status usage(struct lmi_ctl *ctl, struct lmd_error *err)
{
	json_t *reply, *rows;
	enum lmd_status st;

	if (lmi_arg_flag(&ctl->args, "csv") && lmi_arg_flag(&ctl->args, "json"))
		return lmi_ctl_usage(ctl, err, "--csv and --json exclude each other");
	st = lmi_ctl_remote_call(ctl, "usage", request(&ctl->args), &reply, err);
	if (st != LMD_OK)
		return st;
	rows = json_object_get(reply, "usage");
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(rows);
	else if (lmi_arg_flag(&ctl->args, "csv"))
		print_csv(rows);
	else
		lmi_ctl_remote_table(rows, columns, LMD_LEN(columns));
	if (json_is_true(json_object_get(reply, "more")))
		fprintf(stderr,
			"llamactl: there are more rows: give --since, --key or --model\n");
	json_decref(reply);
	return LMD_OK;
}

static const struct lmi_opt opts[] = {
	{.name = "since",
	 .type = LMI_OPT_STR,
	 .value = "DATE",
	 .def_text = "all days that are kept, at most 400",
	 .doc = "Only this day and later ones, as YYYY-MM-DD (UTC)."},
	{.name = "key",
	 .type = LMI_OPT_STR,
	 .value = "LABEL",
	 .doc = "Only the key of that label, or the local user uid:N."},
	{.name = "model", .type = LMI_OPT_STR, .value = "NAME", .doc = "Only this model."},
	{.name = "csv", .type = LMI_OPT_FLAG, .doc = "Print comma-separated values with titles."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_usage = {
	.name = "usage",
	.brief = "Show what keys and users have used",
	.doc = "One row per day (UTC), principal and model: requests, tokens of prompts, those of "
	       "them that were in the prefix cache, generated tokens, the time that requests waited "
	       "and ran, and the processor time for their texts. A principal is key:LABEL, or "
	       "uid:N for a user of this machine. Administrators see all rows, others their own.\n\n"
	       "    llamactl usage --csv --since 2026-11-01 >november.csv\n\nWith --json: a list of "
	       "objects with date, principal, model, n_request, n_prompt, n_cached, n_out, "
	       "queue_ms, run_ms and work_ms.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = usage,
};
