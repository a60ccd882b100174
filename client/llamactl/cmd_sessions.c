/* SPDX-License-Identifier: MIT
 *
 * The saved sessions of the user: what they are, copies, removal, and files to carry them to another
 * daemon. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/lib/client.h"
#include "client/llamactl/remote.h"
#include "client/llamactl/user_state.h"
#include "core/base/alloc.h"
#include "core/base/file.h"

#define PIECE_BYTES (1 << 20)
/* How often an export begins anew because the session was saved meanwhile. */
#define ATTEMPTS    3

static const struct lmi_opt json_opts[] = {LMI_OPT_JSON};

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = strlen(s)};
}

/* ---- list ---- */

static void show_time(json_t *row)
{
	time_t t = (time_t)(json_integer_value(json_object_get(row, "changed_ms")) / 1000);
	char text[32] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%MZ", &tm);
	(void)json_object_set_new(row, "changed_ms", json_string(text));
	if (!json_string_length(json_object_get(row, "model")))
		(void)json_object_set_new(row, "model", json_string("(damaged)"));
}

static enum lmd_status list(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column cols[] = {
		{"NAME", "name", LMI_CTL_COL_TEXT},	  {"MODEL", "model", LMI_CTL_COL_TEXT},
		{"TOKENS", "n_tokens", LMI_CTL_COL_COUNT}, {"SIZE", "bytes", LMI_CTL_COL_BYTES},
		{"SAVED", "changed_ms", LMI_CTL_COL_TEXT},
	};
	json_t *reply, *rows, *row;
	size_t i;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "sessions", NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	rows = json_object_get(reply, "sessions");
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(rows);
	} else {
		json_array_foreach(rows, i, row)
			show_time(row);
		lmi_ctl_remote_table(rows, cols, LMD_LEN(cols));
	}
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_sessions_list = {
	.name = "sessions list",
	.brief = "List your saved sessions",
	.doc = "A session is a conversation that was saved with --session of generate, run or chat. "
	       "Times are UTC.\n\nWith --json: a list of objects with name, model, n_tokens, bytes and "
	       "changed_ms.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = list,
};

/* ---- fork, rm ---- */

static enum lmd_status fork_session(struct lmi_ctl *ctl, struct lmd_error *err)
{
	return lmi_ctl_remote_run(ctl, "session_fork",
				  json_pack("{s:s, s:s}", "name", lmi_arg_pos(&ctl->args, 0), "to",
					    lmi_arg_pos(&ctl->args, 1)),
				  err);
}

const struct lmi_cli_cmd lmi_ctl_cmd_sessions_fork = {
	.name = "sessions fork",
	.args = "SESSION TO",
	.brief = "Copy a session, so that two conversations go on from it",
	.doc = "A session TO that exists is replaced.\n\nWith --json: an object with n_tokens and bytes.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = fork_session,
};

static enum lmd_status rm(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0);
	char messages[PATH_MAX];
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "session_rm", json_pack("{s:s}", "name", name),
						 &reply, err);

	if (st != LMD_OK)
		return st;
	lmi_ctl_user_state_session(messages, name);
	if (*messages)
		(void)unlink(messages); /* most sessions have none */
	if (!json_is_true(json_object_get(reply, "found")))
		st = lmd_fail(err, LMD_NOTFOUND,
			      "there is no session '%.64s'; see llamactl sessions list", name);
	else if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	json_decref(reply);
	return st;
}

const struct lmi_cli_cmd lmi_ctl_cmd_sessions_rm = {
	.name = "sessions rm",
	.args = "SESSION",
	.brief = "Remove a session",
	.doc = "With --json: an object with found.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = rm,
};

/* ---- export ---- */

static void report(struct lmi_ctl *ctl, uint64_t bytes)
{
	json_t *row;

	if (!lmi_arg_flag(&ctl->args, "json"))
		return;
	row = json_pack("{s:I}", "bytes", (json_int_t)bytes);
	lmi_ctl_remote_print(row);
	json_decref(row);
}

/* Writes the whole session. *changed: it was saved meanwhile, so what was written is of no use. */
static enum lmd_status copy_out(struct lmd_client *c, const char *name, struct lmi_new_file *f,
				bool *changed, struct lmd_error *err)
{
	struct lmi_client_answer a;
	struct lmi_wire_request q;
	int64_t bytes = -1;
	enum lmd_status st;

	*changed = false;
	do {
		lmi_wire_request_init(&q, LMI_WIRE_OP_SESSION_READ);
		q.u.session_read.name = str(name);
		q.u.session_read.offset = (int64_t)f->bytes;
		q.u.session_read.max = PIECE_BYTES;
		st = lmi_client_exchange(c, &q, 0, &a, err);
		if (st != LMD_OK)
			return st;
		*changed = bytes >= 0 && a.r.u.session_read.bytes != bytes;
		bytes = a.r.u.session_read.bytes;
		if (!*changed)
			st = lmi_new_file_write(f, a.r.u.session_read.data.ptr,
						a.r.u.session_read.data.len, err);
		if (st == LMD_OK && !a.r.u.session_read.data.len && f->bytes < (uint64_t)bytes)
			*changed = true;
		lmi_client_reply_fini(&a);
	} while (st == LMD_OK && !*changed && f->bytes < (uint64_t)bytes);
	return st;
}

static enum lmd_status export_session(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0), *path = lmi_arg_pos(&ctl->args, 1);
	struct lmi_new_file f;
	struct lmd_client *c;
	bool changed = true;
	uint64_t bytes = 0;
	enum lmd_status st = lmi_ctl_client(ctl, &c, err);

	for (int i = 0; i < ATTEMPTS && st == LMD_OK && changed; i++) {
		st = lmi_new_file_open(&f, path, 0600, err);
		if (st != LMD_OK)
			return st;
		st = copy_out(c, name, &f, &changed, err);
		bytes = f.bytes;
		if (st == LMD_OK && !changed)
			st = lmi_new_file_commit(&f, err);
		else
			lmi_new_file_abort(&f);
	}
	if (st == LMD_OK && !changed)
		report(ctl, bytes);
	if (st == LMD_OK && changed)
		st = lmd_fail(err, LMD_BUSY, "session %.64s was saved again %d times meanwhile", name,
			      ATTEMPTS);
	return st;
}

const struct lmi_cli_cmd lmi_ctl_cmd_sessions_export = {
	.name = "sessions export",
	.args = "SESSION FILE",
	.brief = "Write a session to a file, for another daemon",
	.doc = "Anyone who can read the file can recover the conversation from it.\n\n"
	       "    llamactl sessions export chat chat.session\n"
	       "    llamactl --socket tls+tcp://HOST:7443 sessions import chat chat.session\n\nWith --json: an object with bytes.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = export_session,
};

/* ---- import ---- */

static enum lmd_status copy_in(struct lmd_client *c, const char *name, const struct lmi_file *f,
			       uint8_t *piece, struct lmd_error *err)
{
	struct lmi_client_answer a;
	struct lmi_wire_request q;
	enum lmd_status st = LMD_OK;
	uint64_t at = 0;

	do {
		size_t n = f->bytes - at < PIECE_BYTES ? (size_t)(f->bytes - at) : PIECE_BYTES;

		st = lmi_file_read(f, at, piece, n, err);
		if (st != LMD_OK)
			return st;
		lmi_wire_request_init(&q, LMI_WIRE_OP_SESSION_WRITE);
		q.u.session_write.name = str(name);
		q.u.session_write.offset = (int64_t)at;
		q.u.session_write.data = (struct lmd_str){.ptr = (const char *)piece, .len = n};
		at += n;
		q.u.session_write.last = at == f->bytes;
		st = lmi_client_exchange(c, &q, 0, &a, err);
		if (st == LMD_OK)
			lmi_client_reply_fini(&a);
	} while (st == LMD_OK && at < f->bytes);
	return st;
}

static enum lmd_status import_session(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0), *path = lmi_arg_pos(&ctl->args, 1);
	struct lmd_client *c;
	struct lmi_file f;
	uint8_t *piece;
	enum lmd_status st = lmi_ctl_client(ctl, &c, err);

	if (st == LMD_OK)
		st = lmi_file_open(&f, path, err);
	if (st != LMD_OK)
		return st;
	piece = lmi_alloc(1, PIECE_BYTES);
	st = piece ? copy_in(c, name, &f, piece, err)
		   : lmd_fail(err, LMD_NOMEM, "no memory for a piece of a session");
	if (st == LMD_OK)
		report(ctl, f.bytes);
	lmi_free(piece);
	lmi_file_close(&f);
	return st;
}

const struct lmi_cli_cmd lmi_ctl_cmd_sessions_import = {
	.name = "sessions import",
	.args = "SESSION FILE",
	.brief = "Read a session from a file of sessions export",
	.doc = "The file is checked before it becomes the session. It is used by the model that it was "
	       "saved with, if that is loaded with the same types of keys and values. A session of that "
	       "name is replaced.\n\nWith --json: an object with bytes.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = import_session,
};
