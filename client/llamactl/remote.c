/* SPDX-License-Identifier: MIT
 *
 * Requests to a running llamad, and waiting for its jobs. */
#include "client/llamactl/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/progress.h"

/* How often a wait checks for Ctrl-C. */
#define TICK_MS 200

enum lmd_status lmi_ctl_read_secret(char out[LMI_CTL_SECRET_BYTES], const char *path,
				    struct lmd_error *err)
{
	FILE *f = fopen(path, "re");
	struct stat s;
	size_t n = 0;

	if (!f || fstat(fileno(f), &s) || !S_ISREG(s.st_mode)) {
		enum lmd_status st = lmd_fail(err, LMD_IO, "%.300s: %s", path,
					      f ? "not a regular file" : strerror(errno));

		if (f)
			(void)fclose(f);
		return st;
	}
	if (!(s.st_mode & 077))
		n = fread(out, 1, LMI_CTL_SECRET_BYTES - 1, f);
	(void)fclose(f);
	out[n] = 0;
	out[strcspn(out, "\r\n")] = 0;
	if (s.st_mode & 077)
		return lmd_fail(err, LMD_INVALID,
				"%.300s: other users can read this key (mode %04o): chmod 600 it",
				path, (unsigned)s.st_mode & 07777);
	return *out ? LMD_OK : lmd_fail(err, LMD_INVALID, "%.300s: its first line is empty", path);
}

enum lmd_status lmi_ctl_secret(struct lmi_ctl *ctl, char buf[LMI_CTL_SECRET_BYTES],
			       const char **out, struct lmd_error *err)
{
	const char *file = lmi_arg_str(&ctl->args, "key-file");

	*out = file ? buf : getenv("LLAMAD_KEY");
	return file ? lmi_ctl_read_secret(buf, file, err) : LMD_OK;
}

const char *lmi_ctl_socket(const struct lmi_ctl *ctl)
{
	const char *given = lmi_arg_str(&ctl->args, "socket"), *set = getenv("LLAMAD_SOCKET");

	if (given)
		return given;
	return set && *set ? set : NULL;
}

static enum lmd_status connect_client(struct lmi_ctl *ctl, struct lmd_error *err)
{
	char secret[LMI_CTL_SECRET_BYTES] = "";
	struct lmd_client_opts o = {.struct_size = sizeof(o),
				    .url = lmi_ctl_socket(ctl),
				    .ca_file = lmi_arg_str(&ctl->args, "ca"),
				    .name = "llamactl"};
	enum lmd_status st = lmi_ctl_secret(ctl, secret, &o.key, err);

	if (st == LMD_OK)
		st = lmd_client_open(&ctl->client, &o, err);
	explicit_bzero(secret, sizeof(secret));
	if (st == LMD_DENIED && !o.key) {
		struct lmd_error e = *err;

		(void)lmd_fail(err, st, "%.400s (--key-file FILE, or LLAMAD_KEY)", e.text);
	}
	return st;
}

enum lmd_status lmi_ctl_client(struct lmi_ctl *ctl, struct lmd_client **out, struct lmd_error *err)
{
	enum lmd_status st = ctl->client ? LMD_OK : connect_client(ctl, err);

	if (st == LMD_OK)
		*out = ctl->client;
	return st;
}

bool lmi_ctl_has_daemon(struct lmi_ctl *ctl)
{
	char url[512];
	struct stat s;

	if (lmi_ctl_socket(ctl))
		return true;
	return lmd_client_default_url(url, sizeof(url), NULL) == LMD_OK &&
	       !strncmp(url, "ipc://", 6) && !stat(url + 6, &s) && S_ISSOCK(s.st_mode);
}

/* Returns the members as text, and releases them. */
static enum lmd_status members_text(json_t *own, char **out, struct lmd_error *err)
{
	*out = own ? json_dumps(own, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	json_decref(own);
	return *out ? LMD_OK : lmd_fail(err, LMD_NOMEM, "no memory for a request");
}

enum lmd_status lmi_ctl_remote_call(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				    json_t **reply, struct lmd_error *err)
{
	struct lmd_client *c;
	char *members, *text;
	json_t *j;
	enum lmd_status st = members_text(own_members ? own_members : json_object(), &members, err);

	if (st != LMD_OK)
		return st;
	st = lmi_ctl_client(ctl, &c, err);
	if (st == LMD_OK)
		st = lmd_client_call(c, op, members, &text, err);
	free(members);
	if (st != LMD_OK)
		return st;
	j = json_loads(text, JSON_ALLOW_NUL, NULL);
	lmd_client_free(text);
	if (!j)
		return lmd_fail(err, LMD_NOMEM, "no memory for the reply");
	(void)json_object_del(j, "v");
	(void)json_object_del(j, "op");
	(void)json_object_del(j, "rid");
	*reply = j;
	return LMD_OK;
}

enum lmd_status lmi_ctl_remote_run(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				   struct lmd_error *err)
{
	json_t *reply;
	enum lmd_status st = lmi_ctl_remote_call(ctl, op, own_members, &reply, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	json_decref(reply);
	return LMD_OK;
}

enum lmd_status lmi_ctl_remote_job(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				   struct lmd_error *err)
{
	return lmi_ctl_remote_watch(ctl, op, own_members, NULL, NULL, err);
}

enum lmd_status lmi_ctl_remote_watch(struct lmi_ctl *ctl, const char *op, json_t *own_members,
				     void (*progress)(void *arg, const struct lmd_item *it),
				     void *arg, struct lmd_error *err)
{
	struct lmi_ctl_progress bar;
	struct lmd_client *c;
	struct lmd_stream *s = NULL;
	struct lmd_item it;
	char *members;
	enum lmd_status st = members_text(own_members, &members, err);

	if (st != LMD_OK)
		return st;
	lmi_ctl_interrupt_install();
	st = lmi_ctl_client(ctl, &c, err);
	if (st == LMD_OK)
		st = lmd_client_start(c, op, members, &s, err);
	free(members);
	if (st != LMD_OK)
		return st;
	lmi_ctl_progress_init(&bar);
	for (;;) {
		if (lmi_ctl_interrupted()) {
			st = lmd_fail(err, LMD_CANCELLED, "stopped by a signal");
			break; /* closing the stream cancels it */
		}
		st = lmd_stream_next(s, &it, TICK_MS, err);
		if (st != LMD_OK || it.kind == LMD_ITEM_DONE)
			break;
		if (it.kind != LMD_ITEM_PROGRESS)
			continue;
		lmi_ctl_progress_show(&bar, it.phase, it.done, it.total);
		if (progress)
			progress(arg, &it);
	}
	lmi_ctl_progress_end(&bar);
	lmd_stream_close(s);
	return st;
}

void lmi_ctl_remote_print(const json_t *value)
{
	(void)json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
	putchar('\n');
}

enum lmd_status lmi_ctl_remote_print_row(struct lmi_ctl *ctl, const char *list_op,
					 const char *member, const char *name,
					 struct lmd_error *err)
{
	json_t *reply, *row = NULL, *empty;
	const char *v;
	size_t i;
	enum lmd_status st;

	if (!lmi_arg_flag(&ctl->args, "json"))
		return LMD_OK;
	st = lmi_ctl_remote_call(ctl, list_op, NULL, &reply, err);
	if (st != LMD_OK)
		return st;
	json_array_foreach(json_object_get(reply, "models"), i, row) {
		v = json_string_value(json_object_get(row, member));
		if (v && !strcmp(v, name))
			break;
	}
	empty = json_object();
	lmi_ctl_remote_print(row ? row : empty);
	json_decref(empty);
	json_decref(reply);
	return LMD_OK;
}
