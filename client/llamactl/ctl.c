/* SPDX-License-Identifier: MIT
 *
 * The program around a command: parse, run, say what failed, choose the exit status.
 * Standard output is checked at the end, so that a full disk is a failure and not a short answer.
 *
 * A command that was stopped by SIGINT or SIGTERM has cleaned up when it returns; the program then
 * exits with 130 or 143, the statuses that a shell reports for these signals.  If the reader of
 * standard output has closed the pipe, it exits with 141 (SIGPIPE) and prints no message.  It never
 * dies by a signal of its own, so that callers can rely on an exit status. */
#include "client/llamactl/ctl.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/model_choice.h"
#include "client/llamactl/signatures.h"
#include "client/llamactl/texts.h"
#include "core/base/alloc.h"
#include "llamad/version.h"

enum lmd_status lmi_ctl_usage(struct lmi_ctl *ctl, struct lmd_error *err, const char *fmt, ...)
{
	char text[LMD_ERROR_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ctl->usage = true;
	return lmd_fail(err, LMD_INVALID, "%s", text);
}

/* Prints the overview of a group, "llamactl debug --help"; the table has no command for it. */
static bool group_help(int argc, char **argv)
{
	size_t n;

	if (argc != 3 || (strcmp(argv[2], "--help") && strcmp(argv[2], "-h")))
		return false;
	n = strlen(argv[1]);
	if (!n || lmi_cli_cmd_find(&lmi_ctl_program, argv[1]))
		return false;
	for (uint32_t i = 0; i < lmi_ctl_program.n_cmds; i++) {
		if (!strncmp(lmi_ctl_program.cmds[i]->name, argv[1], n) &&
		    lmi_ctl_program.cmds[i]->name[n] == ' ') {
			lmi_ctl_help_word(stdout, argv[1]);
			return true;
		}
	}
	return false;
}

static enum lmd_status run_command(struct lmi_ctl *ctl, struct lmd_error *err)
{
	enum lmd_status st = lmi_ctl_set_signatures(ctl, err);

	return st == LMD_OK ? ctl->args.cmd->run(ctl, err) : st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;

	if (lmi_arg_flag(a, "emit-man"))
		lmi_ctl_write_man(stdout);
	else if (lmi_arg_given(a, "emit-completion"))
		lmi_ctl_write_completion(stdout, lmi_arg_str(a, "emit-completion"));
	else if (lmi_arg_given(a, "emit-words"))
		lmi_ctl_write_words(ctl, lmi_arg_str(a, "emit-words"));
	else if (lmi_arg_flag(a, "help") && a->cmd)
		lmi_ctl_help_command(stdout, a->cmd);
	else if (lmi_arg_flag(a, "help"))
		lmi_ctl_help_program(stdout);
	else if (lmi_arg_flag(a, "version"))
		printf("llamactl %s\n", LMD_VERSION);
	else if (a->cmd)
		return run_command(ctl, err);
	else
		return lmi_ctl_usage(ctl, err, "a command is missing; see llamactl --help");
	return LMD_OK;
}

/* Flushes standard output. Reports a write error unless the command failed anyway. */
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

/* Returns true if a write to standard output failed because its reader has closed the pipe. */
static bool stdout_closed(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};

	return ferror(stdout) && poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP));
}

/* Returns the signal that ended the command's work, or 0. */
static int stopping_signal(enum lmd_status st)
{
	if (st != LMD_OK && stdout_closed())
		return SIGPIPE;
	return st == LMD_CANCELLED ? lmi_ctl_interrupt_signal() : 0;
}

static void print_failure(const struct lmi_ctl *ctl, const char *text)
{
	fprintf(stderr, "llamactl%s%s: %s\n", ctl->args.cmd ? " " : "",
		ctl->args.cmd ? ctl->args.cmd->name : "", text);
}

/* Parses the command line. What follows `translate` and is not its --help belongs to another
 * program. */
static enum lmd_status parse(struct lmi_ctl *ctl, int argc, char **argv, struct lmd_error *err)
{
	static char end[] = "--";
	char **words;
	enum lmd_status st;

	if (argc > 2 && (!strcmp(argv[1], "-m") || !strcmp(argv[1], "--model") || !strcmp(argv[1], "-hf")))
		return lmd_fail(err, LMD_INVALID,
				"'%s' is no command; type: llamactl run %s%s, or llamactl serve %s%s",
				argv[1], argv[1][1] == 'h' ? "hf:" : "", argv[2],
				argv[1][1] == 'h' ? "hf:" : "", argv[2]);
	if (argc < 3 || strcmp(argv[1], "translate") != 0 || argv[2][0] == '-')
		return lmi_args_parse(&ctl->args, &lmi_ctl_program, argc, argv, err);
	words = lmi_alloc((size_t)argc + 2, sizeof(*words));
	if (!words)
		return lmd_fail(err, LMD_NOMEM, "no memory for the command line");
	words[0] = argv[0];
	words[1] = argv[1];
	words[2] = end;
	memcpy(words + 3, argv + 2, (size_t)(argc - 2) * sizeof(*words));
	st = lmi_args_parse(&ctl->args, &lmi_ctl_program, argc + 1, words, err);
	lmi_free(words);
	return st;
}

/* Says what to do about the name of a model where the command takes a model's file. */
static void hint_at_list(const struct lmi_ctl *ctl, enum lmd_status st, struct lmd_error *err)
{
	const struct lmi_cli_cmd *c = ctl->args.cmd;
	const char *word = ctl->args.n_pos ? lmi_arg_pos(&ctl->args, 0) : "";
	size_t n = strlen(err->text);

	if (st == LMD_NOTFOUND && *word && c && c->args && !strncmp(c->args, "FILE", 4) && strcmp(c->name, "batch") != 0 &&
	    !strncmp(err->text, word, strlen(word)) && !lmi_ctl_is_file_argument(word))
		(void)snprintf(err->text + n, sizeof(err->text) - n, " (a file is needed: `llamactl list` has those of models)");
}

int lmi_ctl_main(int argc, char **argv)
{
	struct lmi_ctl ctl = {0};
	struct lmd_error err = {0};
	enum lmd_status st = LMD_OK;
	int rc, sig;

	(void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error until the end */
	lmi_ctl_interrupt_exit();
	if (!group_help(argc, argv)) {
		st = parse(&ctl, argc, argv, &err);
		ctl.usage = st == LMD_INVALID;
		if (st == LMD_OK)
			st = run(&ctl, &err);
		hint_at_list(&ctl, st, &err);
	}
	st = close_stdout(st, &err);
	rc = st == LMD_OK ? LMI_CTL_EXIT_DONE
	     : ctl.usage  ? LMI_CTL_EXIT_USAGE
			  : LMI_CTL_EXIT_FAILED;
	sig = stopping_signal(st);
	if (st != LMD_OK && sig != SIGPIPE && *err.text)
		print_failure(&ctl, err.text);
	else if (st != LMD_OK && !sig)
		print_failure(&ctl, lmd_status_text(st));
	lmi_ctl_fini(&ctl);
	return sig ? LMI_CTL_EXIT_SIGNAL + sig : rc;
}
