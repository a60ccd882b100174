/* SPDX-License-Identifier: MIT
 *
 * llamactl debug grammar: checks whether a text fits a grammar, and lists what may come next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/vocab_file.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/engine/sample.h"
#include "core/grammar/grammar.h"

/* Largest text to check. */
#define TEXT_MAX (256u << 20)

struct job {
	struct lmi_ctl_vocab_file file;
	struct lmi_sampler_vocab words;
	struct lmi_grammar_vocab *vocab;
	struct lmi_grammar *grammar;
	struct lmi_grammar_matcher *matcher;
	struct lmi_grammar_state *state;
	struct lmd_arena *arena;
	char *text; /* to check: bytes, or tokens in id */
	size_t n;
	lmd_token *id; /* NULL: bytes */
	bool allowed;
	struct lmi_ctl_json *json; /* the object of --json, or NULL */
};

static enum lmd_status token_of(const char *what, const char *text, uint32_t n_vocab,
				lmd_token *out, struct lmd_error *err)
{
	int64_t v;
	enum lmd_status st = lmi_cli_parse_int(what, text, &v, err);

	if (st == LMD_OK && (v < 0 || v >= n_vocab))
		st = lmd_fail(err, LMD_INVALID, "%s: token %lld, the vocabulary has %u", what,
			      (long long)v, n_vocab);
	if (st == LMD_OK)
		*out = (lmd_token)v;
	return st;
}

/* "1,2,3" */
static enum lmd_status read_tokens(struct job *j, const char *list, struct lmd_error *err)
{
	size_t most = strlen(list) / 2 + 1;
	const char *p = list;

	j->id = lmi_arena_array(j->arena, most, sizeof(*j->id));
	if (!j->id)
		return lmd_fail(err, LMD_NOMEM, "no memory for %zu tokens", most);
	while (*p) {
		size_t n = strcspn(p, ",");
		char *word = lmi_arena_strndup(j->arena, p, n);
		enum lmd_status st;

		if (!word)
			return lmd_fail(err, LMD_NOMEM, "no memory for tokens");
		st = token_of("--tokens", word, lmi_gr_vocab_size(j->vocab), &j->id[j->n++], err);
		if (st != LMD_OK)
			return st;
		p += n;
		p += *p == ',';
	}
	return LMD_OK;
}

static enum lmd_status open_vocab(struct job *j, struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_str(&ctl->args, "vocab");
	enum lmd_status st;

	if (!path)
		return lmi_gr_vocab_create(&j->vocab, NULL, err);
	st = lmi_ctl_vocab_file_open(&j->file, ctl, path, NULL, err);
	if (st == LMD_OK)
		st = lmi_sampler_vocab_init(&j->words, j->file.tok, err);
	if (st == LMD_OK)
		st = lmi_gr_vocab_create(&j->vocab, &j->words.view, err);
	return st;
}

static enum lmd_status compile(struct job *j, struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *gbnf = lmi_arg_str(&ctl->args, "gbnf");
	const char *schema = lmi_arg_str(&ctl->args, "schema");
	const char *path = gbnf ? gbnf : schema;
	char *text = NULL;
	size_t n = 0;
	enum lmd_status st = lmi_file_read_all(path, LMI_GRAMMAR_BYTES_MAX, &text, &n, err);

	if (st != LMD_OK)
		return st;
	st = gbnf ? lmi_grammar_from_gbnf(&j->grammar, text, n, j->vocab, err)
		  : lmi_grammar_from_schema(&j->grammar, text, n, err);
	lmi_free(text);
	if (st != LMD_OK)
		lmd_error_prefix(err, path);
	return st;
}

static enum lmd_status make_matcher(struct job *j, struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *const *pattern, *const *token;
	struct lmi_gr_matcher_opts o = {.grammar = j->grammar, .vocab = j->vocab};
	struct lmd_str *patterns;
	lmd_token *tokens;
	enum lmd_status st;

	o.n_patterns = lmi_arg_list(&ctl->args, "trigger-pattern", &pattern);
	o.n_tokens = lmi_arg_list(&ctl->args, "trigger-token", &token);
	patterns = lmi_arena_array(j->arena, (size_t)o.n_patterns + 1, sizeof(*patterns));
	tokens = lmi_arena_array(j->arena, (size_t)o.n_tokens + 1, sizeof(*tokens));
	if (!patterns || !tokens)
		return lmd_fail(err, LMD_NOMEM, "no memory for triggers");
	for (uint32_t i = 0; i < o.n_patterns; i++)
		patterns[i] = (struct lmd_str){pattern[i], strlen(pattern[i])};
	for (uint32_t i = 0; i < o.n_tokens; i++) {
		st = token_of("--trigger-token", token[i], lmi_gr_vocab_size(j->vocab), &tokens[i],
			      err);
		if (st != LMD_OK)
			return st;
	}
	o.patterns = patterns;
	o.tokens = tokens;
	st = lmi_gr_matcher_create(&j->matcher, &o, err);
	return st == LMD_OK ? lmi_gr_state_create(&j->state, j->matcher, err) : st;
}

static bool in_set(const uint64_t *mask, uint32_t i)
{
	return mask[i / 64] >> (i % 64) & 1;
}

/* Finds the next range of ids from *at on: *from to *at - 1. Returns false if none is left. */
static bool next_range(const uint64_t *mask, uint32_t n, uint32_t *from, uint32_t *at)
{
	while (*at < n && !in_set(mask, *at))
		++*at;
	*from = *at;
	while (*at < n && in_set(mask, *at))
		++*at;
	return *at > *from;
}

/* Hexadecimal ids and ranges: "22 61-7a". */
static void print_set(const uint64_t *mask, uint32_t n)
{
	const char *blank = "";
	uint32_t from, at = 0;

	while (next_range(mask, n, &from, &at)) {
		printf(at - 1 > from ? "%s%x-%x" : "%s%x", blank, from, at - 1);
		blank = " ";
	}
	putchar('\n');
}

/* A list of pairs, the first and the last id of a range. */
static void json_set(struct lmi_ctl_json *j, const uint64_t *mask, uint32_t n)
{
	uint32_t from, at = 0;

	lmi_ctl_json_flat_array(j, NULL);
	while (next_range(mask, n, &from, &at)) {
		lmi_ctl_json_flat_array(j, NULL);
		lmi_ctl_json_uint(j, NULL, from);
		lmi_ctl_json_uint(j, NULL, at - 1);
		lmi_ctl_json_end(j);
	}
	lmi_ctl_json_end(j);
}

static enum lmd_status print_allowed(struct job *j, struct lmd_error *err)
{
	const uint64_t *mask;
	enum lmd_status st = j->allowed ? lmi_gr_state_mask(j->state, &mask) : LMD_OK;

	if (st != LMD_OK)
		return lmd_fail(err, st, "grammar: too ambiguous to be checked in the memory "
					 "that is allowed");
	if (j->allowed && j->json)
		json_set(j->json, mask, lmi_gr_vocab_size(j->vocab));
	else if (j->allowed)
		print_set(mask, lmi_gr_vocab_size(j->vocab));
	return LMD_OK;
}

static void print_verdict(struct job *j, const char *verdict, size_t at)
{
	bool rejected = !strcmp(verdict, "reject");

	if (!j->json) {
		printf(rejected ? "%s@%zu\n" : "%s\n", verdict, at);
		return;
	}
	if (j->allowed)
		lmi_ctl_json_end(j->json); /* of the token sets */
	lmi_ctl_json_str(j->json, "verdict", verdict);
	if (rejected)
		lmi_ctl_json_uint(j->json, "at", at);
	else
		lmi_ctl_json_null(j->json, "at");
}

static enum lmd_status check(struct job *j, struct lmd_error *err)
{
	enum lmd_status st = print_allowed(j, err);

	for (size_t i = 0; i < j->n && st == LMD_OK; i++) {
		size_t taken;

		st = j->id ? lmi_gr_state_accept(j->state, j->id[i])
			   : lmi_gr_state_accept_text(j->state, j->text + i, 1, &taken);
		if (st == LMD_INVALID) {
			print_verdict(j, "reject", i);
			return LMD_OK;
		}
		if (st != LMD_OK)
			return lmd_fail(err, st, "grammar: %s %zu cannot be checked: %s",
					j->id ? "token" : "byte", i, lmd_status_text((int)st));
		st = print_allowed(j, err);
	}
	if (st == LMD_OK)
		print_verdict(j, lmi_gr_state_may_end(j->state) ? "accept" : "incomplete", 0);
	return st;
}

/* One object, printed only after the verdict is known. */
static enum lmd_status check_json(struct job *j, struct lmd_error *err)
{
	struct lmi_ctl_json out;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	enum lmd_status st;

	if (!f)
		return lmd_fail(err, LMD_NOMEM, "no memory for the verdict");
	lmi_ctl_json_init(&out, f);
	lmi_ctl_json_object(&out, NULL);
	if (j->allowed)
		lmi_ctl_json_array(&out, "allowed");
	j->json = &out;
	st = check(j, err);
	if (st == LMD_OK) {
		lmi_ctl_json_end(&out);
		lmi_ctl_json_fini(&out);
	}
	if (fclose(f) && st == LMD_OK)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the verdict");
	if (st == LMD_OK)
		(void)fwrite(text, 1, n, stdout);
	free(text);
	return st;
}

static enum lmd_status prepare(struct job *j, struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *text = lmi_arg_str(&ctl->args, "text"),
		   *tokens = lmi_arg_str(&ctl->args, "tokens");
	enum lmd_status st;

	if (!lmi_arg_str(&ctl->args, "gbnf") == !lmi_arg_str(&ctl->args, "schema"))
		return lmi_ctl_usage(ctl, err, "give exactly one of --gbnf and --schema");
	if (text && tokens)
		return lmi_ctl_usage(ctl, err, "--text and --tokens exclude each other");
	st = open_vocab(j, ctl, err);
	if (st == LMD_OK)
		st = compile(j, ctl, err);
	if (st == LMD_OK)
		st = make_matcher(j, ctl, err);
	if (st == LMD_OK && tokens)
		st = read_tokens(j, tokens, err);
	if (st == LMD_OK && text)
		st = lmi_file_read_all(text, TEXT_MAX, &j->text, &j->n, err);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct job j = {.allowed = lmi_arg_flag(&ctl->args, "allowed"),
			.arena = lmi_arena_create(0)};
	enum lmd_status st;

	if (!j.arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for tokens");
	st = prepare(&j, ctl, err);
	if (st == LMD_OK)
		st = lmi_arg_flag(&ctl->args, "json") ? check_json(&j, err) : check(&j, err);
	lmi_gr_state_destroy(j.state);
	lmi_gr_matcher_destroy(j.matcher);
	lmi_grammar_destroy(j.grammar);
	lmi_gr_vocab_destroy(j.vocab);
	lmi_ctl_vocab_file_close(&j.file);
	lmi_free(j.text);
	lmi_arena_destroy(j.arena);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "gbnf", .type = LMI_OPT_STR, .value = "FILE", .doc = "File with a GBNF grammar."},
	{.name = "schema", .type = LMI_OPT_STR, .value = "FILE", .doc = "File with a JSON "
									"schema."},
	{.name = "text",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .def_text = "the empty text",
	 .doc = "File with the text to check, byte by byte."},
	{.name = "tokens",
	 .type = LMI_OPT_STR,
	 .value = "IDS",
	 .doc = "Token ids to check instead of a text: 1,2,3."},
	{.name = "vocab",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .def_text = "each token is a byte, and 256 is the end of the text",
	 .doc = "Model file whose vocabulary is used."},
	{.name = "allowed",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print the tokens that are allowed before each byte or token and after the last "
		"one: hexadecimal ids and ranges."},
	{.name = "trigger-pattern",
	 .type = LMI_OPT_LIST,
	 .value = "REGEX",
	 .doc = "Start the constraint only when the text matches this regular expression: at the "
		"first group that took part in the match, or at the match itself. May be "
		"repeated."},
	{.name = "trigger-token",
	 .type = LMI_OPT_LIST,
	 .value = "ID",
	 .doc = "Start the constraint only at this token, which belongs to the constrained text. "
		"May be repeated."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_grammar = {
	.name = "debug grammar",
	.brief = "Check a text against a grammar or a JSON schema",
	.doc = "Prints accept if the text is complete, incomplete if it may continue but not end "
	       "here, and reject@N if byte (or token) N, counted from 0, is not allowed. A "
	       "grammar that cannot be used is an error.\n\nWith --json: an object with verdict, "
	       "at (N, or null) and, with --allowed, allowed: for each set a list of ranges as "
	       "pairs of first and last id, in decimal.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
