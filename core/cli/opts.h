/* SPDX-License-Identifier: MIT
 *
 * opts.h - command lines: what a program, a command and an option are, and how they are
 * parsed.
 *
 * A program is a table of rows.  Parsing, --help, the manual page and the shell completion
 * are all made from them; nothing about a command is said twice.  The values of a
 * configuration file are described and parsed by the same rows.
 *
 * A command line is
 *
 *     PROGRAM [COMMON OPTION]... COMMAND [OPTION]... [ARGUMENT]...
 *
 * or, for a program without commands, its options alone.  A flag of a command may also stand before
 * the command ("--json list").  Options and arguments may be mixed; "--"
 * ends the options; "-" alone is an argument.  An option takes its value as the next word or after
 * "=" (long) or directly (short: -n8), so a value may begin with "-".  Given twice, the later one
 * holds; a LIST keeps all. */
#ifndef LLAMAD_CORE_CLI_OPTS_H
#define LLAMAD_CORE_CLI_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_ctl; /* what a running command gets; the program's own */

enum lmi_opt_type {
	LMI_OPT_FLAG,  /* no value */
	LMI_OPT_INT,   /* whole number */
	LMI_OPT_FLOAT, /* decimal number; infinities and NaN are refused */
	LMI_OPT_SIZE, /* whole number with an optional unit k, M, G, T (powers of 1024): 8G, 128k */
	LMI_OPT_TIME, /* whole number with a unit ms, s, m or h: 500ms, 20s; kept in ms */
	LMI_OPT_STR,  /* any text */
	LMI_OPT_CHOICE, /* one of the words of `value`: "f32|int8" */
	LMI_OPT_LIST	/* any text, may be repeated */
};

struct lmi_opt {
	const char *name; /* without dashes; NULL when there is only a letter */
	char letter;	  /* 0 = none */
	enum lmi_opt_type type;
	const char *value; /* what the value is called: "N", "FILE"; "a|b" for CHOICE */
	const char *def;   /* default as the user would type it; NULL = none */
	const char *def_text; /* default in words, printed but not parsed; NULL = none */
	double min, max;   /* INT, FLOAT, SIZE, TIME (in ms): inclusive; both 0 = no bound */
	const char *doc;   /* one or more sentences; NULL hides the option from all texts */
};

/* The row of --json, the same in every command that has it. */
#define LMI_OPT_JSON                                                                               \
	{                                                                                          \
		.name = "json", .type = LMI_OPT_FLAG, .doc = "Print one JSON value."               \
	}

struct lmi_cmd {
	const char *name; /* "version", or two words: "debug logits" */
	/* Arguments, one word each: "FILE" is needed, "[TEXT]" may be left out, a last
	 * "[X]..." or "X..." takes any number; NULL = none. */
	const char *args;
	const char *brief; /* one line without full stop */
	const char *doc;   /* paragraphs separated by an empty line, or NULL */
	const struct lmi_opt *opts;
	uint32_t n_opts;
	/* Does the work: results on stdout, nothing else there.  Returns LMD_OK (exit status 0)
	 * or a failure with its sentence in err (1); lmi_usage() makes it a usage error (2). */
	enum lmd_status (*run)(struct lmi_ctl *ctl, struct lmd_error *err);
};

struct lmi_program {
	const char *name;
	const struct lmi_cmd *const *cmds; /* NULL: a program without commands and arguments */
	uint32_t n_cmds;
	const struct lmi_opt *opts; /* every command takes them; at least one, "help" */
	uint32_t n_opts;
};

/* The command of that exact name, or NULL. */
const struct lmi_cmd *lmi_cmd_find(const struct lmi_program *prog, const char *name);

struct lmi_opt_value {
	const struct lmi_opt *opt;
	bool given; /* by the user, not by the default */
	int64_t i;  /* INT, SIZE, TIME; FLAG: 1 when given; CHOICE: index of the word */
	double f;
	const char *s;	   /* STR, CHOICE: the text, or NULL */
	const char **list; /* LIST */
	uint32_t n_list;
};

struct lmi_args {
	const struct lmi_program *prog;
	const struct lmi_cmd *cmd;   /* NULL: only common options were given */
	struct lmi_opt_value *value; /* options of the command, then the common ones */
	uint32_t n_value;
	const char **pos; /* arguments */
	uint32_t n_pos;
};

/* Parses argv[1..argc).  Strings stay those of argv.  LMD_INVALID with a sentence that
 * names the word at fault: a usage error.  Needed arguments are checked unless --help
 * was given.  Release with lmi_args_fini, also after a failure. */
enum lmd_status lmi_args_parse(struct lmi_args *a, const struct lmi_program *prog, int argc,
			       char *const *argv, struct lmd_error *err);
void lmi_args_fini(struct lmi_args *a);

/* Values by long name (or by letter as a string of one).  The option must be in the
 * table of the running command or a common one. */
bool lmi_arg_given(const struct lmi_args *a, const char *name);
bool lmi_arg_flag(const struct lmi_args *a, const char *name);
int64_t lmi_arg_int(const struct lmi_args *a, const char *name); /* INT, SIZE, TIME, CHOICE */
double lmi_arg_float(const struct lmi_args *a, const char *name);
const char *lmi_arg_str(const struct lmi_args *a, const char *name); /* NULL: not given */
uint32_t lmi_arg_list(const struct lmi_args *a, const char *name, const char *const **out);
/* Argument i, or NULL. */
const char *lmi_arg_pos(const struct lmi_args *a, uint32_t i);

/* Sets v from a text as the user types it: what parsing does for each option.  LMD_INVALID
 * with a sentence about the text ("'x' is not a whole number"); the caller says whose value
 * it is. */
enum lmd_status lmi_opt_set(struct lmi_opt_value *v, const char *text, struct lmd_error *err);

/* The numbers of `text` as lmi_args_parse reads them, for values with a structure of
 * their own ("1,2,3").  `what` begins the sentence. */
enum lmd_status lmi_parse_int(const char *what, const char *text, int64_t *out,
			      struct lmd_error *err);
enum lmd_status lmi_parse_size(const char *what, const char *text, int64_t *out,
			       struct lmd_error *err);
/* In milliseconds. */
enum lmd_status lmi_parse_time(const char *what, const char *text, int64_t *out,
			       struct lmd_error *err);
enum lmd_status lmi_parse_float(const char *what, const char *text, double *out,
				struct lmd_error *err);

/* Least and greatest number of arguments of `args` (see struct lmi_cmd). */
void lmi_args_count(const char *args, uint32_t *min, uint32_t *max);

#endif /* LLAMAD_CORE_CLI_OPTS_H */
