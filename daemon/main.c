/* SPDX-License-Identifier: MIT
 *
 * llamad: the command line of the daemon. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/cli/completion.h"
#include "core/cli/texts.h"
#include "core/worker/worker.h"
#include "daemon/daemon.h"
#include "daemon/front/front.h"
#include "llamad/version.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static void help(FILE *f, const struct lmi_cli_program *prog)
{
	fputs("Usage: llamad [OPTION]...\n\nRun the llamad daemon, a server for LLM inference.\n", f);
	lmi_cli_help_options(f, "Options", prog->opts, prog->n_opts);
	fputs("\nConfiguration file: " LMI_CONFIG_FILE ".  See llamad(8) and llamad.conf(5).\n"
	      "Exit status: 0 after a normal stop, 1 on errors, 2 on wrong usage.\n",
	      f);
}

static const char *value_kind(const struct lmi_cli_cmd *cmd, const struct lmi_opt *opt,
			      const char *word, uint32_t arg)
{
	(void)cmd;
	(void)opt;
	(void)arg;
	return !strcmp(word, "FILE")  ? "file"
	       : !strcmp(word, "DIR") ? "dir"
	       : !strcmp(word, "URL") ? "=ipc://|tcp://|tls+tcp://"
				      : "none";
}

static void completion(FILE *f, const struct lmi_cli_program *prog, const char *shell)
{
	const struct lmi_cli_completion c = {.prog = prog, .kind = value_kind};

	if (!strcmp(shell, "zsh"))
		lmi_cli_completion_zsh(f, &c);
	else if (!strcmp(shell, "fish"))
		lmi_cli_completion_fish(f, &c);
	else
		lmi_cli_completion_bash(f, &c);
}

static enum lmd_status check_config(const struct lmi_args *args, const struct lmi_config_env *env,
				    struct lmd_error *err)
{
	struct lmi_config *c = NULL;
	enum lmd_status st = lmi_config_read(&c, lmi_arg_str(args, "config"), args, env, err);

	for (uint32_t i = 0; st == LMD_OK && i < c->warnings.n; i++)
		fprintf(stderr, "llamad: warning: %s\n", c->warnings.item[i]);
	if (st == LMD_OK)
		lmi_config_print(stdout, c);
	lmi_config_destroy(c);
	return st;
}

static enum lmd_status run(const struct lmi_args *args, struct lmd_error *err)
{
	struct lmi_config_env env;
	enum lmd_status st;

	lmi_config_env_init(&env);
	if (lmi_arg_flag(args, "emit-man"))
		lmi_daemon_man(stdout);
	else if (lmi_arg_given(args, "emit-completion"))
		completion(stdout, args->prog, lmi_arg_str(args, "emit-completion"));
	else if (lmi_arg_flag(args, "emit-config-man"))
		lmi_config_man(stdout);
	else if (lmi_arg_flag(args, "emit-config"))
		lmi_config_example(stdout);
	else if (lmi_arg_flag(args, "help"))
		help(stdout, args->prog);
	else if (lmi_arg_flag(args, "version"))
		printf("llamad %s\n", LMD_VERSION);
	else if (lmi_arg_flag(args, "check-config"))
		return check_config(args, &env, err);
	else {
		st = lmi_daemon_run(args, &env, err);
		lmi_front_library_fini();
		return st;
	}
	return LMD_OK;
}

static enum lmd_status close_stdout(enum lmd_status st, struct lmd_error *err)
{
	bool bad = ferror(stdout) != 0;

	errno = 0;
	bad = fflush(stdout) != 0 || bad;
	if (!bad || st != LMD_OK)
		return st;
	return lmd_fail(err, LMD_IO, "standard output: %s",
			errno ? strerror(errno) : "write error");
}

int main(int argc, char **argv)
{
	struct lmi_daemon_options options;
	struct lmd_error err = {0};
	struct lmi_args args;
	enum lmd_status st;
	bool usage;
	int status;

	if (lmi_worker_main_if_asked(argc, argv, &status))
		return status;
	umask(077);
	lmi_daemon_options_init(&options);
	st = lmi_args_parse(&args, &options.prog, argc, argv, &err);
	usage = st == LMD_INVALID;
	if (st == LMD_OK)
		st = run(&args, &err);
	st = close_stdout(st, &err);
	lmi_args_fini(&args);
	if (st == LMD_OK)
		return EXIT_DONE;
	fprintf(stderr, "llamad: %s\n", *err.text ? err.text : lmd_status_text(st));
	return usage ? EXIT_USAGE : EXIT_FAILED;
}
