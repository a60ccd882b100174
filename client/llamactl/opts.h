/* SPDX-License-Identifier: MIT
 *
 * opts.h - the command line: what a command and an option are, and how they are parsed.
 *
 * A command is one `const struct lmi_cmd lmi_cmd_NAME` in cmd_NAME.c and one line in
 * table.c.  Parsing, --help, the manual page and the shell completion are all made from
 * these rows; nothing about a command is said twice.
 *
 * A command line is
 *
 *     llamactl [COMMON OPTION]... COMMAND [OPTION]... [ARGUMENT]...
 *
 * Options and arguments may be mixed; "--" ends the options; "-" alone is an argument.  An
 * option takes its value as the next word or after "=" (long) or directly (short: -n8), so
 * a value may begin with "-".  Given twice, the later one holds; a LIST keeps all. */
#ifndef LLAMAD_LLAMACTL_OPTS_H
#define LLAMAD_LLAMACTL_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"

struct lmi_ctl;

enum lmi_opt_type {
	LMI_OPT_FLAG,   /* no value */
	LMI_OPT_INT,    /* whole number */
	LMI_OPT_FLOAT,  /* decimal number; infinities and NaN are refused */
	LMI_OPT_SIZE,   /* whole number with an optional unit k, M, G, T (powers of 1024): 8G, 128k */
	LMI_OPT_STR,    /* any text */
	LMI_OPT_CHOICE, /* one of the words of `value`: "f32|int8" */
	LMI_OPT_LIST    /* any text, may be repeated */
};

struct lmi_opt {
	const char *name;       /* without dashes; NULL when there is only a letter */
	char letter;            /* 0 = none */
	enum lmi_opt_type type;
	const char *value;      /* what the value is called: "N", "FILE"; "a|b" for CHOICE */
	const char *def;        /* default as the user would type it; NULL = none */
	double min, max;        /* INT, FLOAT, SIZE: inclusive; both 0 = no bound */
	const char *doc;        /* one or more sentences; NULL hides the option from all texts */
};

/* The row of --json, the same in every command that has it. */
#define LMI_OPT_JSON                                                                               \
	{                                                                                          \
		.name = "json", .type = LMI_OPT_FLAG, .doc = "Print one JSON value."               \
	}

struct lmi_cmd {
	const char *name;       /* "version", or two words: "debug logits" */
	/* Arguments, one word each: "FILE" is needed, "[TEXT]" may be left out, a last
	 * "[X]..." or "X..." takes any number; NULL = none. */
	const char *args;
	const char *brief;      /* one line without full stop */
	const char *doc;        /* paragraphs separated by an empty line, or NULL */
	const struct lmi_opt *opts;
	uint32_t n_opts;
	/* Does the work: results on stdout, nothing else there.  Returns LMD_OK (exit status 0)
	 * or a failure with its sentence in err (1); lmi_usage() makes it a usage error (2). */
	enum lmd_status (*run)(struct lmi_ctl *ctl, struct lmd_error *err);
};

/* The table: table.c. */
extern const struct lmi_cmd *const lmi_cmds[];
extern const uint32_t lmi_n_cmds;
/* Options that every command takes. */
extern const struct lmi_opt lmi_common_opts[];
extern const uint32_t lmi_n_common_opts;

/* The command of that exact name, or NULL. */
const struct lmi_cmd *lmi_cmd_find(const char *name);

struct lmi_opt_value {
	const struct lmi_opt *opt;
	bool given;             /* by the user, not by the default */
	int64_t i;              /* INT, SIZE; FLAG: 1 when given; CHOICE: index of the word */
	double f;
	const char *s;          /* STR, CHOICE: the text, or NULL */
	const char **list;      /* LIST */
	uint32_t n_list;
};

struct lmi_args {
	const struct lmi_cmd *cmd;   /* NULL: only common options were given */
	struct lmi_opt_value *value; /* options of the command, then the common ones */
	uint32_t n_value;
	const char **pos;            /* arguments */
	uint32_t n_pos;
};

/* Parses argv[1..argc).  Strings stay those of argv.  LMD_INVALID with a sentence that
 * names the word at fault: a usage error.  Needed arguments are checked unless --help
 * was given.  Release with lmi_args_fini, also after a failure. */
enum lmd_status lmi_args_parse(struct lmi_args *a, int argc, char *const *argv,
			       struct lmd_error *err);
void lmi_args_fini(struct lmi_args *a);

/* Values by long name (or by letter as a string of one).  The option must be in the
 * table of the running command or a common one. */
bool lmi_arg_given(const struct lmi_args *a, const char *name);
bool lmi_arg_flag(const struct lmi_args *a, const char *name);
int64_t lmi_arg_int(const struct lmi_args *a, const char *name);  /* INT, SIZE, CHOICE */
double lmi_arg_float(const struct lmi_args *a, const char *name);
const char *lmi_arg_str(const struct lmi_args *a, const char *name); /* NULL: not given */
uint32_t lmi_arg_list(const struct lmi_args *a, const char *name, const char *const **out);
/* Argument i, or NULL. */
const char *lmi_arg_pos(const struct lmi_args *a, uint32_t i);

/* The numbers of `text` as lmi_args_parse reads them, for values with a structure of
 * their own ("1,2,3").  `what` begins the sentence. */
enum lmd_status lmi_parse_int(const char *what, const char *text, int64_t *out,
			      struct lmd_error *err);
enum lmd_status lmi_parse_size(const char *what, const char *text, int64_t *out,
			       struct lmd_error *err);
enum lmd_status lmi_parse_float(const char *what, const char *text, double *out,
				struct lmd_error *err);

/* Least and greatest number of arguments of `args` (see struct lmi_cmd). */
void lmi_args_count(const char *args, uint32_t *min, uint32_t *max);

#endif /* LLAMAD_LLAMACTL_OPTS_H */
