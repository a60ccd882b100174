/* SPDX-License-Identifier: MIT
 *
 * One pass over the text, a line or a value at a time. What is read is written as commands of a
 * Modelfile at once; only a message waits until its table has ended, since its two keys may come in
 * any order. Empty lines keep each command on the line of the preset that it comes from. */
#include "store/preset_toml.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "llamad/attr.h"
#include "store/modelfile.h"

#define KEY_MAX 64 /* bytes of a key */

static const struct {
	const char *key, *command;
} top_keys[] = {{"base", "FROM"},
		{"adapter", "ADAPTER"},
		{"template", "TEMPLATE"},
		{"system", "SYSTEM"},
		{"license", "LICENSE"}};

enum table { TABLE_TOP, TABLE_PARAMETERS, TABLE_MESSAGE };

struct parser {
	const char *at, *end;
	unsigned line;
	struct lmd_arena *arena;
	enum table table;
	bool has_parameters;
	uint32_t seen;       /* bit i: top_keys[i] */
	const char **params; /* [n_params] names so far */
	uint32_t n_params;
	const char *role, *content; /* of the message that is read; NULL: not yet */
	unsigned role_line;
	char *scratch;              /* of a string: as long as the preset */
	char *out;                  /* [LMI_STORE_MODELFILE_BYTES + 1] */
	size_t n_out;
	unsigned out_line; /* in which `out` ends */
	struct lmd_error *err;
};

static enum lmd_status bad(const struct parser *p, const char *what)
{
	return lmd_fail(p->err, LMD_INVALID, "line %u: %s", p->line, what);
}

static enum lmd_status no_memory(const struct parser *p)
{
	return lmd_fail(p->err, LMD_NOMEM, "no memory for a preset");
}

/* ---- output ---- */

static enum lmd_status put(struct parser *p, const char *text)
{
	size_t n = strlen(text);

	if (n > LMI_STORE_MODELFILE_BYTES - p->n_out)
		return lmd_fail(p->err, LMD_INVALID,
				"the preset is longer than the maximum of %u bytes",
				LMI_STORE_MODELFILE_BYTES);
	memcpy(p->out + p->n_out, text, n + 1);
	p->n_out += n;
	for (size_t i = 0; i < n; i++)
		p->out_line += text[i] == '\n';
	return LMD_OK;
}

/* Writes a command: words, and a value between three quotes if it is a string. line: that of the
 * preset; a text with more lines than it has there moves what follows it. */
static enum lmd_status put_command(struct parser *p, unsigned line, const char *command,
				   const char *word, const char *value, bool is_string)
{
	const char *const parts[] = {command, *word ? " " : "", word, is_string ? " \"\"\"" : " ",
				     value,   is_string ? "\"\"\"\n" : "\n"};
	size_t n = strlen(value);
	const char *quotes;
	enum lmd_status st = LMD_OK;

	while (n && value[n - 1] == '"')
		n--; /* a value may end in quotes */
	quotes = strstr(value, "\"\"\"");
	if (is_string && quotes && quotes < value + n)
		return bad(p, "three double quotes within a text cannot be kept in a Modelfile");
	while (p->out_line < line && st == LMD_OK)
		st = put(p, "\n");
	for (size_t i = 0; i < LMD_LEN(parts) && st == LMD_OK; i++)
		st = put(p, parts[i]);
	return st;
}

/* ---- characters ---- */

static bool starts(const struct parser *p, const char *text)
{
	return (size_t)(p->end - p->at) >= strlen(text) && !memcmp(p->at, text, strlen(text));
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
		p->at++;
}

/* Skips blanks and a comment up to the end of the line, or further ones if `lines` is set. */
static enum lmd_status skip_space(struct parser *p, bool lines)
{
	for (;;) {
		skip_blanks(p);
		if (p->at < p->end && *p->at == '#')
			while (p->at < p->end && *p->at != '\n' && !starts(p, "\r\n"))
				p->at++;
		if (p->at == p->end)
			return LMD_OK;
		if (*p->at != '\n' && !starts(p, "\r\n"))
			return lines ? LMD_OK : bad(p, "something follows that does not belong there");
		if (!lines)
			return LMD_OK;
		p->at += *p->at == '\n' ? 1 : 2;
		p->line++;
	}
}

/* ---- strings ---- */

/* Reads N hexadecimal digits of \u or \U. */
static enum lmd_status read_unicode(struct parser *p, unsigned digits, char **to)
{
	uint32_t c = 0;

	for (unsigned i = 0; i < digits; i++) {
		const char *hex = "0123456789abcdef", *digit;

		digit = p->at < p->end && *p->at
				? strchr(hex, tolower((unsigned char)*p->at)) : NULL;
		if (!digit)
			return bad(p, "\\u needs 4 hexadecimal digits, \\U 8");
		c = c << 4 | (uint32_t)(digit - hex);
		p->at++;
	}
	if (!c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return bad(p, "the number after \\u is no character that a text can have");
	*to += lmi_utf8_put(*to, c);
	return LMD_OK;
}

/* After a backslash. */
static enum lmd_status read_escape(struct parser *p, bool block, char **to)
{
	static const char from[] = "btnfr\"\\", what[] = "\b\t\n\f\r\"\\";
	char c = p->at < p->end ? *p->at : 0;
	const char *known = c ? strchr(from, c) : NULL;

	if (block && c && strchr(" \t\r\n", c)) { /* the line goes on after blanks and newlines */
		for (; p->at < p->end && strchr(" \t\r\n", *p->at); p->at++)
			p->line += *p->at == '\n';
		return LMD_OK;
	}
	p->at += c != 0;
	if (known)
		*(*to)++ = what[known - from];
	else if (c == 'u' || c == 'U')
		return read_unicode(p, c == 'u' ? 4 : 8, to);
	else
		return bad(p, "a backslash is followed by none of b t n f r \" \\ u U");
	return LMD_OK;
}

/* Ends a string at its closing quotes; in a block up to two quotes may stand before them. */
static bool closes(struct parser *p, char quote, bool block, char **to)
{
	const char *q = p->at;

	while (q < p->end && *q == quote && q - p->at < 5)
		q++;
	if (!block || q - p->at < 3) {
		p->at += !block;
		return !block;
	}
	for (; q - p->at > 3; p->at++)
		*(*to)++ = quote;
	p->at = q;
	return true;
}

/* Reads a string of any of the four kinds into the arena. */
static enum lmd_status read_string(struct parser *p, const char **out)
{
	char quote = *p->at;
	bool block = p->end - p->at >= 3 && p->at[1] == quote && p->at[2] == quote;
	char *to = p->scratch; /* a character is never longer than its escape */
	enum lmd_status st = LMD_OK;

	p->at += block ? 3 : 1;
	if (block && (starts(p, "\n") || starts(p, "\r\n"))) {
		p->at += *p->at == '\n' ? 1 : 2;
		p->line++;
	}
	while (st == LMD_OK) {
		char c = p->at < p->end ? *p->at : 0;

		if (!c || (!block && c == '\n'))
			return bad(p, "a string does not end");
		if (c == quote) {
			if (closes(p, quote, block, &to))
				break;
			*to++ = *p->at++;
		} else if (c == '\\' && quote == '"') {
			p->at++;
			st = read_escape(p, block, &to);
		} else if (block && starts(p, "\r\n")) {
			p->at++;
		} else if (((unsigned char)c < ' ' && c != '\t' && c != '\n') || c == 0x7f) {
			st = bad(p, "a string has a control character; write it as \\uXXXX");
		} else {
			p->line += c == '\n';
			*to++ = *p->at++;
		}
	}
	if (st != LMD_OK)
		return st;
	*out = lmi_arena_strndup(p->arena, p->scratch, (size_t)(to - p->scratch));
	return *out ? LMD_OK : no_memory(p);
}

/* ---- values ---- */

static bool skip_digits(const char **s)
{
	const char *from = *s;

	while (isdigit((unsigned char)**s))
		(*s)++;
	return *s > from;
}

static void skip_sign(const char **s)
{
	*s += **s == '+' || **s == '-';
}

static bool is_number(const char *s)
{
	skip_sign(&s);
	if ((*s == '0' && isdigit((unsigned char)s[1])) || !skip_digits(&s))
		return false;
	if (*s == '.') {
		s++;
		if (!skip_digits(&s))
			return false;
	}
	if (*s == 'e' || *s == 'E') {
		s++;
		skip_sign(&s);
		if (!skip_digits(&s))
			return false;
	}
	return !*s;
}

/* Whether the word is a boolean or a decimal number; writes it without the underscores between
 * digits. */
static bool is_scalar(char *out, const char *word, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		bool between = i && i + 1 < n && isdigit((unsigned char)word[i - 1]) &&
			       isdigit((unsigned char)word[i + 1]);

		if (word[i] == '_' && !between)
			return false;
		if (word[i] != '_')
			out[k++] = word[i];
	}
	out[k] = 0;
	return !strcmp(out, "true") || !strcmp(out, "false") || is_number(out);
}

/* Reads a string, number or boolean. */
static enum lmd_status read_scalar(struct parser *p, const char **out, bool *is_string)
{
	const char *from = p->at;
	char *text, shown[48];

	*is_string = p->at < p->end && (*p->at == '"' || *p->at == '\'');
	if (*is_string)
		return read_string(p, out);
	while (p->at < p->end && !strchr(" \t\r\n,]#", *p->at))
		p->at++;
	text = lmi_arena_alloc(p->arena, (size_t)(p->at - from) + 1, 1);
	if (!text)
		return no_memory(p);
	*out = text;
	if (is_scalar(text, from, (size_t)(p->at - from)))
		return LMD_OK;
	return lmd_fail(p->err, LMD_INVALID,
			"line %u: '%s' is not a value: a text in quotes, a decimal number, true or "
			"false",
			p->line, lmi_printable(shown, sizeof(shown), from, (size_t)(p->at - from)));
}

static enum lmd_status read_parameter(struct parser *p, const char *name)
{
	bool is_string, list = p->at < p->end && *p->at == '[';
	const char *value;
	unsigned line;
	enum lmd_status st = LMD_OK;

	p->at += list;
	for (;;) {
		if (list)
			st = skip_space(p, true);
		if (st != LMD_OK || (list && starts(p, "]")))
			break;
		line = p->line;
		st = read_scalar(p, &value, &is_string);
		if (st == LMD_OK && is_string && !*value)
			st = bad(p, "the value is empty");
		if (st == LMD_OK)
			st = put_command(p, line, "PARAMETER", name, value, is_string);
		if (st == LMD_OK && list)
			st = skip_space(p, true);
		if (st != LMD_OK || !list)
			return st;
		if (!starts(p, ","))
			break;
		p->at++;
	}
	if (st == LMD_OK && !starts(p, "]"))
		st = bad(p, "a list does not end, or has no comma between two values");
	p->at += st == LMD_OK;
	return st;
}

/* ---- keys and tables ---- */

static enum lmd_status end_message(struct parser *p)
{
	enum lmd_status st;

	if (p->table != TABLE_MESSAGE)
		return LMD_OK;
	if (!p->role || !p->content || !*p->role || strpbrk(p->role, " \t\r\n"))
		return bad(p, "the message before this line needs a role and a content");
	st = put_command(p, p->role_line, "MESSAGE", p->role, p->content, true);
	p->role = p->content = NULL;
	return st;
}

static size_t key_length(const char *text, const char *end)
{
	size_t n = 0;

	while (text + n < end && (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '-'))
		n++;
	return n;
}

static enum lmd_status read_key(struct parser *p, char key[KEY_MAX])
{
	const char *text = p->at;
	size_t n, all;

	if (*p->at == '"' || *p->at == '\'') {
		enum lmd_status st = read_string(p, &text);

		if (st != LMD_OK)
			return st;
		all = strlen(text);
		n = key_length(text, text + all);
	} else {
		n = all = key_length(text, p->end);
		p->at += n;
	}
	if (!n || n < all || n >= KEY_MAX)
		return bad(p, "a name of a-z, 0-9, _ and - is missing, of at most 63 bytes");
	memcpy(key, text, n);
	key[n] = 0;
	return LMD_OK;
}

static enum lmd_status read_table(struct parser *p)
{
	bool list = starts(p, "[[");
	char name[KEY_MAX];
	enum lmd_status st = end_message(p);

	if (st != LMD_OK)
		return st;
	p->at += list ? 2 : 1;
	skip_blanks(p);
	if (p->at == p->end)
		return bad(p, "the name of a table is missing");
	st = read_key(p, name);
	skip_blanks(p);
	if (st != LMD_OK)
		return st;
	if (!starts(p, list ? "]]" : "]"))
		return bad(p, "the name of a table does not end in ]");
	p->at += list ? 2 : 1;
	p->table = list ? TABLE_MESSAGE : TABLE_PARAMETERS;
	if (strcmp(name, list ? "messages" : "parameters") != 0)
		return bad(p, "the tables are [parameters] and [[messages]]");
	if (!list && p->has_parameters)
		return bad(p, "[parameters] occurs twice");
	p->has_parameters |= !list;
	return LMD_OK;
}

static enum lmd_status add_parameter(struct parser *p, const char *key)
{
	for (uint32_t i = 0; i < p->n_params; i++)
		if (!strcmp(p->params[i], key))
			return lmd_fail(p->err, LMD_INVALID, "line %u: %s occurs twice", p->line,
					key);
	if (p->n_params == LMI_STORE_MODELFILE_PARAMS)
		return bad(p, "there are more than 256 parameters");
	p->params[p->n_params] = lmi_arena_strndup(p->arena, key, strlen(key));
	return p->params[p->n_params++] ? read_parameter(p, key) : no_memory(p);
}

static enum lmd_status read_text(struct parser *p, const char **out)
{
	if (p->at == p->end || (*p->at != '"' && *p->at != '\''))
		return bad(p, "the value must be a text in quotes");
	return read_string(p, out);
}

static enum lmd_status add_top(struct parser *p, const char *key)
{
	const char *value;
	unsigned line = p->line;
	size_t i = 0;
	enum lmd_status st;

	while (i < LMD_LEN(top_keys) && strcmp(top_keys[i].key, key) != 0)
		i++;
	if (i == LMD_LEN(top_keys))
		return lmd_fail(p->err, LMD_INVALID,
				"line %u: '%s' is not a key: base, adapter, template, system or license, "
				"and then the tables [parameters] and [[messages]]",
				p->line, key);
	if (p->seen & 1u << i)
		return lmd_fail(p->err, LMD_INVALID, "line %u: %s occurs twice", p->line, key);
	p->seen |= 1u << i;
	st = read_text(p, &value);
	return st == LMD_OK ? put_command(p, line, top_keys[i].command, "", value, true) : st;
}

static enum lmd_status add_to_message(struct parser *p, const char *key)
{
	bool role = !strcmp(key, "role");
	const char **value = role ? &p->role : &p->content;

	if (!role && strcmp(key, "content") != 0)
		return bad(p, "a message has the keys role and content");
	if (*value)
		return lmd_fail(p->err, LMD_INVALID, "line %u: %s occurs twice", p->line, key);
	if (role)
		p->role_line = p->line;
	return read_text(p, value);
}

static enum lmd_status read_line(struct parser *p)
{
	char key[KEY_MAX];
	enum lmd_status st;

	if (*p->at == '[') {
		st = read_table(p);
		return st == LMD_OK ? skip_space(p, false) : st;
	}
	st = read_key(p, key);
	if (st != LMD_OK)
		return st;
	skip_blanks(p);
	if (!starts(p, "="))
		return bad(p, "a key is followed by =");
	p->at++;
	skip_blanks(p);
	if (p->table == TABLE_TOP)
		st = add_top(p, key);
	else if (p->table == TABLE_PARAMETERS)
		st = add_parameter(p, key);
	else
		st = add_to_message(p, key);
	return st == LMD_OK ? skip_space(p, false) : st;
}

static enum lmd_status read_lines(struct parser *p)
{
	enum lmd_status st = skip_space(p, true);

	while (st == LMD_OK && p->at < p->end) {
		st = read_line(p);
		if (st == LMD_OK)
			st = skip_space(p, true);
	}
	if (st == LMD_OK)
		st = end_message(p);
	if (st == LMD_OK && !(p->seen & 1))
		st = lmd_fail(p->err, LMD_INVALID, "the preset has no base, which names the model");
	return st;
}

enum lmd_status lmi_store_preset_toml(char **out, const char *text, size_t n, struct lmd_error *err)
{
	struct parser p = {.at = text, .end = text + n, .line = 1, .out_line = 1,
			   .err = err};
	enum lmd_status st;

	if (n > LMI_STORE_MODELFILE_BYTES)
		return lmd_fail(err, LMD_INVALID, "the preset has %zu bytes, the maximum is %u", n,
				LMI_STORE_MODELFILE_BYTES);
	if (memchr(text, 0, n) || lmi_utf8_valid_prefix(text, n) < n)
		return lmd_fail(err, LMD_INVALID, "the preset is not a text in UTF-8");
	p.arena = lmi_arena_create(0);
	p.out = lmi_alloc(LMI_STORE_MODELFILE_BYTES + 1, 1);
	if (p.arena) {
		p.params = lmi_arena_array(p.arena, LMI_STORE_MODELFILE_PARAMS, sizeof(*p.params));
		p.scratch = lmi_arena_alloc(p.arena, n + 1, 1);
	}
	st = p.out && p.params && p.scratch ? read_lines(&p) : no_memory(&p);
	lmi_arena_destroy(p.arena);
	if (st == LMD_OK)
		*out = p.out;
	else
		lmi_free(p.out);
	return st;
}
