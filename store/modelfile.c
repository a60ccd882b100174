/* SPDX-License-Identifier: MIT
 *
 * One pass over the text. A command that this file does not know is an error, since it may change the
 * answers of the model. */
#include "store/modelfile.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/printable.h"

struct parser {
	struct lmi_store_modelfile *m;
	const char *text, *at, *end;
	unsigned line;
	struct lmd_error *err;
};

static enum lmd_status bad(const struct parser *p, const char *what)
{
	return lmd_fail(p->err, LMD_INVALID, "line %u: %s", p->line, what);
}

static enum lmd_status no_memory(const struct parser *p)
{
	return lmd_fail(p->err, LMD_NOMEM, "no memory for a Modelfile");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->end && is_blank(*p->at))
		p->at++;
}

static const char *line_end(const struct parser *p)
{
	const char *e = memchr(p->at, '\n', (size_t)(p->end - p->at));

	return e ? e : p->end;
}

/* Reads to the next blank or the end of the line; *out is NULL without memory. */
static void read_word(struct parser *p, const char **out)
{
	const char *from = p->at;

	while (p->at < p->end && !is_blank(*p->at) && *p->at != '\n')
		p->at++;
	*out = lmi_arena_strndup(p->m->arena, from, (size_t)(p->at - from));
	skip_blanks(p);
}

/* Reads a value between three double quotes. If more than three follow each other, the last three
 * close it, so that a value can end in quotes. */
static enum lmd_status read_block(struct parser *p, const char **out)
{
	const char *from = p->at + 3, *to = from;

	while (p->end - to >= 3 && memcmp(to, "\"\"\"", 3) != 0)
		to++;
	if (p->end - to < 3)
		return bad(p, "the text that begins with three quotes does not end");
	while (p->end - to > 3 && to[3] == '"')
		to++;
	*out = lmi_arena_strndup(p->m->arena, from, (size_t)(to - from));
	for (; from < to; from++)
		p->line += *from == '\n';
	p->at = to + 3;
	skip_blanks(p);
	if (p->at < p->end && *p->at != '\n')
		return bad(p, "something follows the three quotes");
	return *out ? LMD_OK : no_memory(p);
}

static enum lmd_status read_value(struct parser *p, const char **out)
{
	const char *from = p->at, *to = line_end(p);

	if (to - from >= 3 && !memcmp(from, "\"\"\"", 3))
		return read_block(p, out);
	p->at = to;
	while (to > from && is_blank(to[-1]))
		to--;
	if (from == to)
		return bad(p, "a value is missing");
	if (to - from >= 2 && *from == '"' && to[-1] == '"') {
		from++;
		to--;
	}
	*out = lmi_arena_strndup(p->m->arena, from, (size_t)(to - from));
	return *out ? LMD_OK : no_memory(p);
}

/* ---- commands ---- */

/* Reads a value and where it stands, without the blanks after it. */
static enum lmd_status read_place(struct parser *p, const char **out,
				  struct lmi_store_modelfile_place *place)
{
	enum lmd_status st;

	place->at = (size_t)(p->at - p->text);
	st = read_value(p, out);
	place->n = (size_t)(p->at - p->text) - place->at;
	while (st == LMD_OK && place->n && is_blank(p->text[place->at + place->n - 1]))
		place->n--;
	return st;
}

static enum lmd_status read_from(struct parser *p)
{
	enum lmd_status st;

	if (p->m->from)
		return bad(p, "FROM occurs twice");
	st = read_place(p, &p->m->from, &p->m->from_at);
	return st == LMD_OK && !*p->m->from ? bad(p, "FROM names no model") : st;
}

static enum lmd_status read_adapter(struct parser *p)
{
	if (p->m->adapter)
		return bad(p, "ADAPTER occurs twice: merge the adapters with llamactl export-lora");
	return read_place(p, &p->m->adapter, &p->m->adapter_at);
}

static enum lmd_status read_parameter(struct parser *p)
{
	struct lmi_store_modelfile_param *v = &p->m->params[p->m->n_params];

	if (p->m->n_params == LMI_STORE_MODELFILE_PARAMS)
		return bad(p, "there are more than 256 parameters");
	v->line = p->line;
	read_word(p, &v->name);
	if (!v->name)
		return no_memory(p);
	if (!*v->name)
		return bad(p, "PARAMETER needs a name and a value");
	p->m->n_params++;
	return read_value(p, &v->value);
}

static enum lmd_status read_message(struct parser *p)
{
	struct lmi_store_modelfile_message *v = &p->m->messages[p->m->n_messages];

	if (p->m->n_messages == LMI_STORE_MODELFILE_MESSAGES)
		return bad(p, "there are more than 1024 messages");
	read_word(p, &v->role);
	if (!v->role)
		return no_memory(p);
	if (strcmp(v->role, "system") != 0 && strcmp(v->role, "user") != 0 &&
	    strcmp(v->role, "assistant") != 0)
		return bad(p, "MESSAGE needs a role, system, user or assistant, and a text");
	p->m->n_messages++;
	return read_value(p, &v->content);
}

static enum lmd_status read_command(struct parser *p)
{
	const char *ignored, *word;
	char shown[48];

	read_word(p, &word);
	if (!word)
		return no_memory(p);
	if (!strcasecmp(word, "FROM"))
		return read_from(p);
	if (!strcasecmp(word, "PARAMETER"))
		return read_parameter(p);
	if (!strcasecmp(word, "MESSAGE"))
		return read_message(p);
	if (!strcasecmp(word, "TEMPLATE"))
		return read_value(p, &p->m->template);
	if (!strcasecmp(word, "SYSTEM"))
		return read_value(p, &p->m->system);
	if (!strcasecmp(word, "LICENSE"))
		return read_value(p, &p->m->license);
	if (!strcasecmp(word, "ADAPTER"))
		return read_adapter(p);
	/* the format of answers follows from the chat template, and versions are Ollama's */
	if (!strcasecmp(word, "RENDERER") || !strcasecmp(word, "PARSER") ||
	    !strcasecmp(word, "REQUIRES"))
		return read_value(p, &ignored);
	return lmd_fail(p->err, LMD_INVALID,
			"line %u: '%s' is not a command: FROM, PARAMETER, TEMPLATE, SYSTEM, ADAPTER, "
			"LICENSE, MESSAGE, RENDERER, PARSER or REQUIRES",
			p->line, lmi_printable(shown, sizeof(shown), word, strlen(word)));
}

static enum lmd_status read_lines(struct parser *p)
{
	enum lmd_status st = LMD_OK;

	while (st == LMD_OK && p->at < p->end) {
		skip_blanks(p);
		if (p->at == p->end)
			break;
		if (*p->at == '\n') {
			p->line++;
			p->at++;
		} else if (*p->at == '#') {
			p->at = line_end(p);
		} else {
			st = read_command(p);
		}
	}
	if (st == LMD_OK && !p->m->from)
		st = lmd_fail(p->err, LMD_INVALID, "the Modelfile has no FROM, which names the model");
	return st;
}

enum lmd_status lmi_store_modelfile_parse(struct lmi_store_modelfile *out, const char *text,
					  size_t n, struct lmd_error *err)
{
	struct parser p = {.m = out, .text = text, .at = text, .end = text + n, .line = 1, .err = err};
	enum lmd_status st;

	*out = (struct lmi_store_modelfile){0};
	if (n > LMI_STORE_MODELFILE_BYTES)
		return lmd_fail(err, LMD_INVALID, "the Modelfile has %zu bytes, the maximum is %u", n,
				LMI_STORE_MODELFILE_BYTES);
	if (memchr(text, 0, n))
		return lmd_fail(err, LMD_INVALID, "the Modelfile contains a zero byte");
	out->arena = lmi_arena_create(0);
	if (out->arena) {
		out->params = lmi_arena_array(out->arena, LMI_STORE_MODELFILE_PARAMS,
					      sizeof(*out->params));
		out->messages = lmi_arena_array(out->arena, LMI_STORE_MODELFILE_MESSAGES,
						sizeof(*out->messages));
	}
	st = out->params && out->messages ? read_lines(&p) : no_memory(&p);
	if (st != LMD_OK)
		lmi_store_modelfile_fini(out);
	return st;
}

void lmi_store_modelfile_fini(struct lmi_store_modelfile *m)
{
	lmi_arena_destroy(m->arena);
	*m = (struct lmi_store_modelfile){0};
}
