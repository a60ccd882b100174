/* SPDX-License-Identifier: MIT
 *
 * opts.h - describes programs, commands and options, and parses command lines.
 *
 * A program is a table of rows. Parsing, --help, the manual page and the shell completion are all
 * generated from these rows, so that nothing is stated twice. The values of a configuration file
 * are described and parsed by the same rows.
 *
 * A command line is
 *
 *     PROGRAM [COMMON OPTION]... COMMAND [OPTION]... [ARGUMENT]...
 *
 * or, for a program without commands, just its options. A flag of a command may also precede the
 * command ("--json list"). Options and arguments may be mixed; "--" ends the options; "-" alone is
 * an argument. The value of an option is the next word, or follows "=" (long) or the letter (short:
 * -n8), so it may begin with "-". If an option is repeated, the last one counts; a LIST keeps
 * all. */
#ifndef LLAMAD_CORE_CLI_OPTS_H
#define LLAMAD_CORE_CLI_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_ctl; /* passed to the running command; defined by the program */

enum lmi_opt_type {
	LMI_OPT_FLAG,  /* no value */
	LMI_OPT_INT,   /* whole number */
	LMI_OPT_FLOAT, /* decimal number; infinities and NaN are rejected */
	LMI_OPT_SIZE, /* whole number with an optional unit k, M, G, T (powers of 1024): 8G, 128k */
	LMI_OPT_TIME, /* whole number with a unit ms, s, m or h: 500ms, 20s; stored in ms */
	LMI_OPT_STR,  /* any text */
	LMI_OPT_CHOICE, /* one of the words of `value`: "f32|int8" */
	LMI_OPT_LIST	/* any text, may be repeated */
};

struct lmi_opt {
	const char *name; /* without dashes; NULL if there is only a letter */
	char letter;	  /* 0 = none */
	enum lmi_opt_type type;
	const char *value; /* placeholder of the value: "N", "FILE"; "a|b" for CHOICE */
	const char *def;   /* default as the user would type it; NULL = none */
	const char *def_text; /* default in words, printed but not parsed; NULL = none */
	double min, max;   /* INT, FLOAT, SIZE, TIME (in ms): inclusive; both 0 = no limit */
	const char *doc;   /* one or more sentences; NULL hides the option from help and manual */
};

/* The row of --json, identical in every command that has it. */
#define LMI_OPT_JSON                                                                               \
	{                                                                                          \
		.name = "json", .type = LMI_OPT_FLAG, .doc = "Print one JSON value."               \
	}

struct lmi_cli_cmd {
	const char *name; /* "version", or two words: "debug logits" */
	/* Arguments, one word each: "FILE" is required, "[TEXT]" is optional, a last "[X]..." or
	 * "X..." takes any number; NULL = none. */
	const char *args;
	const char *brief; /* one line without a full stop */
	const char *doc;   /* paragraphs separated by an empty line, or NULL */
	const struct lmi_opt *opts;
	uint32_t n_opts;
	/* Runs the command: prints its results on stdout, and nothing else there. Returns LMD_OK
	 * (exit status 0) or an error with its message in err (1); lmi_ctl_usage() turns that into
	 * a usage error (2). */
	enum lmd_status (*run)(struct lmi_ctl *ctl, struct lmd_error *err);
};

/* A word that people try because another program has it. */
struct lmi_cli_hint {
	const char *word, *instead; /* "show", "info NAME" */
};

/* A long option as another program spells it, for commands that have the option `ours`. */
struct lmi_cli_spelling {
	const char *theirs, *ours; /* "temperature", "temp" */
};

struct lmi_cli_program {
	const char *name;
	const struct lmi_cli_cmd *const *cmds; /* NULL: a program without commands and arguments */
	uint32_t n_cmds;
	const struct lmi_opt *opts; /* valid for every command; at least "help" */
	uint32_t n_opts;
	const struct lmi_cli_hint *hints; /* [n_hints] */
	uint32_t n_hints;
	const struct lmi_cli_spelling *spellings; /* [n_spellings] */
	uint32_t n_spellings;
};

/* Returns the command with exactly this name, or NULL. */
const struct lmi_cli_cmd *lmi_cli_cmd_find(const struct lmi_cli_program *prog, const char *name);

struct lmi_opt_value {
	const struct lmi_opt *opt;
	bool given; /* true if the user set it, false for the default */
	int64_t i;  /* INT, SIZE, TIME; FLAG: 1 when given; CHOICE: index of the word */
	double f;
	const char *s;	   /* STR, CHOICE: the text, or NULL */
	const char **list; /* LIST */
	uint32_t n_list;
};

struct lmi_args {
	const struct lmi_cli_program *prog;
	const struct lmi_cli_cmd *cmd; /* NULL: only common options were given */
	struct lmi_opt_value *value; /* options of the command, followed by the common ones */
	uint32_t n_value;
	const char **pos; /* positional arguments */
	uint32_t n_pos;
};

/* Parses argv[1..argc). Strings point into argv. On a usage error returns LMD_INVALID with a
 * message that names the faulty word. Required arguments are checked unless --help was given. Call
 * lmi_args_fini afterwards, even after an error. */
enum lmd_status lmi_args_parse(struct lmi_args *a, const struct lmi_cli_program *prog, int argc,
			       char *const *argv, struct lmd_error *err);
void lmi_args_fini(struct lmi_args *a);

/* Values by long name, or by a one-character string for an option with only a letter. The option
 * must be in the table of the running command or be a common one. */
bool lmi_arg_given(const struct lmi_args *a, const char *name);
bool lmi_arg_flag(const struct lmi_args *a, const char *name);
int64_t lmi_arg_int(const struct lmi_args *a, const char *name); /* INT, SIZE, TIME, CHOICE */
double lmi_arg_float(const struct lmi_args *a, const char *name);
const char *lmi_arg_str(const struct lmi_args *a, const char *name); /* NULL if not given */
uint32_t lmi_arg_list(const struct lmi_args *a, const char *name, const char *const **out);
/* Returns argument i, or NULL. */
const char *lmi_arg_pos(const struct lmi_args *a, uint32_t i);

/* Sets v from text as the user would type it, in the same way as lmi_args_parse. LMD_INVALID with a
 * message about the text ("'x' is not a whole number"); the caller adds the name of the option. */
enum lmd_status lmi_opt_set(struct lmi_opt_value *v, const char *text, struct lmd_error *err);

/* Parses numbers in the same way as lmi_args_parse, for values with their own structure ("1,2,3").
 * Error messages start with `what`. */
enum lmd_status lmi_cli_parse_int(const char *what, const char *text, int64_t *out,
				  struct lmd_error *err);
enum lmd_status lmi_cli_parse_size(const char *what, const char *text, int64_t *out,
				   struct lmd_error *err);
/* The result is in milliseconds. */
enum lmd_status lmi_cli_parse_time(const char *what, const char *text, int64_t *out,
				   struct lmd_error *err);
enum lmd_status lmi_cli_parse_float(const char *what, const char *text, double *out,
				    struct lmd_error *err);

/* Returns the minimum and maximum number of arguments that `args` allows (see struct
 * lmi_cli_cmd). */
void lmi_args_count(const char *args, uint32_t *min, uint32_t *max);

#endif /* LLAMAD_CORE_CLI_OPTS_H */
