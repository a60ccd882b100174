/* SPDX-License-Identifier: MIT
 *
 * The audit log of a daemon, read from its state folder: check, print, follow the end. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/default_state.h"
#include "store/audit.h"

static const char *environment(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

static enum lmd_status find_folder(const struct lmi_args *a, char out[PATH_MAX],
				   struct lmd_error *err)
{
	const char *dir = lmi_arg_str(a, "state-dir");
	int n = dir ? snprintf(out, PATH_MAX, "%s", dir)
		    : lmi_default_state_dir(out, PATH_MAX, geteuid(), environment, NULL);

	if (n <= 0 || n >= PATH_MAX)
		return lmd_fail(err, LMD_INVALID, "no state folder is known: give --state-dir DIR");
	return LMD_OK;
}

/* Checks the whole log, with the key of --key, and passes each record on. */
static enum lmd_status read_log(const struct lmi_args *a,
				void (*record)(void *arg, const char *line, size_t n), void *arg,
				struct lmi_store_audit_result *r, struct lmd_error *err)
{
	const char *file = lmi_arg_str(a, "key");
	struct lmi_store_audit_key key;
	char dir[PATH_MAX];
	enum lmd_status st = find_folder(a, dir, err);

	if (st == LMD_OK && file)
		st = lmi_store_audit_key_read(&key, file, err);
	if (st == LMD_OK)
		st = lmi_store_audit_verify(dir, file ? &key : NULL, record, arg, r, err);
	explicit_bzero(&key, sizeof(key));
	return st;
}

/* Reads a log in order to print it, for which no key is needed. */
static enum lmd_status print_log(const struct lmi_args *a,
				 void (*record)(void *arg, const char *line, size_t n), void *arg,
				 struct lmd_error *err)
{
	struct lmi_store_audit_result r;
	enum lmd_status st = read_log(a, record, arg, &r, err);

	if (st == LMD_OK && r.n_unchecked)
		(void)fprintf(stderr, "llamactl: %llu records were not checked, they have a key: give --key FILE\n",
			      (unsigned long long)r.n_unchecked);
	return st;
}

/* Prints a record, or adds it to the list of --json. */
static void put_line(json_t *list, const char *line, size_t n)
{
	if (list) {
		(void)json_array_append_new(list, json_loadb(line, n, 0, NULL));
		return;
	}
	(void)fwrite(line, 1, n, stdout);
	putchar('\n');
}

static json_t *begin_list(const struct lmi_args *a)
{
	return lmi_arg_flag(a, "json") ? json_array() : NULL;
}

static void end_list(json_t *list)
{
	if (list)
		lmi_ctl_remote_print(list);
	json_decref(list);
}

static enum lmd_status verify(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_store_audit_result r;
	enum lmd_status st = read_log(&ctl->args, NULL, NULL, &r, err);
	bool with_key = lmi_arg_str(&ctl->args, "key") != NULL;
	json_t *out;

	if (st != LMD_OK)
		return st;
	if (r.n_unchecked)
		return lmd_fail(err, LMD_INVALID,
				"%llu of %llu records were made with a key and cannot be checked without "
				"it: give --key FILE",
				(unsigned long long)r.n_unchecked, (unsigned long long)r.n);
	if (!lmi_arg_flag(&ctl->args, "json")) {
		printf("%llu records, none changed or missing\n", (unsigned long long)r.n);
		if (with_key && r.n_plain)
			printf("the first %llu were made without a key: they are as they were when the key "
			       "was introduced\n",
			       (unsigned long long)r.n_plain);
		return LMD_OK;
	}
	out = json_pack("{s:I, s:I}", "records", (json_int_t)r.n, "without_key", (json_int_t)r.n_plain);
	lmi_ctl_remote_print(out);
	json_decref(out);
	return LMD_OK;
}

static void on_export(void *arg, const char *line, size_t n)
{
	put_line(arg, line, n);
}

static enum lmd_status export_log(struct lmi_ctl *ctl, struct lmd_error *err)
{
	json_t *list = begin_list(&ctl->args);
	enum lmd_status st = print_log(&ctl->args, on_export, list, err);

	end_list(list);
	return st;
}

/* The latest records, in a ring. */
struct tail {
	uint32_t n_max, n;
	bool no_memory;
	struct line {
		char *text;
		size_t n;
	} *v; /* [n_max] */
};

static void on_tail(void *arg, const char *line, size_t n)
{
	struct tail *t = arg;
	struct line *to = &t->v[t->n++ % t->n_max];

	lmi_free(to->text);
	to->text = lmi_strndup(line, n);
	to->n = n;
	if (!to->text)
		t->no_memory = true;
}

static enum lmd_status tail(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column cols[] = {
		{"RECORD", "seq", LMI_CTL_COL_COUNT},	  {"TIME", "time", LMI_CTL_COL_TEXT},
		{"EVENT", "event", LMI_CTL_COL_TEXT},	  {"PRINCIPAL", "principal", LMI_CTL_COL_TEXT},
		{"SUBJECT", "subject", LMI_CTL_COL_TEXT}, {"DETAIL", "detail", LMI_CTL_COL_TEXT},
	};
	struct tail t = {.n_max = (uint32_t)lmi_arg_int(&ctl->args, "lines")};
	enum lmd_status st;
	json_t *list;

	t.v = lmi_alloc(t.n_max, sizeof(*t.v));
	if (!t.v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u records", t.n_max);
	list = json_array();
	st = print_log(&ctl->args, on_tail, &t, err);
	if (st == LMD_OK && t.no_memory)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the last %u records", t.n_max);
	for (uint32_t i = t.n < t.n_max ? 0 : t.n - t.n_max; i < t.n; i++)
		if (t.v[i % t.n_max].text)
			put_line(list, t.v[i % t.n_max].text, t.v[i % t.n_max].n);
	/* of a damaged log the records before the damage, with the error */
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(list);
	else if (st == LMD_OK || json_array_size(list))
		lmi_ctl_remote_table(list, cols, LMD_LEN(cols));
	json_decref(list);
	for (uint32_t i = 0; i < t.n_max; i++)
		lmi_free(t.v[i].text);
	lmi_free(t.v);
	return st;
}

#define KEY                                                                                        \
	{.name = "key",                                                                            \
	 .type = LMI_OPT_STR,                                                                      \
	 .value = "FILE",                                                                          \
	 .def_text = "none",                                                                       \
	 .doc = "Key of the log: the file of the daemon's configuration key audit_key."}
#define STATE_DIR                                                                                  \
	{.name = "state-dir",                                                                      \
	 .type = LMI_OPT_STR,                                                                      \
	 .value = "DIR",                                                                           \
	 .def_text = "the user's own",                                                             \
	 .doc = "State folder, such as /var/lib/llamad for the service."}

static const struct lmi_opt verify_opts[] = {STATE_DIR, KEY, LMI_OPT_JSON};
static const struct lmi_opt export_opts[] = {STATE_DIR, KEY, LMI_OPT_JSON};
static const struct lmi_opt tail_opts[] = {
	{.name = "lines",
	 .letter = 'n',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "10",
	 .min = 1,
	 .max = 100000,
	 .doc = "Number of records."},
	STATE_DIR,
	KEY,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_audit_verify = {
	.name = "audit verify",
	.brief = "Check that no record of the audit log was changed",
	.doc = "Reads the audit log in the state folder: each record has the hash of the one before, "
	       "so that a record that was changed, removed, added or moved is found; the first one is "
	       "named, and the exit status is 1.\n\nWithout a key, a user who can write the folder can make a "
	       "whole new log: set audit_key in llamad.conf(5) and check with --key, or keep copies "
	       "elsewhere (audit export).\n\nWith --json: an object with records, their number, and "
	       "without_key, the number of the first ones that have no key.",
	.opts = verify_opts,
	.n_opts = LMD_LEN(verify_opts),
	.run = verify,
};

const struct lmi_cli_cmd lmi_ctl_cmd_audit_export = {
	.name = "audit export",
	.brief = "Print the audit log",
	.doc = "Prints all records as lines of JSON, and checks them as audit verify does: keys, models, "
	       "plugins and settings that were changed, by whom; models loaded and unloaded; failed "
	       "logins, used-up quotas, start and stop. Prompts and secrets are never recorded.\n\n"
	       "    llamactl audit export >audit-2026-11.jsonl\n\nWith --json: a list of the records.",
	.opts = export_opts,
	.n_opts = LMD_LEN(export_opts),
	.run = export_log,
};

const struct lmi_cli_cmd lmi_ctl_cmd_audit_tail = {
	.name = "audit tail",
	.brief = "Show the latest records of the audit log",
	.doc = "Prints a table without the hashes, and checks the records as audit verify does.\n\nWith "
	       "--json: a list of the records.",
	.opts = tail_opts,
	.n_opts = LMD_LEN(tail_opts),
	.run = tail,
};
