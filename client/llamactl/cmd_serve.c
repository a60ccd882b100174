/* SPDX-License-Identifier: MIT
 *
 * llamactl serve: one command from a model to a server. Prepares the model in the user's own store,
 * and becomes a llamad with HTTP. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/llamactl/embedded.h"
#include "client/llamactl/llamad_program.h"
#include "client/llamactl/model_choice.h"
#include "client/llamactl/own_models.h"
#include "client/llamactl/remote.h"
#include "core/base/file.h"
#include "core/base/printable.h"

#define WORDS_MAX 40

/* The command line of llamad. */
struct words {
	char *v[WORDS_MAX + 1];
	unsigned n;
	bool failed;
};

static void add_word(struct words *w, const char *text)
{
	char *copy = w->n < WORDS_MAX ? strdup(text) : NULL;

	if (copy)
		w->v[w->n++] = copy;
	else
		w->failed = true;
}

static void add_option(struct words *w, const char *name, const char *value)
{
	add_word(w, name);
	add_word(w, value);
}

static void words_fini(struct words *w)
{
	for (unsigned i = 0; i < w->n; i++)
		free(w->v[i]);
}

/* ---- the model ---- */

/* Makes the model ready and writes its name. */
static enum lmd_status prepare_model(struct lmi_ctl *ctl, char name[LMI_HUB_NAME_MAX + 1],
				     struct lmd_error *err)
{
	const char *word = lmi_arg_pos(&ctl->args, 0), *given = lmi_arg_str(&ctl->args, "name");
	bool is_file = word && lmi_ctl_is_file_argument(word), own = false;
	enum lmd_status st = LMD_OK;

	*name = 0;
	if (is_file)
		lmi_hub_file_default_name(name, word);
	else if (word)
		st = lmi_hub_default_name(name, word, err);
	if (given)
		(void)snprintf(name, LMI_HUB_NAME_MAX + 1, "%s", given);
	if (st == LMD_OK)
		st = lmi_ctl_models_client(ctl, &own, err);
	if (st != LMD_OK)
		return st;
	if (!own)
		return lmd_fail(err, LMD_BUSY,
				"a daemon runs already and serves all models of `llamactl list`: give "
				"it an address with `llamad --http ADDR:PORT`, or end it with "
				"`llamactl shutdown`");
	if (!word)
		return LMD_OK;
	return is_file ? lmi_ctl_ensure_file(ctl, word, name, err) : lmi_ctl_ensure_model(ctl, word, name, err);
}

/* ---- llamad ---- */

/* Writes a configuration for what has no option of llamad. */
static enum lmd_status write_config(struct words *w, const char *dir, int64_t parallel,
				    struct lmd_error *err)
{
	char path[PATH_MAX], text[64], shown[160];
	int n = snprintf(text, sizeof(text), "[limits]\nmax_running = %lld\n", (long long)parallel);
	int fd;
	bool bad;

	(void)snprintf(path, sizeof(path), "%s/serve.conf", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bad = fd < 0 || !lmi_file_write_all(fd, text, (size_t)n);
	if (fd >= 0)
		bad = close(fd) || bad;
	if (bad)
		return lmd_fail(err, LMD_IO, "%s: %s",
				lmi_printable_path(shown, sizeof(shown), path), strerror(errno));
	add_option(w, "--config", path);
	return LMD_OK;
}

static void add_address(struct words *w, const struct lmi_args *a)
{
	const char *host = lmi_arg_str(a, "host");
	char text[300];

	if (!strcmp(host, "localhost"))
		host = "127.0.0.1";
	(void)snprintf(text, sizeof(text), strchr(host, ':') && *host != '[' ? "[%s]:%lld" : "%s:%lld",
		       host, (long long)lmi_arg_int(a, "port"));
	add_option(w, "--http", text);
}

static void add_numbers(struct words *w, const struct lmi_args *a)
{
	static const struct {
		const char *name, *option;
	} rows[] = {{"threads", "--threads"},
		    {"threads-batch", "--threads-batch"},
		    {"tb", "--threads-batch"},
		    {"ctx", "--ctx"},
		    {"ctx-size", "--ctx"},
		    {"max-model-len", "--ctx"}};
	char text[32];

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		if (!lmi_arg_given(a, rows[i].name))
			continue;
		(void)snprintf(text, sizeof(text), "%lld", (long long)lmi_arg_int(a, rows[i].name));
		add_option(w, rows[i].option, text);
	}
}

static enum lmd_status build_words(struct lmi_ctl *ctl, struct words *w, const char *name,
				   struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	static const char *const words[] = {"cpus", "cpu-strict", "numa"};
	char llamad[PATH_MAX], option[32];
	const char *parallel = lmi_arg_given(a, "np")		? "np"
			       : lmi_arg_given(a, "max-num-seqs") ? "max-num-seqs"
								  : "parallel";
	const struct lmi_dtype_cache_names types = lmi_ctl_kv_types(a);
	const char *const *dirs;
	uint32_t n = lmi_arg_list(a, "plugin-dir", &dirs);
	enum lmd_status st = LMD_OK;

	lmi_ctl_find_llamad(llamad, sizeof(llamad));
	add_word(w, llamad);
	add_address(w, a);
	add_option(w, "--state-dir", lmi_ctl_own_models_dir(ctl));
	if (*name)
		add_option(w, "--http-model", name);
	add_numbers(w, a);
	if (lmi_arg_str(a, "n-gpu-layers") || lmi_arg_str(a, "ngl"))
		add_option(w, "--gpu-layers", lmi_arg_str(a, lmi_arg_given(a, "ngl") ? "ngl" : "n-gpu-layers"));
	if (lmi_arg_str(a, "device"))
		add_option(w, "--devices", lmi_arg_str(a, "device"));
	for (size_t i = 0; i < LMD_LEN(words); i++) {
		(void)snprintf(option, sizeof(option), "--%s", words[i]);
		if (lmi_arg_given(a, words[i]))
			add_option(w, option, lmi_arg_str(a, words[i]));
	}
	if (types.both)
		add_option(w, "--kv-type", types.both);
	if (types.k)
		add_option(w, "--kv-type-k", types.k);
	if (types.v)
		add_option(w, "--kv-type-v", types.v);
	for (uint32_t i = 0; i < n && i < 8; i++)
		add_option(w, "--plugin-dir", dirs[i]);
	if (lmi_arg_given(a, parallel))
		st = write_config(w, lmi_ctl_own_models_dir(ctl), lmi_arg_int(a, parallel), err);
	if (st == LMD_OK && w->failed)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the command line of llamad");
	return st;
}

static enum lmd_status serve(struct lmi_ctl *ctl, struct lmd_error *err)
{
	char name[LMI_HUB_NAME_MAX + 1];
	struct words w = {.n = 0};
	enum lmd_status st;

	if (!lmi_ctl_has_llamad())
		return lmd_fail(err, LMD_NOTFOUND, "llamad is not installed: it is neither beside llamactl nor in PATH "
						   "(Debian: sudo apt install llamad)");
	st = prepare_model(ctl, name, err);
	if (st == LMD_OK)
		st = build_words(ctl, &w, name, err);
	if (st == LMD_OK) {
		lmi_ctl_own_models_close(ctl);
		fprintf(stderr, "%s%sOpenAI's API is at http://%s/v1, Ollama's at http://%s/api; Ctrl-C "
				"stops\n",
			name, *name ? ": " : "", w.v[2], w.v[2]);
		(void)fflush(NULL);
		(void)execvp(w.v[0], w.v);
		st = lmd_fail(err, LMD_IO, "%s: cannot be run: %s", w.v[0], strerror(errno));
	}
	words_fini(&w);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "host",
	 .type = LMI_OPT_STR,
	 .value = "ADDR",
	 .def = "127.0.0.1",
	 .doc = "Numeric address to listen at. Addresses other than loopback need TLS and a key: "
		"see llamad(8)."},
	{.name = "port",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "8080",
	 .min = 0,
	 .max = 65535,
	 .doc = "Port to listen at; 0 takes a free one."},
	{.name = "parallel",
	 .letter = 'n',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 4096,
	 .def_text = "32, or as many as fit into memory",
	 .doc = "Number of requests that are computed at the same time; others wait. llamad.conf is "
		"then not read."},
	{.name = "name",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .def_text = "made of MODEL",
	 .doc = "What clients call the model."},
	LMI_CTL_OPT_CTX("the trained length, or what memory allows"),
	LMI_CTL_OPTS_THREADS,
	LMI_CTL_OPTS_DEVICE_LAYERS,
	LMI_CTL_OPTS_KV_TYPE,
	/* other spellings, hidden */
	{.name = "np", .type = LMI_OPT_INT, .value = "N", .min = 1, .max = 4096},
	{.name = "max-model-len", .type = LMI_OPT_SIZE, .value = "N", .min = 1, .max = 1 << 30},
	{.name = "max-num-seqs", .type = LMI_OPT_INT, .value = "N", .min = 1, .max = 4096},
	LMI_CTL_OPT_YES,
};

const struct lmi_cli_cmd lmi_ctl_cmd_serve = {
	.name = "serve",
	.args = "[MODEL]",
	.brief = "Serve models over HTTP in one command",
	.doc = "Makes MODEL ready as `run` does: a file, a name of `llamactl list`, a short name or a "
	       "source of downloads. Then becomes llamad in the foreground, with HTTP at --host and "
	       "--port and the store of the user's own daemon, so that all other models of the store "
	       "are served as well. Requests that name no model, or an unknown one, get MODEL. Other "
	       "commands of llamactl find this daemon without --socket. Ctrl-C ends it.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = serve,
};
