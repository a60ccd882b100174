/* SPDX-License-Identifier: MIT
 *
 * Keys for clients on other machines. The secret is created here, or read from a file, and leaves this program
 * only through standard output: the daemon gets just its digest. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "client/llamactl/remote.h"
#include "client/llamactl/state_folder.h"
#include "core/base/comma_list.h"
#include "core/base/sha256.h"
#include "store/store.h"

#define SECRET_BYTES 32u
/* The prefix "lmk-" makes leaked keys easy to find. */
#define SECRET_SIZE (4 + 2 * SECRET_BYTES + 1)
/* Lengths of a secret that was chosen by the operator; the daemon takes no longer ones. */
#define OWN_SECRET_MIN 8u
#define OWN_SECRET_MAX 256u

static const struct lmi_opt json_opts[] = {LMI_OPT_JSON};

static enum lmd_status make_secret(char out[SECRET_SIZE], struct lmd_error *err)
{
	uint8_t b[SECRET_BYTES];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return lmd_fail(err, LMD_IO, "getrandom: %s", strerror(errno));
	memcpy(out, "lmk-", 4);
	for (size_t i = 0; i < sizeof(b); i++)
		(void)snprintf(out + 4 + 2 * i, 3, "%02x", b[i]);
	explicit_bzero(b, sizeof(b));
	return LMD_OK;
}

/* Reads the secret that the operator chose; it has to fit into a header field of HTTP. */
static enum lmd_status read_own_secret(char out[LMI_CTL_SECRET_BYTES], const char *path,
				       struct lmd_error *err)
{
	enum lmd_status st = lmi_ctl_read_secret(out, path, err);
	size_t n = st == LMD_OK ? strlen(out) : 0;

	if (st != LMD_OK)
		return st;
	for (size_t i = 0; i < n; i++)
		if (out[i] <= ' ' || out[i] > '~')
			return lmd_fail(err, LMD_INVALID,
					"%.300s: character %zu of the secret is not a printable character "
					"of ASCII, or is a space",
					path, i + 1);
	if (n < OWN_SECRET_MIN || n > OWN_SECRET_MAX)
		return lmd_fail(err, LMD_INVALID,
				"%.300s: the secret has %zu characters, allowed are %u to %u", path, n,
				OWN_SECRET_MIN, OWN_SECRET_MAX);
	return LMD_OK;
}

static enum lmd_status digest_of(char out[LMI_SHA256_HEX], const char *secret,
				 struct lmd_error *err)
{
	uint8_t digest[LMI_SHA256_BYTES];
	struct lmi_sha256 h;

	if (!lmi_sha256_init(&h))
		return lmd_fail(err, LMD_NOMEM, "no memory for a digest");
	lmi_sha256_update(&h, secret, strlen(secret));
	if (!lmi_sha256_final(&h, digest))
		return lmd_fail(err, LMD_INTERNAL, "SHA-256 failed");
	lmi_sha256_hex(out, digest);
	return LMD_OK;
}

static int64_t wall_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A secret that the operator chose is not shown. */
static void show_key(const struct lmi_args *a, const char *secret, json_t *row)
{
	const bool own = lmi_arg_given(a, "secret-file");

	if (lmi_arg_flag(a, "json")) {
		if (!own)
			(void)json_object_set_new(row, "secret", json_string(secret));
		lmi_ctl_remote_print(row);
		return;
	}
	if (own)
		return;
	puts(secret);
	if (isatty(STDOUT_FILENO))
		fputs("Keep this secret: it is stored nowhere and cannot be shown again.\n",
		      stderr);
}

/* ---- quotas ---- */

/* none, all: what holds without the options, in words */
#define QUOTA_OPTS(none, all)                                                                       \
	{.name = "rpm",                                                                            \
	 .type = LMI_OPT_INT,                                                                      \
	 .value = "N",                                                                             \
	 .min = 0,                                                                                 \
	 .max = LMI_STORE_QUOTA_MAX,                                                               \
	 .def_text = none,                                                                         \
	 .doc = "Quota: at most N requests in a minute; 0 = any number."},                         \
		{.name = "tpm",                                                                    \
		 .type = LMI_OPT_INT,                                                              \
		 .value = "N",                                                                     \
		 .min = 0,                                                                         \
		 .max = LMI_STORE_QUOTA_MAX,                                                       \
		 .def_text = none,                                                                 \
		 .doc = "Quota: at most N tokens of prompts and answers in a minute; 0 = any "     \
			"number. A request that has begun runs to its end."},                      \
		{.name = "tpd",                                                                    \
		 .type = LMI_OPT_INT,                                                              \
		 .value = "N",                                                                     \
		 .min = 0,                                                                         \
		 .max = LMI_STORE_QUOTA_MAX,                                                       \
		 .def_text = none,                                                                 \
		 .doc = "Quota: at most N tokens in a day (UTC); 0 = any number."},                \
		{.name = "models",                                                                 \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "NAMES",                                                                 \
		 .def_text = all,                                                                  \
		 .doc = "Names or aliases of the models that the key may use, separated by commas; "\
			"an empty text = all. For its clients no others exist."}

/* Writes the names of --models as an array, and with commas only to `joined`. */
static enum lmd_status model_names(const char *list, json_t *names,
				   char joined[LMI_STORE_QUOTA_MODELS_MAX + 1], struct lmd_error *err)
{
	const char *rest = lmi_comma_list_begin(list);
	struct lmd_str word;
	size_t n = 0;

	if (strlen(list) > LMI_STORE_QUOTA_MODELS_MAX)
		return lmd_fail(err, LMD_INVALID, "--models: %zu bytes exceed the limit of %d",
				strlen(list), LMI_STORE_QUOTA_MODELS_MAX);
	joined[0] = 0;
	while (lmi_comma_list_next(&rest, &word)) {
		if (!word.len)
			return lmd_fail(err, LMD_INVALID, "--models '%.200s': a name is empty", list);
		if (json_array_append_new(names, json_stringn(word.ptr, word.len)))
			return lmd_fail(err, LMD_INVALID, "--models is not valid UTF-8");
		n += (size_t)snprintf(joined + n, LMI_STORE_QUOTA_MODELS_MAX + 1 - n, "%s%.*s",
				      n ? "," : "", (int)word.len, word.ptr);
	}
	return LMD_OK;
}

/* Adds the options of a quota that were given. */
static enum lmd_status put_quota(const struct lmi_args *a, json_t *row,
				 char models[LMI_STORE_QUOTA_MODELS_MAX + 1], struct lmd_error *err)
{
	static const char *const numbers[] = {"rpm", "tpm", "tpd"};
	json_t *names;

	models[0] = 0;

	for (size_t i = 0; i < LMD_LEN(numbers); i++)
		if (lmi_arg_given(a, numbers[i]))
			(void)json_object_set_new(row, numbers[i],
						  json_integer(lmi_arg_int(a, numbers[i])));
	if (!lmi_arg_given(a, "models"))
		return LMD_OK;
	names = json_array();
	(void)json_object_set_new(row, "models", names);
	return model_names(lmi_arg_str(a, "models"), names, models, err);
}

/* Adds the key to the registry of a daemon that does not run. */
static enum lmd_status add_to_folder(const struct lmi_args *a, const char *digest, int64_t expires_ms,
				     const char *models, struct lmd_error *err)
{
	const char *dir = lmi_arg_str(a, "state-dir"), *label = lmi_arg_pos(a, 0);
	const int64_t now_ns = wall_ms() * 1000000;
	struct lmi_store_key key = {.label = label,
				    .role = lmi_arg_int(a, "role") ? LMI_STORE_ADMIN
								   : LMI_STORE_USER,
				    .created_at = now_ns,
				    .expires_at = expires_ms * 1000000,
				    .quota = {.models = models}};
	struct lmi_store *store = NULL;
	enum lmd_status st = lmi_ctl_open_state_folder(&store, dir, false, err);

	key.quota.rpm = lmi_arg_given(a, "rpm") ? (uint64_t)lmi_arg_int(a, "rpm") : 0;
	key.quota.tpm = lmi_arg_given(a, "tpm") ? (uint64_t)lmi_arg_int(a, "tpm") : 0;
	key.quota.tpd = lmi_arg_given(a, "tpd") ? (uint64_t)lmi_arg_int(a, "tpd") : 0;
	memcpy(key.hash, digest, sizeof(key.hash));
	if (st == LMD_BUSY)
		return lmd_fail(err, st, "a daemon uses %.200s: leave --state-dir out", dir);
	if (st == LMD_NOTFOUND)
		return lmd_fail(err, st,
				"%.150s: No such file or directory; the service creates it at its first "
				"start, or: sudo install -d -m 700 -o llamad -g llamad %.150s",
				dir, dir);
	if (st == LMD_OK)
		st = lmi_store_quota_models_check(store, models, err);
	if (st == LMD_OK)
		st = lmi_store_key_add(store, &key, err);
	lmi_store_close(store);
	return st;
}

static enum lmd_status add(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	int64_t expires = lmi_arg_given(a, "expires") ? wall_ms() + lmi_arg_int(a, "expires") : 0;
	const char *file = lmi_arg_str(a, "secret-file");
	char secret[LMI_CTL_SECRET_BYTES], digest[LMI_SHA256_HEX];
	char models[LMI_STORE_QUOTA_MODELS_MAX + 1];
	enum lmd_status st = file ? read_own_secret(secret, file, err) : make_secret(secret, err);
	json_t *row = NULL, *reply = NULL;

	if (st == LMD_OK)
		st = digest_of(digest, secret, err);
	if (st == LMD_OK) {
		row = json_pack("{s:s, s:s, s:I}", "label", lmi_arg_pos(a, 0), "role",
				lmi_arg_str(a, "role"), "expires_ms", (json_int_t)expires);
		if (!row)
			st = lmd_fail(err, LMD_INVALID, "LABEL is not valid UTF-8");
	}
	if (st == LMD_OK)
		st = put_quota(a, row, models, err);
	if (st == LMD_OK && lmi_arg_str(a, "state-dir")) {
		st = add_to_folder(a, digest, expires, models, err);
	} else if (st == LMD_OK) {
		json_t *m = json_copy(row);

		if (m)
			(void)json_object_set_new(m, "digest", json_string(digest));
		st = lmi_ctl_remote_call(ctl, "key_add", m, &reply, err);
	}
	if (st == LMD_OK)
		show_key(a, secret, row);
	explicit_bzero(secret, sizeof(secret));
	json_decref(reply);
	json_decref(row);
	return st;
}

static const struct lmi_opt add_opts[] = {
	{.name = "role",
	 .type = LMI_OPT_CHOICE,
	 .value = "user|admin",
	 .def = "user",
	 .doc = "What clients with this key may do: use models by name (user), or also manage "
		"models and the daemon (admin). Keys themselves are managed only through the "
		"unix socket."},
	{.name = "expires",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 1000,
	 .max = 87600.0 * 3600000,
	 .def_text = "until it is removed",
	 .doc = "Lifetime of the key from now on, such as 720h."},
	QUOTA_OPTS("any number", "all"),
	{.name = "secret-file",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .def_text = "a random secret",
	 .doc = "Take the secret from the first line of a file, for clients that have one already: 8 to 256 "
		"printable characters of ASCII without spaces. Other users must not be able to read the "
		"file."},
	{.name = "state-dir",
	 .type = LMI_OPT_STR,
	 .value = "DIR",
	 .doc = "Write the key into the state folder of a daemon that does not run, such as "
		"/var/lib/llamad: for the first key of a daemon that listens on the network. As root "
		"this works as the folder's owner."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_key_add = {
	.name = "key add",
	.args = "LABEL",
	.brief = "Create a key for clients on other machines",
	.doc = "Prints the secret of the key once; the daemon stores only its digest. A client "
	       "presents it with --key-file or LLAMAD_KEY.\n\n    umask 077; llamactl key add "
	       "laptop >laptop.key\n\nWith --json: an object with label, role, expires_ms, "
	       "secret unless it came from a file, and the quota as it was given.",
	.opts = add_opts,
	.n_opts = LMD_LEN(add_opts),
	.run = add,
};

static enum lmd_status set(struct lmi_ctl *ctl, struct lmd_error *err)
{
	json_t *row = json_pack("{s:s}", "label", lmi_arg_pos(&ctl->args, 0));
	char models[LMI_STORE_QUOTA_MODELS_MAX + 1];
	enum lmd_status st;

	if (!row)
		return lmd_fail(err, LMD_INVALID, "LABEL is not valid UTF-8");
	st = put_quota(&ctl->args, row, models, err);
	if (st == LMD_OK && json_object_size(row) < 2)
		st = lmi_ctl_usage(ctl, err, "nothing to set: give --rpm, --tpm, --tpd or --models");
	if (st != LMD_OK) {
		json_decref(row);
		return st;
	}
	return lmi_ctl_remote_run(ctl, "key_set", row, err);
}

static const struct lmi_opt set_opts[] = {
	QUOTA_OPTS("unchanged", "unchanged"),
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_key_set = {
	.name = "key set",
	.args = "LABEL",
	.brief = "Change the quota of a key",
	.doc = "Takes effect at once, also for clients that are connected. Requests over the quota "
	       "fail as busy, over HTTP with 429 and Retry-After. What a key has used is shown by "
	       "llamactl usage.\n\n    llamactl key set laptop --rpm 60 --tpd 1000000 --models "
	       "smollm2,qwen3\n\nWith --json: an empty object.",
	.opts = set_opts,
	.n_opts = LMD_LEN(set_opts),
	.run = set,
};

/* Replaces a time member with readable text. */
static void show_time(json_t *row, const char *member, const char *none)
{
	int64_t ms = json_integer_value(json_object_get(row, member));
	time_t t = (time_t)(ms / 1000);
	char text[32] = "?";
	struct tm tm;

	if (ms && gmtime_r(&t, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%MZ", &tm);
	(void)json_object_set_new(row, member, json_string(ms ? text : none));
}

/* Replaces the members of the quota with readable text. */
static void show_quota(json_t *row)
{
	static const char *const numbers[] = {"rpm", "tpm", "tpd"};

	for (size_t i = 0; i < LMD_LEN(numbers); i++)
		if (!json_integer_value(json_object_get(row, numbers[i])))
			(void)json_object_set_new(row, numbers[i], json_string("-"));
	if (!json_array_size(json_object_get(row, "models")))
		(void)json_object_set_new(row, "models", json_string("all"));
}

static enum lmd_status list(struct lmi_ctl *ctl, struct lmd_error *err)
{
	static const struct lmi_ctl_column cols[] = {
		{"LABEL", "label", LMI_CTL_COL_TEXT},
		{"ROLE", "role", LMI_CTL_COL_TEXT},
		{"CREATED", "created_ms", LMI_CTL_COL_TEXT},
		{"EXPIRES", "expires_ms", LMI_CTL_COL_TEXT},
		{"STATE", "state", LMI_CTL_COL_TEXT},
		{"RPM", "rpm", LMI_CTL_COL_TEXT},
		{"TPM", "tpm", LMI_CTL_COL_TEXT},
		{"TPD", "tpd", LMI_CTL_COL_TEXT},
		{"MODELS", "models", LMI_CTL_COL_TEXT},
	};
	json_t *reply, *rows, *row;
	size_t i;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "keys", NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	rows = json_object_get(reply, "keys");
	if (lmi_arg_flag(&ctl->args, "json")) {
		lmi_ctl_remote_print(rows);
	} else {
		json_array_foreach(rows, i, row)
		{
			bool over = json_is_true(json_object_get(row, "expired"));

			(void)json_object_set_new(row, "state",
						  json_string(over ? "expired" : "good"));
			show_time(row, "created_ms", "-");
			show_time(row, "expires_ms", "never");
			show_quota(row);
		}
		lmi_ctl_remote_table(rows, cols, LMD_LEN(cols));
	}
	json_decref(reply);
	return LMD_OK;
}

const struct lmi_cli_cmd lmi_ctl_cmd_key_list = {
	.name = "key list",
	.brief = "List the keys of clients on other machines",
	.doc = "Times are UTC. With --json: a list of objects with label, role, created_ms, "
	       "expires_ms, expired, rpm, tpm, tpd and models.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = list,
};

static enum lmd_status rm(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *label = lmi_arg_pos(&ctl->args, 0);
	json_t *reply;
	enum lmd_status st =
		lmi_ctl_remote_call(ctl, "key_rm", json_pack("{s:s}", "label", label), &reply, err);

	if (st != LMD_OK)
		return st;
	if (!json_is_true(json_object_get(reply, "found")))
		st = lmd_fail(err, LMD_NOTFOUND, "there is no key '%.64s'; see llamactl key list",
			      label);
	else if (lmi_arg_flag(&ctl->args, "json"))
		lmi_ctl_remote_print(reply);
	json_decref(reply);
	return st;
}

const struct lmi_cli_cmd lmi_ctl_cmd_key_rm = {
	.name = "key rm",
	.args = "LABEL",
	.brief = "Remove a key",
	.doc = "Clients with this key are rejected from now on. Those that are connected are "
	       "disconnected and their requests cancelled.",
	.opts = json_opts,
	.n_opts = LMD_LEN(json_opts),
	.run = rm,
};
