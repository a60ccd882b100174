/* SPDX-License-Identifier: MIT
 *
 * Names of pre-tokenizers.  GGUF files name the way text is split before merges apply;
 * tokenizer.json describes it as steps.  A row here holds the steps of one name, each as a line:
 *
 *     "R" expression      split by an expression, pieces isolated
 *     "r" beginning       split by an expression with this beginning
 *     "D0", "D1"          runs of digits, single digits
 *     "P"                 punctuation
 *     "B0", "B1"          bytes to characters, without or with GPT-2's expression
 *
 * Several names may have the same steps.  Then one of them is the usual one, and the others are for
 * families whose map asks for them (lmd_checkpoint_map.pretokenizer).
 *
 * The names are values of the key tokenizer.ggml.pre, a closed list of the GGUF format.  They belong
 * to vocabularies, which models of many architectures share. */
#include <string.h>

#include "core/checkpoint/hf/checkpoint_impl.h"

#define SHORT  "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SHORT2 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define WORD   "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SIGNS  " ?[^\\s\\p{L}\\p{N}]+"
#define REST   "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER  "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER  "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(tail)                                                                                \
	"[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" tail "|[^\\r\\n\\p{L}\\p{N}]?" UPPER          \
	"+" LOWER "*" tail

/* The first match is used. */
static const struct {
	bool asked; /* only for a map that asks for the name */
	const char *name, *steps;
} rows[] = {
	{true, "glm4", "R" SHORT "|" WORD "|\\p{N}{1,3}|" SIGNS "[\\r\\n]*" REST "\nB0\n"},
	{false, "llama-bpe", "R" SHORT "|" WORD "|\\p{N}{1,3}|" SIGNS "[\\r\\n]*" REST "\nB0\n"},
	{false, "llama-bpe", "R" SHORT2 "|" WORD "|\\p{N}{1,3}|" SIGNS "[\\r\\n]*" REST "\nB0\n"},
	{true, "stablelm2", "R" SHORT "|" WORD "|\\p{N}|" SIGNS "[\\r\\n]*" REST "\nB0\n"},
	{false, "qwen2", "R" SHORT "|" WORD "|\\p{N}|" SIGNS "[\\r\\n]*" REST "\nB0\n"},
	{false, "qwen2", "R" SHORT2 "|" WORD "|\\p{N}|" SIGNS "[\\r\\n]*" REST "\nB0\n"},
	{false, "seed-coder",
	 "R" SHORT2 "|" WORD "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" REST "\nB0\n"},
	{false, "gpt-4o", "R" CASED(SHORT "?") "|\\p{N}{1,3}|" SIGNS "[\\r\\n/]*" REST "\nB0\n"},
	{false, "tekken", "R" CASED("") "|\\p{N}|" SIGNS "[\\r\\n/]*" REST "\nB0\n"},
	{false, "deepseek-v3",
	 "R\\p{N}{1,3}\nR[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+\n"
	 "R[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"
	 "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" REST "\nB0\n"},
	{false, "deepseek-llm",
	 "R[\\r\\n]\nr\\s?[A-Za-z\nr\\s?[!-/:-~\nR\\s+$\nr[\u4e00-\u9fa5\nD1\nB0\n"},
	{false, "deepseek-coder",
	 "R[\\r\\n]\nR\\s?\\p{L}+\nR\\s?\\p{P}+\nr[\u4e00-\u9fa5\nD1\nB0\n"},
	{false, "falcon", "P\nB1\nD0\nR[0-9][0-9][0-9]\n"},
	{false, "bloom", "r ?[^(\\s|\nB0\n"},
	{true, "command-r", "D1\nB1\n"},
	{true, "starcoder", "D1\nB1\n"},
	{true, "refact", "D1\nB1\n"},
	{true, "exaone", "D1\nB1\n"},
	{false, "smollm", "D1\nB1\n"},
	{true, "mpt", "B1\n"},
	{true, "olmo", "B1\n"},
	{true, "phi-2", "B1\n"},
	{false, "gpt-2", "B1\n"},
};

/* ---- the steps of a tokenizer as lines of this form ---- */

struct lines {
	char text[4096];
	size_t n;
	bool unknown;
};

static void put(struct lines *l, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool end = s[i] == '\r' || s[i] == '\n'; /* escaped, as in most files */

		if (l->n + 3 > sizeof(l->text)) {
			l->unknown = true;
			return;
		}
		if (end)
			l->text[l->n++] = '\\';
		l->text[l->n++] = s[i] == '\r' ? 'r' : s[i] == '\n' ? 'n' : s[i];
	}
}

static const struct lmd_meta *param(const struct lmd_tok_step *s, const char *key)
{
	for (uint32_t i = 0; i < s->n_param; i++)
		if (!strcmp(s->param[i].key, key))
			return &s->param[i];
	return NULL;
}

static bool flag(const struct lmd_tok_step *s, const char *key, bool def)
{
	const struct lmd_meta *v = param(s, key);

	return v && v->type == LMD_META_BOOL ? v->v.i != 0 : def;
}

static bool is(const struct lmd_meta *v, const char *text)
{
	return v && v->type == LMD_META_STR && v->v.s.len == strlen(text) &&
	       !memcmp(v->v.s.ptr, text, v->v.s.len);
}

static void split_line(struct lines *l, const struct lmd_tok_step *s)
{
	const struct lmd_meta *rx = param(s, "pattern.Regex"), *behavior = param(s, "behavior");

	if (!rx || rx->type != LMD_META_STR || flag(s, "invert", false) ||
	    !(is(behavior, "Isolated") || is(behavior, "Removed"))) {
		l->unknown = true;
		return;
	}
	put(l, "R", 1);
	put(l, rx->v.s.ptr, rx->v.s.len);
}

static void step_line(struct lines *l, const struct lmd_tok_step *s)
{
	if (!strcmp(s->type, "Split"))
		split_line(l, s);
	else if (!strcmp(s->type, "Digits"))
		put(l, flag(s, "individual_digits", false) ? "D1" : "D0", 2);
	else if (!strcmp(s->type, "Punctuation"))
		put(l, "P", 1);
	else if (!strcmp(s->type, "ByteLevel") && !flag(s, "add_prefix_space", true))
		put(l, flag(s, "use_regex", true) ? "B1" : "B0", 2);
	else
		l->unknown = true;
	if (l->n < sizeof(l->text))
		l->text[l->n++] = '\n';
	else
		l->unknown = true;
}

/* True if all lines match. */
static bool matches(const char *row, const char *line, size_t n)
{
	const char *end = line + n;

	while (*row && line < end) {
		size_t a = strcspn(row, "\n");
		size_t b = (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);
		bool open = *row == 'r';

		if (open ? *line != 'R' || b < a || memcmp(row + 1, line + 1, a - 1) != 0
			 : a != b || memcmp(row, line, a) != 0)
			return false;
		row += a + 1;
		line += b + 1;
	}
	return !*row && line == end;
}

const char *lmi_checkpoint_pretokenizer_name(const struct lmd_tok_spec *s, const char *own)
{
	struct lines l = {.n = 0};
	const char *name = NULL;

	for (uint32_t i = 0; i < s->n_step; i++) {
		const struct lmd_tok_step *t = &s->step[i];

		if (t->phase == LMD_TOK_SPLIT)
			step_line(&l, t);
		else if (t->phase == LMD_TOK_NORMALIZE && strcmp(t->type, "NFC") != 0)
			l.unknown = true;
	}
	for (size_t i = 0; !l.unknown && !name && i < LMD_LEN(rows); i++)
		if ((!rows[i].asked || (own && !strcmp(rows[i].name, own))) &&
		    matches(rows[i].steps, l.text, l.n))
			name = rows[i].name;
	return name;
}
