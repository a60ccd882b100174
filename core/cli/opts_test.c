/* SPDX-License-Identifier: MIT
 *
 * Parsing, numbers and suggestions, tested with a table of options defined here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/cli/opts.h"
#include "core/cli/suggest.h"
#include "core/cli/texts.h"
#include "tests/lmd_check.h"

static enum lmd_status run_nothing(struct lmi_ctl *ctl, struct lmd_error *err)
{
	(void)ctl;
	(void)err;
	return LMD_OK;
}

static const struct lmi_opt run_opts[] = {
	{.name = "prompt", .letter = 'p', .type = LMI_OPT_STR, .value = "TEXT", .doc = "d"},
	{.name = "count",
	 .letter = 'n',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "7",
	 .min = 1,
	 .max = 100,
	 .doc = "d"},
	{.name = "temp",
	 .type = LMI_OPT_FLOAT,
	 .value = "T",
	 .def = "0.8",
	 .min = 0,
	 .max = 100,
	 .doc = "d"},
	{.name = "ctx",
	 .letter = 'c',
	 .type = LMI_OPT_SIZE,
	 .value = "N",
	 .max = 1048576.0,
	 .doc = "d"},
	{.name = "act", .type = LMI_OPT_CHOICE, .value = "f32|int8", .def = "int8", .doc = "d"},
	{.name = "tokens", .type = LMI_OPT_LIST, .value = "IDS", .doc = "d"},
	{.letter = 'x', .type = LMI_OPT_FLAG, .doc = "d"},
	{.letter = 'y', .type = LMI_OPT_FLAG, .doc = "d"},
	{.name = "json", .type = LMI_OPT_FLAG, .doc = "d"},
};
static const struct lmi_cli_cmd cmd_run = {.name = "run",
					   .args = "FILE [TEXT]",
					   .brief = "b",
					   .opts = run_opts,
					   .n_opts = LMD_LEN(run_opts),
					   .run = run_nothing};
static const struct lmi_cli_cmd cmd_many = {
	.name = "debug many", .args = "[X]...", .brief = "b", .run = run_nothing};
static const struct lmi_cli_cmd cmd_debug_one = {
	.name = "debug one", .brief = "b", .run = run_nothing};
static const struct lmi_cli_cmd cmd_plug = {.name = "plug", .brief = "b", .run = run_nothing};
static const struct lmi_cli_cmd cmd_plug_test = {
	.name = "plug test", .args = "FILE", .brief = "b", .run = run_nothing};
static const struct lmi_cli_cmd *const cmds[] = {&cmd_run, &cmd_many, &cmd_debug_one, &cmd_plug,
						 &cmd_plug_test};
static const struct lmi_opt common_opts[] = {
	{.name = "dir", .type = LMI_OPT_LIST, .value = "DIR", .doc = "d"},
	{.name = "help", .letter = 'h', .type = LMI_OPT_FLAG, .doc = "d"},
};
static const struct lmi_cli_program program = {
	.name = "llamactl",
	.cmds = cmds,
	.n_cmds = LMD_LEN(cmds),
	.opts = common_opts,
	.n_opts = LMD_LEN(common_opts),
};
/* a program without commands */
static const struct lmi_cli_program bare = {
	.name = "llamad",
	.opts = common_opts,
	.n_opts = LMD_LEN(common_opts),
};

#define MAX_WORDS 16

/* Parses a command line whose words are separated by '|'. */
static enum lmd_status parse(struct lmi_args *a, const char *line, struct lmd_error *err)
{
	static char text[1024];
	char *argv[MAX_WORDS];
	int argc = 0;

	snprintf(text, sizeof(text), "%s", line);
	argv[argc++] = (char *)"llamactl";
	for (char *p = text; p; argc++) {
		ck_assert_int_lt(argc, MAX_WORDS);
		argv[argc] = p;
		p = strchr(p, '|');
		if (p)
			*p++ = 0;
	}
	*err = (struct lmd_error){0};
	return lmi_args_parse(a, &program, argc, argv, err);
}

START_TEST(printed_bounds)
{
	static const struct {
		struct lmi_opt opt;
		const char *want;
	} cases[] = {
		{{.type = LMI_OPT_INT, .def = "8", .min = 1, .max = 9}, "(default 8, 1 to 9)"},
		{{.type = LMI_OPT_SIZE, .min = 1, .max = 2048}, "(1 to 2k)"},
		{{.type = LMI_OPT_TIME, .def_text = "the daemon's", .max = 60000},
		 "(default: the daemon's; 0 to 1m)"},
		{{.type = LMI_OPT_STR, .def_text = "from the clock"}, "(default: from the clock)"},
		{{.type = LMI_OPT_STR}, ""},
	};
	char text[192];

	lmi_opt_bounds(&cases[_i].opt, text, sizeof(text));
	ck_assert_str_eq(text, cases[_i].want);
}
END_TEST

START_TEST(values_and_defaults)
{
	struct lmd_error err;
	const char *const *list;
	struct lmi_args a;

	ck_assert_int_eq(parse(&a,
			       "--dir|/a|run|-p|-hello|m.gguf|--temp=0|-c8k|--dir=/b|"
			       "--tokens|1,2|--tokens=3|-xy|some text",
			       &err),
			 LMD_OK);
	ck_assert_ptr_eq(a.cmd, &cmd_run);
	ck_assert_str_eq(lmi_arg_str(&a, "prompt"), "-hello");
	ck_assert_int_eq(lmi_arg_int(&a, "n"), 7);
	ck_assert(!lmi_arg_given(&a, "count"));
	ck_assert(lmi_arg_float(&a, "temp") == 0 && lmi_arg_given(&a, "temp"));
	ck_assert_int_eq(lmi_arg_int(&a, "ctx"), 8192);
	ck_assert_str_eq(lmi_arg_str(&a, "act"), "int8");
	ck_assert_int_eq(lmi_arg_int(&a, "act"), 1);
	ck_assert_uint_eq(lmi_arg_list(&a, "tokens", &list), 2);
	ck_assert_str_eq(list[1], "3");
	ck_assert_uint_eq(lmi_arg_list(&a, "dir", &list), 2);
	ck_assert_str_eq(list[0], "/a");
	ck_assert(lmi_arg_flag(&a, "x") && lmi_arg_flag(&a, "y") && !lmi_arg_flag(&a, "help"));
	ck_assert_uint_eq(a.n_pos, 2);
	ck_assert_str_eq(lmi_arg_pos(&a, 0), "m.gguf");
	ck_assert_str_eq(lmi_arg_pos(&a, 1), "some text");
	ck_assert_ptr_null(lmi_arg_pos(&a, 2));
	lmi_args_fini(&a);
}
END_TEST

/* A flag of a command given before the command. */
START_TEST(early_flags)
{
	struct lmd_error err;
	struct lmi_args a;

	ck_assert_int_eq(parse(&a, "--json|--dir|/a|run|m.gguf", &err), LMD_OK);
	ck_assert(lmi_arg_flag(&a, "json") && lmi_arg_given(&a, "json"));
	ck_assert_uint_eq(a.n_pos, 1);
	lmi_args_fini(&a);
	ck_assert_int_eq(parse(&a, "--json|debug|one", &err), LMD_INVALID);
	ck_assert_str_eq(err.text,
			 "unknown option '--json'; see llamactl debug one --help");
	lmi_args_fini(&a);
	ck_assert_int_eq(parse(&a, "--temp|1|run|m.gguf", &err), LMD_INVALID);
	ck_assert_str_eq(err.text,
			 "option '--temp' must follow the command: llamactl COMMAND --temp T");
	lmi_args_fini(&a);
}
END_TEST

START_TEST(commands_of_two_words)
{
	struct lmd_error err;
	struct lmi_args a;

	ck_assert_int_eq(parse(&a, "debug|many|-|--|-x|--help", &err), LMD_OK);
	ck_assert_ptr_eq(a.cmd, &cmd_many);
	ck_assert_uint_eq(a.n_pos, 3);
	ck_assert_str_eq(lmi_arg_pos(&a, 0), "-");
	ck_assert_str_eq(lmi_arg_pos(&a, 2), "--help");
	lmi_args_fini(&a);
	ck_assert_int_eq(parse(&a, "plug", &err), LMD_OK);
	ck_assert_ptr_eq(a.cmd, &cmd_plug);
	lmi_args_fini(&a);
	ck_assert_int_eq(parse(&a, "plug|test|f.so", &err), LMD_OK);
	ck_assert_ptr_eq(a.cmd, &cmd_plug_test);
	lmi_args_fini(&a);
	/* --help needs no arguments */
	ck_assert_int_eq(parse(&a, "plug|test|-h", &err), LMD_OK);
	lmi_args_fini(&a);
}
END_TEST

static const struct {
	const char *line, *says;
} refused[] = {
	{"rum|x", "unknown command 'rum' (did you mean 'run'?)"},
	{"nothing-like-it", "unknown command 'nothing-like-it'; see"},
	{"", "unknown command ''"},
	{"debug", "'debug' needs a second word"},
	{"debug|three", "'debug' needs a second word"},
	{"debug many", "unknown command 'debug many'"},
	{"--tmep|1|run|f", "unknown option '--tmep'"},
	{"run|f|--tmep|1", "unknown option '--tmep' (did you mean '--temp'?); see llamactl run"},
	{"run|f|--=3", "unknown option '--'"},
	{"run|f|-z", "unknown option '-z'"},
	{"run|f|-xz", "unknown option '-xz'"},
	{"run|f|-n", "option '-n' needs a value: N"},
	{"run|f|--count", "option '--count' needs a value: N"},
	{"run|f|-n|ten", "option '-n': 'ten' is not a whole number"},
	{"run|f|-n|10x", "option '-n': '10x' is not a whole number"},
	{"run|f|-n|", "option '-n': '' is not a whole number"},
	{"run|f|-n| 3", "option '-n': ' 3' is not a whole number"},
	{"run|f|-n|0", "option '-n': 0 is below 1"},
	{"run|f|-n|101", "option '-n': 101 is above 100"},
	{"run|f|-n|99999999999999999999", "does not fit in 64 bits"},
	{"run|f|--temp=warm", "option '--temp': 'warm' is not a number"},
	{"run|f|--temp=nan", "'nan' is not a number"},
	{"run|f|--temp=1e999", "'1e999' is not a number"},
	{"run|f|--temp=0x10", "'0x10' is not a number"},
	{"run|f|--temp=-1", "option '--temp': -1 is below 0"},
	{"run|f|-c|8X", "option '-c': '8X' is not a whole number with an optional unit"},
	{"run|f|-c|2M", "option '-c': 2M is above 1048576"},
	{"run|f|-c|9000000000T", "does not fit in 64 bits"},
	{"run|f|--act|f16", "option '--act': 'f16' is not one of f32|int8"},
	{"run|f|--act|f32|--act=f3", "'f3' is not one of f32|int8"},
	{"run|f|--help=yes", "option '--help' takes no value, but got 'yes'"},
	{"run", "argument FILE is missing; usage: llamactl run [OPTION]... FILE [TEXT]"},
	{"run|a|b|c", "unexpected argument 'c'"},
	{"plug|what", "unexpected argument 'what'"},
};

START_TEST(usage_errors_name_the_word)
{
	struct lmd_error err;
	struct lmi_args a;

	ck_assert_msg(parse(&a, refused[_i].line, &err) == LMD_INVALID, "%s", refused[_i].line);
	ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s: %s", refused[_i].line,
		      err.text);
	lmi_args_fini(&a);
}
END_TEST

START_TEST(program_without_commands)
{
	char *good[] = {(char *)"llamad", (char *)"--dir", (char *)"/a", (char *)"-h"};
	char *word[] = {(char *)"llamad", (char *)"start"},
	     *typo[] = {(char *)"llamad", (char *)"--dri"};
	struct lmd_error err = {0};
	const char *const *list;
	struct lmi_args a;

	ck_assert_int_eq(lmi_args_parse(&a, &bare, (int)LMD_LEN(good), good, &err), LMD_OK);
	ck_assert_uint_eq(lmi_arg_list(&a, "dir", &list), 1);
	ck_assert(lmi_arg_flag(&a, "help") && !a.cmd);
	lmi_args_fini(&a);
	ck_assert_int_eq(lmi_args_parse(&a, &bare, (int)LMD_LEN(word), word, &err), LMD_INVALID);
	ck_assert_str_eq(err.text, "unexpected argument 'start'; see llamad --help");
	lmi_args_fini(&a);
	ck_assert_int_eq(lmi_args_parse(&a, &bare, (int)LMD_LEN(typo), typo, &err), LMD_INVALID);
	ck_assert_str_eq(err.text,
			 "unknown option '--dri' (did you mean '--dir'?); see llamad --help");
	lmi_args_fini(&a);
}
END_TEST

START_TEST(times)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = {{"0", 0},	    {"0s", 0},	      {"500ms", 500}, {"20s", 20000},
		    {"2m", 120000}, {"2min", 120000}, {"1h", 3600000}};
	static const char *const bad[] = {"", "s", "20", "20 s", "1.5s", "20x", "20sec", "0x1s"};
	int64_t v = 0;

	for (size_t i = 0; i < LMD_LEN(good); i++) {
		ck_assert_int_eq(lmi_cli_parse_time(NULL, good[i].text, &v, NULL), LMD_OK);
		ck_assert_msg(v == good[i].ms, "%s", good[i].text);
	}
	for (size_t i = 0; i < LMD_LEN(bad); i++)
		ck_assert_msg(lmi_cli_parse_time(NULL, bad[i], &v, NULL) == LMD_INVALID, "%s",
			      bad[i]);
	ck_assert_int_eq(lmi_cli_parse_time(NULL, "9000000000000000h", &v, NULL), LMD_INVALID);
}
END_TEST

START_TEST(sizes)
{
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {{"0", 0},	       {"128k", 131072},    {"128K", 131072},
		    {"8G", 8ll << 30}, {"8GiB", 8ll << 30}, {"8gB", 8ll << 30},
		    {"2T", 2ll << 40}, {"17B", 17},	    {"3m", 3 << 20}};
	static const char *const bad[] = {"", "k", "8Gi", "8 G", "8GG", "8iB", "1.5G", "0x10", "x"};
	int64_t v = 0;

	for (size_t i = 0; i < LMD_LEN(good); i++) {
		ck_assert_int_eq(lmi_cli_parse_size(NULL, good[i].text, &v, NULL), LMD_OK);
		ck_assert_msg(v == good[i].value, "%s", good[i].text);
	}
	for (size_t i = 0; i < LMD_LEN(bad); i++)
		ck_assert_msg(lmi_cli_parse_size(NULL, bad[i], &v, NULL) == LMD_INVALID, "%s",
			      bad[i]);
}
END_TEST

START_TEST(suggestions)
{
	static const struct {
		const char *typed, *best;
	} cases[] = {{"tokenise", "tokenize"},
		     {"tokneize", "tokenize"},
		     {"detokenize", "tokenize"},
		     {"bnech", "bench"},
		     {"be", "bench"},
		     {"xyz", NULL},
		     {"", NULL},
		     {"perplex", "perplexity"}};
	static const char *const words[] = {"tokenize", "bench", "perplexity", "run"};

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_cli_suggest s;

		lmi_cli_suggest_init(&s, cases[i].typed);
		for (size_t k = 0; k < LMD_LEN(words); k++)
			lmi_cli_suggest_consider(&s, words[k]);
		if (cases[i].best)
			ck_assert_pstr_eq(s.best, cases[i].best);
		else
			ck_assert_ptr_null(s.best);
	}
}
END_TEST

/* Examples in a description keep their lines and spaces. */
START_TEST(typed_lines)
{
	const char *doc = "A sentence of more than eighty columns, which is wrapped where the line would be too "
			  "long.\n\n    one  two\n    .three\n\nThe end.";
	char *help, *man;
	size_t n;
	FILE *f = open_memstream(&help, &n);

	lmi_cli_text_wrap(f, doc, 0, 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_msg(strstr(help, "\ntoo long.\n\n    one  two\n    .three\n\nThe end.\n") != NULL, "%s", help);
	f = open_memstream(&man, &n);
	lmi_cli_roff_paragraphs(f, doc);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_msg(strstr(man, ".PP\n.RS 4\n.nf\none  two\n\\&.three\n.fi\n.RE\n.PP\nThe end.\n") != NULL, "%s", man);
	free(help);
	free(man);
}
END_TEST

START_TEST(out_of_memory)
{
	char *argv[] = {(char *)"llamactl", (char *)"run", (char *)"f", (char *)"--tokens=1",
			(char *)"--tokens=2"};
	struct lmi_alloc_stats before, after;
	uint64_t nth = 1;

	lmi_alloc_stats(&before);
	for (bool failed = true; failed; nth++) {
		struct lmd_error err = {0};
		struct lmi_args a;
		enum lmd_status st;

		lmi_alloc_fail_nth(nth, false);
		st = lmi_args_parse(&a, &program, (int)LMD_LEN(argv), argv, &err);
		failed = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		ck_assert_int_eq(st, failed ? LMD_NOMEM : LMD_OK);
		lmi_args_fini(&a);
	}
	lmi_alloc_stats(&after);
	ck_assert_uint_gt(nth, 4);
	ck_assert_uint_eq(before.n_live, after.n_live);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli");
	TCase *t = tcase_create("opts");

	tcase_add_loop_test(t, printed_bounds, 0, 5);
	tcase_add_test(t, values_and_defaults);
	tcase_add_test(t, early_flags);
	tcase_add_test(t, commands_of_two_words);
	tcase_add_loop_test(t, usage_errors_name_the_word, 0, (int)LMD_LEN(refused));
	tcase_add_test(t, program_without_commands);
	tcase_add_test(t, sizes);
	tcase_add_test(t, times);
	tcase_add_test(t, suggestions);
	tcase_add_test(t, typed_lines);
	tcase_add_test(t, out_of_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
