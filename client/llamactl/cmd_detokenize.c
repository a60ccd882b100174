/* SPDX-License-Identifier: MIT
 *
 * llamactl detokenize: token ids to bytes. */
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/named.h"
#include "client/llamactl/vocab_file.h"
#include "core/base/alloc.h"

/* Appends an id; doubles the list when it is full. */
static enum lmd_status add_id(struct lmi_tokens *ids, int64_t id, struct lmd_error *err)
{
	if (id < 0 || id > INT32_MAX)
		return lmd_fail(err, LMD_INVALID, "token %lld at position %zu: must be 0..%d",
				(long long)id, ids->n, INT32_MAX);
	if (ids->n == ids->cap) {
		size_t cap = ids->cap ? ids->cap * 2 : 256;
		lmd_token *p = lmi_realloc(ids->id, cap, sizeof(*p));

		if (!p)
			return lmd_fail(err, LMD_NOMEM, "no memory for %zu tokens", cap);
		ids->id = p;
		ids->cap = cap;
	}
	ids->id[ids->n++] = (lmd_token)id;
	return LMD_OK;
}

static bool is_gap(char c)
{
	return c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Parses numbers separated by commas or blanks. */
static enum lmd_status parse_ids(const char *s, size_t n, struct lmi_tokens *ids,
				 struct lmd_error *err)
{
	size_t at = 0;

	while (at < n) {
		char word[24];
		size_t len = 0;
		enum lmd_status st;
		int64_t id;

		if (is_gap(s[at])) {
			at++;
			continue;
		}
		while (at + len < n && !is_gap(s[at + len]))
			len++;
		snprintf(word, sizeof(word), "%.*s", (int)(len < 23 ? len : 23), s + at);
		st = lmi_parse_int("token", word, &id, err);
		if (st == LMD_OK)
			st = add_id(ids, id, err);
		if (st != LMD_OK)
			return st;
		at += len;
	}
	return LMD_OK;
}

struct batch {
	const struct lmi_vocab_file *v;
	bool special; /* default for lines without the member */
	struct lmi_tokens ids;
	struct lmi_text text;
};

static enum lmd_status answer(void *arg, const json_t *line, struct lmd_error *err)
{
	struct batch *b = arg;
	const json_t *list = json_object_get(line, "ids"), *id;
	bool special;
	size_t i;
	enum lmd_status st = lmi_batch_bool(line, "special", b->special, &special, err);

	if (st == LMD_OK && !json_is_array(list))
		st = lmd_fail(err, LMD_INVALID, "\"ids\" is missing or not an array");
	b->ids.n = 0;
	json_array_foreach(list, i, id) {
		if (st == LMD_OK && !json_is_integer(id))
			st = lmd_fail(err, LMD_INVALID, "\"ids\": element %zu is not a whole "
							"number",
				      i);
		if (st == LMD_OK)
			st = add_id(&b->ids, json_integer_value(id), err);
	}
	if (st == LMD_OK)
		st = lmi_tokenizer_decode(b->v->tok, b->ids.id, b->ids.n,
					  special ? LMD_DECODE_UNPARSE_SPECIAL : 0, &b->text, err);
	if (st != LMD_OK)
		return st;
	fputs("{\"hex\": \"", stdout);
	for (i = 0; i < b->text.n; i++)
		printf("%02x", (unsigned char)b->text.p[i]);
	puts("\"}");
	return LMD_OK;
}

/* Reads the ids from the arguments, or from standard input if there are none. */
static enum lmd_status read_ids(const struct lmi_args *a, struct lmi_tokens *ids,
				struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	char *input;
	size_t n;

	for (uint32_t i = 1; i < a->n_pos && st == LMD_OK; i++)
		st = parse_ids(a->pos[i], strlen(a->pos[i]), ids, err);
	if (a->n_pos > 1)
		return st;
	st = lmi_read_stdin(&input, &n, err);
	if (st != LMD_OK)
		return st;
	st = parse_ids(input, n, ids, err);
	free(input);
	return st;
}

static enum lmd_status run_one(struct batch *b, const struct lmi_args *a, struct lmd_error *err)
{
	enum lmd_status st = read_ids(a, &b->ids, err);

	if (st == LMD_OK)
		st = lmi_tokenizer_decode(b->v->tok, b->ids.id, b->ids.n,
					  b->special ? LMD_DECODE_UNPARSE_SPECIAL : 0, &b->text,
					  err);
	if (st == LMD_OK)
		lmi_detokenize_print(b->text.p, b->text.n, lmi_arg_flag(a, "json"));
	return st;
}

/* Uses a model of the daemon. */
static enum lmd_status run_named(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_tokens ids = {0};
	enum lmd_status st;

	if (lmi_arg_flag(&ctl->args, "batch"))
		return lmi_usage(ctl, err, "--batch needs a model file; '%s' is not a file",
				 lmi_arg_pos(&ctl->args, 0));
	st = read_ids(&ctl->args, &ids, err);
	if (st == LMD_OK)
		st = lmi_named_detokenize(ctl, ids.id, ids.n, err);
	lmi_tokens_fini(&ids);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_vocab_file v;
	struct batch b = {.v = &v, .special = !lmi_arg_flag(&ctl->args, "no-special")};
	bool batch = lmi_arg_flag(&ctl->args, "batch");
	enum lmd_status st;

	if (batch && ctl->args.n_pos > 1)
		return lmi_usage(ctl, err, "--batch reads standard input, not arguments");
	if (batch && lmi_arg_flag(&ctl->args, "json"))
		return lmi_usage(ctl, err, "--batch prints lines of JSON; do not combine it with "
					   "--json");
	if (lmi_is_named(ctl, lmi_arg_pos(&ctl->args, 0)))
		return run_named(ctl, err);
	st = lmi_vocab_file_open(&v, ctl, lmi_arg_pos(&ctl->args, 0), NULL, err);
	if (st == LMD_OK)
		st = batch ? lmi_batch(answer, &b, err) : run_one(&b, &ctl->args, err);
	lmi_tokens_fini(&b.ids);
	lmi_text_fini(&b.text);
	lmi_vocab_file_close(&v);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "no-special",
	 .type = LMI_OPT_FLAG,
	 .doc = "Leave out control tokens instead of printing them as text."},
	{.name = "batch",
	 .type = LMI_OPT_FLAG,
	 .doc = "Read lines of JSON, {\"ids\": [...], \"special\": bool}, and answer each with a "
		"line {\"hex\": \"...\"} or {\"error\": \"...\"}."},
	LMI_OPT_JSON,
};

const struct lmi_cmd lmi_cmd_detokenize = {
	.name = "detokenize",
	.args = "FILE [ID]...",
	.brief = "Turn token ids into text",
	.doc = "FILE is the same as for tokenize. The ids are the arguments or, if there are "
	       "none, are read from standard input, separated by commas or blanks. Writes "
	       "exactly the bytes of the text and adds no newline.\n\nWith --json: an object "
	       "with text (null if the bytes are not valid UTF-8) and hex, all bytes as "
	       "hexadecimal digits.\n\nInstead of a file, FILE may be the name of a model of a "
	       "running daemon.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
