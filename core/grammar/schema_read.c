/* SPDX-License-Identifier: MIT
 *
 * Reads the text of a JSON schema. jansson gets the text in pieces; levels and values of each are
 * counted before jansson sees it, so that depth, size and time are bounded. */
#include "core/grammar/schema_read.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/printable.h"
#include "core/grammar/grammar.h"

/* Steps (cancel.h) that jansson takes for a byte, and that a value of the tree takes. */
#define BYTE_STEPS  2
#define VALUE_STEPS 8

/* ---- text to jansson ---- */

struct input {
	const char *text;
	size_t n, at;
	uint32_t depth, n_values;
	bool in_string, escaped;
	enum lmd_status st;
	struct lmd_error *err;
};

/* Counts levels and values. Whatever is not JSON is left to jansson. */
static void count(struct input *in, size_t at)
{
	char c = in->text[at];

	if (in->in_string) {
		if (in->escaped)
			in->escaped = false;
		else if (c == '\\')
			in->escaped = true;
		else if (c == '"')
			in->in_string = false;
		return;
	}
	in->in_string = c == '"';
	if (c == '[' || c == '{')
		in->depth++;
	else if ((c == ']' || c == '}') && in->depth)
		in->depth--;
	in->n_values += c == '[' || c == '{' || c == ',' || c == ':';
	if (in->st == LMD_OK && in->depth > LMI_GR_SCHEMA_DEPTH)
		in->st = lmd_fail(in->err, LMD_INVALID,
				  "schema: JSON, byte %zu: nested more than %d levels deep", at,
				  LMI_GR_SCHEMA_DEPTH);
	if (in->st == LMD_OK && in->n_values > LMI_GR_SCHEMA_VALUES)
		in->st = lmd_fail(in->err, LMD_INVALID,
				  "schema: JSON, byte %zu: more than %u values", at,
				  LMI_GR_SCHEMA_VALUES);
}

static size_t feed(void *buffer, size_t room, void *data)
{
	struct input *in = data;
	size_t n = in->n - in->at < room ? in->n - in->at : room;

	for (size_t i = 0; i < n && in->st == LMD_OK; i++)
		count(in, in->at + i);
	if (in->st == LMD_OK && !lmi_cancel_step(n * BYTE_STEPS))
		in->st = lmd_fail(in->err, LMD_CANCELLED, "schema: cancelled");
	if (in->st != LMD_OK)
		return (size_t)-1;
	memcpy(buffer, in->text + in->at, n);
	in->at += n;
	return n;
}

static json_t *parse(struct input *in, size_t flags, json_error_t *e)
{
	in->at = in->depth = in->n_values = 0;
	in->in_string = in->escaped = false;
	return json_load_callback(feed, in, flags, e);
}

static enum lmd_status no_memory(struct lmd_error *err)
{
	return lmd_fail(err, LMD_NOMEM, "schema: out of memory");
}

static enum lmd_status load(json_t **out, const char *text, size_t bytes, struct lmd_error *err)
{
	const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES;
	struct input in = {.text = text, .n = bytes, .err = err};
	char show[JSON_ERROR_TEXT_LENGTH];
	enum json_error_code code;
	json_error_t e;

	if (bytes > LMI_GRAMMAR_BYTES_MAX)
		return lmd_fail(err, LMD_INVALID,
				"schema: %zu bytes long, at most %u are allowed", bytes,
				LMI_GRAMMAR_BYTES_MAX);
	*out = parse(&in, flags, &e);
	/* integers beyond 64 bits are bounds of some languages' types */
	if (!*out && in.st == LMD_OK && json_error_code(&e) == json_error_numeric_overflow)
		*out = parse(&in, flags | JSON_DECODE_INT_AS_REAL, &e);
	if (*out)
		return LMD_OK;
	if (in.st != LMD_OK)
		return in.st;
	code = json_error_code(&e);
	if (code == json_error_out_of_memory)
		return no_memory(err);
	return lmd_fail(err,
			code == json_error_duplicate_key || code == json_error_numeric_overflow
				? LMD_INVALID
				: LMD_CORRUPT,
			"schema: JSON, byte %d: %s", e.position,
			lmi_printable(show, sizeof(show), e.text, strlen(e.text)));
}

/* ---- jansson to a tree ---- */

/* Counts first, while node is NULL, then fills. */
struct store {
	struct lmi_json_node *node;
	char *text;
	uint32_t n_nodes;
	size_t n_text;
	bool cancelled;
};

static struct lmi_json_node *next_node(struct store *s)
{
	s->cancelled |= !lmi_cancel_step(VALUE_STEPS);
	return s->node ? &s->node[s->n_nodes++] : (s->n_nodes++, NULL);
}

static void put_string(struct store *s, const char *p, size_t n)
{
	struct lmi_json_node *v = next_node(s);

	if (v) {
		memcpy(s->text + s->n_text, p, n);
		s->text[s->n_text + n] = '\0';
		*v = (struct lmi_json_node){.type = LMI_JSON_STRING, .span = 1, .n = (uint32_t)n};
		v->u.s = s->text + s->n_text;
	}
	s->n_text += n + 1;
}

static struct lmi_json_node scalar(const json_t *v)
{
	struct lmi_json_node out = {.span = 1};

	if (json_is_integer(v)) {
		out.type = LMI_JSON_INT;
		out.u.i = json_integer_value(v);
	} else if (json_is_real(v)) {
		out.type = LMI_JSON_REAL;
		out.u.d = json_real_value(v);
	} else if (json_is_boolean(v)) {
		out.type = LMI_JSON_BOOL;
		out.u.b = json_is_true(v);
	} else {
		out.type = LMI_JSON_NULL;
	}
	return out;
}

static void put(struct store *s, const json_t *v, uint32_t depth)
{
	uint32_t at = s->n_nodes;
	struct lmi_json_node *node;
	const char *key;
	json_t *kid;
	size_t i;

	if (s->cancelled || s->n_nodes > LMI_GR_SCHEMA_VALUES || depth > 2 * LMI_GR_SCHEMA_DEPTH) {
		s->n_nodes = s->cancelled ? s->n_nodes : LMI_GR_SCHEMA_VALUES + 1;
		return;
	}
	if (json_is_string(v)) {
		put_string(s, json_string_value(v), json_string_length(v));
		return;
	}
	node = next_node(s);
	json_array_foreach((json_t *)v, i, kid)
		put(s, kid, depth + 1);
	json_object_foreach((json_t *)v, key, kid) {
		put_string(s, key, strlen(key));
		put(s, kid, depth + 1);
	}
	if (!node)
		return;
	*node = scalar(v);
	if (!json_is_array(v) && !json_is_object(v))
		return;
	node->type = json_is_array(v) ? LMI_JSON_ARRAY : LMI_JSON_OBJECT;
	node->n = (uint32_t)(json_is_array(v) ? json_array_size(v) : json_object_size(v));
	node->span = s->n_nodes - at;
}

static enum lmd_status store(struct lmi_json_tree *t, const json_t *root, struct lmd_error *err)
{
	struct store s = {0};

	put(&s, root, 0);
	if (!s.cancelled && s.n_nodes > LMI_GR_SCHEMA_VALUES)
		return lmd_fail(err, LMD_INVALID,
				"schema: more than %u values, or nested more than %d levels deep, "
				"once 'not' and 'if' are resolved",
				LMI_GR_SCHEMA_VALUES, 2 * LMI_GR_SCHEMA_DEPTH);
	*t = (struct lmi_json_tree){.n_nodes = s.n_nodes};
	if (!s.cancelled) {
		t->root = lmi_alloc(s.n_nodes * sizeof(*t->root) + s.n_text, 1);
		if (!t->root)
			return no_memory(err);
		s = (struct store){.node = t->root, .text = (char *)(t->root + s.n_nodes)};
		put(&s, root, 0);
	}
	if (!s.cancelled)
		return LMD_OK;
	lmi_json_tree_fini(t);
	return lmd_fail(err, LMD_CANCELLED, "schema: cancelled");
}

enum lmd_status lmi_gr_schema_read(struct lmi_json_tree *t, const char *text, size_t bytes,
				   struct lmd_error *err)
{
	json_t *root;
	enum lmd_status st = load(&root, text, bytes, err);

	if (st != LMD_OK)
		return st;
	lmi_gr_schema_rewrite(root);
	st = store(t, root, err);
	json_decref(root);
	return st;
}
