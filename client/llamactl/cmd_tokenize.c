/* SPDX-License-Identifier: MIT
 *
 * llamactl tokenize: converts text to token ids. */
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/embedded.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/named.h"
#include "client/llamactl/vocab_file.h"

static bool is_utf8(const char *s, size_t n)
{
	json_t *j = json_stringn(s, n); /* NULL if the bytes are not valid UTF-8 */

	json_decref(j);
	return j != NULL;
}

static uint32_t encode_flags(bool special, bool parse)
{
	return (special ? LMD_ENCODE_ADD_SPECIAL : 0u) | (parse ? LMD_ENCODE_PARSE_SPECIAL : 0u);
}

static void json_ids(struct lmi_json *j, const struct lmi_tokens *ids)
{
	lmi_json_flat_array(j, "ids");
	for (size_t i = 0; i < ids->n; i++)
		lmi_json_int(j, NULL, ids->id[i]);
	lmi_json_end(j);
}

/* Prints a piece as a string, or as a list of bytes if it is not valid UTF-8. */
static void json_piece(struct lmi_json *j, const char *p, size_t n)
{
	if (is_utf8(p, n)) {
		lmi_json_strn(j, NULL, p, n);
		return;
	}
	lmi_json_flat_array(j, NULL);
	for (size_t i = 0; i < n; i++)
		lmi_json_uint(j, NULL, (unsigned char)p[i]);
	lmi_json_end(j);
}

/* Prints one token per line: the id, a tab, and the piece with \n, \t, \\ and \xHH for bytes that
 * are not printable. */
static void print_piece(lmd_token id, const char *p, size_t n)
{
	bool text = is_utf8(p, n);

	printf("%d\t", id);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c == '\n')
			fputs("\\n", stdout);
		else if (c == '\t')
			fputs("\\t", stdout);
		else if (c == '\\')
			fputs("\\\\", stdout);
		else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !text))
			printf("\\x%02x", c);
		else
			putchar(c);
	}
	putchar('\n');
}

static enum lmd_status print_pieces(const struct lmi_vocab_file *v, const struct lmi_tokens *ids,
				    struct lmi_json *j, struct lmd_error *err)
{
	size_t cap = lmi_tokenizer_info(v->tok)->max_piece_bytes;
	char *p = malloc(cap + 1);

	if (!p)
		return lmd_fail(err, LMD_NOMEM, "no memory for a piece of %zu bytes", cap);
	if (j)
		lmi_json_array(j, "pieces");
	for (size_t i = 0; i < ids->n; i++) {
		size_t n = lmi_tokenizer_piece(v->tok, ids->id[i], LMD_DECODE_UNPARSE_SPECIAL, p,
					       cap);

		if (j)
			json_piece(j, p, n < cap ? n : cap);
		else
			print_piece(ids->id[i], p, n < cap ? n : cap);
	}
	if (j)
		lmi_json_end(j);
	free(p);
	return LMD_OK;
}

static enum lmd_status print_ids(const struct lmi_vocab_file *v, const struct lmi_tokens *ids,
				 bool pieces, bool json, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct lmi_json j;

	if (json) {
		lmi_json_init(&j, stdout);
		if (pieces)
			lmi_json_object(&j, NULL);
		else
			lmi_json_flat_object(&j, NULL);
		json_ids(&j, ids);
		if (pieces)
			st = print_pieces(v, ids, &j, err);
		lmi_json_end(&j);
		lmi_json_fini(&j);
		return st;
	}
	if (pieces)
		return print_pieces(v, ids, NULL, err);
	for (size_t i = 0; i < ids->n; i++)
		printf("%s%d", i ? "," : "", ids->id[i]);
	putchar('\n');
	return LMD_OK;
}

struct batch {
	const struct lmi_vocab_file *v;
	bool special, parse; /* defaults for lines without the members */
	struct lmi_tokens ids;
};

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum lmd_status from_hex(const json_t *v, char **out, size_t *n, struct lmd_error *err)
{
	const char *s = json_string_value(v);
	size_t len = json_string_length(v);
	char *p;

	if (!s)
		return lmd_fail(err, LMD_INVALID, "\"hex\" is missing or not a string");
	if (len % 2)
		return lmd_fail(err, LMD_INVALID, "\"hex\" has %zu digits; the number must be "
						  "even", len);
	p = malloc(len / 2 + 1);
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "no memory for %zu bytes", len / 2);
	for (size_t i = 0; i < len; i++) {
		int d = hex_value(s[i]);

		if (d < 0) {
			free(p);
			return lmd_fail(err, LMD_INVALID,
					"\"hex\": byte %zu is not a hexadecimal digit", i);
		}
		p[i / 2] = (char)(i % 2 ? p[i / 2] | d : d << 4);
	}
	*out = p;
	*n = len / 2;
	return LMD_OK;
}

static enum lmd_status answer(void *arg, const json_t *line, struct lmd_error *err)
{
	struct batch *b = arg;
	bool special, parse;
	struct lmi_json j;
	char *text = NULL;
	size_t n = 0;
	enum lmd_status st = lmi_batch_bool(line, "special", b->special, &special, err);

	if (st == LMD_OK)
		st = lmi_batch_bool(line, "parse", b->parse, &parse, err);
	if (st == LMD_OK)
		st = from_hex(json_object_get(line, "hex"), &text, &n, err);
	if (st == LMD_OK)
		st = lmi_tokenizer_encode(b->v->tok, text, n, encode_flags(special, parse), &b->ids,
					  err);
	free(text);
	if (st != LMD_OK)
		return st;
	lmi_json_init(&j, stdout);
	lmi_json_flat_object(&j, NULL);
	json_ids(&j, &b->ids);
	lmi_json_end(&j);
	lmi_json_fini(&j);
	return LMD_OK;
}

static enum lmd_status run_one(struct lmi_ctl *ctl, const struct lmi_vocab_file *v, uint32_t flags,
			       struct lmd_error *err)
{
	const char *text = lmi_arg_pos(&ctl->args, 1);
	struct lmi_tokens ids = {0};
	char *input = NULL;
	size_t n = text ? strlen(text) : 0;
	enum lmd_status st = text ? LMD_OK : lmi_read_stdin(&input, &n, err);

	if (st == LMD_OK)
		st = lmi_tokenizer_encode(v->tok, text ? text : input, n, flags, &ids, err);
	if (st == LMD_OK)
		st = print_ids(v, &ids, lmi_arg_flag(&ctl->args, "pieces"),
			       lmi_arg_flag(&ctl->args, "json"), err);
	lmi_tokens_fini(&ids);
	free(input);
	return st;
}

/* Uses a model of the daemon. */
static enum lmd_status run_named(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *text = lmi_arg_pos(&ctl->args, 1);
	char *input = NULL;
	size_t n = text ? strlen(text) : 0;
	enum lmd_status st = text ? LMD_OK : lmi_read_stdin(&input, &n, err);

	if (st == LMD_OK)
		st = lmi_named_tokenize(ctl, text ? text : input, n, err);
	free(input);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	bool special = !lmi_arg_flag(a, "no-special"), parse = lmi_arg_flag(a, "parse-special");
	struct lmi_vocab_file v;
	enum lmd_status st;

	if (lmi_arg_flag(a, "batch") && lmi_arg_pos(a, 1))
		return lmi_usage(ctl, err, "--batch reads standard input, not an argument");
	if (lmi_is_named(ctl, lmi_arg_pos(a, 0)))
		return run_named(ctl, err);
	st = lmi_vocab_file_open(&v, ctl, lmi_arg_pos(a, 0), lmi_arg_str(a, "pre"), err);
	if (st == LMD_OK && lmi_arg_flag(a, "batch")) {
		struct batch b = {.v = &v, .special = special, .parse = parse};

		st = lmi_batch(answer, &b, err);
		lmi_tokens_fini(&b.ids);
	} else if (st == LMD_OK) {
		st = run_one(ctl, &v, encode_flags(special, parse), err);
	}
	lmi_vocab_file_close(&v);
	return lmi_name_file(st, lmi_arg_pos(a, 0), err);
}

static const struct lmi_opt opts[] = {
	{.name = "no-special",
	 .type = LMI_OPT_FLAG,
	 .doc = "Do not add begin or end tokens."},
	{.name = "parse-special",
	 .type = LMI_OPT_FLAG,
	 .doc = "Treat the text of control tokens as those tokens. User-defined tokens are "
		"always recognised."},
	{.name = "pre",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .doc = "Use this pre-tokenizer instead of the one that the file names. A tokenizer.json "
		"describes its own."},
	{.name = "pieces", .type = LMI_OPT_FLAG, .doc = "Also print the bytes of each token."},
	{.name = "batch",
	 .type = LMI_OPT_FLAG,
	 .doc = "Read lines of JSON from standard input, {\"hex\": \"...\", \"special\": bool, "
		"\"parse\": bool}, and answer each with a line {\"ids\": [...]} or {\"error\": "
		"\"...\"}. The options set the values of members that a line omits."},
	LMI_OPT_JSON,
};

const struct lmi_cmd lmi_cmd_tokenize = {
	.name = "tokenize",
	.args = "FILE [TEXT]",
	.brief = "Turn text into token ids",
	.doc = "FILE is a model file with or without tensors, a tokenizer.json, a "
	       "tokenizer.model, a Hugging Face folder, or the name of a model of a running "
	       "daemon. The text is the argument or, if there is none, is read from standard "
	       "input; it may contain any bytes.\n\nPrints the ids separated by commas.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
