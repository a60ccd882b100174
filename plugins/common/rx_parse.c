/* SPDX-License-Identifier: MIT
 *
 * Parses the text of an expression to a tree, by recursive descent of bounded depth: alternatives,
 * sequences, repetitions, atoms. */
#include "common/rx_parser.h"

static uint32_t parse_alt(struct lmi_rx_parser *ps);

uint32_t lmi_rx_fail(struct lmi_rx_parser *ps, enum lmd_status st, const char *what)
{
	if (ps->t->st == LMD_OK)
		ps->t->st = lmd_fail(ps->t->err, st, "regular expression, byte %zu: %s",
				     (size_t)(ps->p - ps->begin), what);
	return LMI_RX_INF;
}

static uint32_t new_node(struct lmi_rx_parser *ps, enum lmi_rx_node_type type, uint32_t a)
{
	struct lmi_rx_tree *t = ps->t;

	if (t->st != LMD_OK)
		return LMI_RX_INF;
	if (t->n_node == LMI_RX_MAX_NODES)
		return lmi_rx_fail(ps, LMD_UNSUPPORTED, "more than 4096 parts");
	if (!lmi_buf_need(&t->nodes, t->host, (t->n_node + 1) * sizeof(struct lmi_rx_node)))
		return lmi_rx_fail(ps, LMD_NOMEM, "no memory");
	*lmi_rx_node(t, t->n_node) =
		(struct lmi_rx_node){.type = (uint8_t)type, .a = a, .next = LMI_RX_INF};
	return t->n_node++;
}

static uint32_t char_node(struct lmi_rx_parser *ps, uint32_t cp)
{
	uint32_t set = lmi_rx_new_set(ps);

	if (set != LMI_RX_INF)
		lmi_rx_add_char(ps, set, cp);
	return new_node(ps, LMI_RX_SET, set);
}

/* Parses (?...), with p after the question mark; reads past the closing parenthesis. */
static uint32_t parse_special_group(struct lmi_rx_parser *ps)
{
	enum lmi_rx_node_type type = LMI_RX_CAT;
	unsigned mode = 0;
	bool icase = ps->icase;
	uint32_t body, node;
	size_t left = (size_t)(ps->end - ps->p);

	if (left >= 1 && *ps->p == ':') {
		ps->p++;
	} else if (left >= 2 && ps->p[0] == 'i' && (ps->p[1] == ':' || ps->p[1] == ')')) {
		ps->icase = true;
		if (ps->p[1] == ')') { /* applies to the rest of the enclosing group */
			ps->p += 2;
			return new_node(ps, LMI_RX_EMPTY, 0);
		}
		ps->p += 2;
	} else if (left >= 3 && ps->p[0] == '-' && ps->p[1] == 'i' && ps->p[2] == ':') {
		ps->icase = false;
		ps->p += 3;
	} else if (left >= 1 && (*ps->p == '=' || *ps->p == '!')) {
		type = LMI_RX_LOOK;
		mode = *ps->p++ == '!';
	} else if (left >= 1 && *ps->p == '>') {
		type = LMI_RX_ATOMIC;
		ps->p++;
	} else if (left >= 2 && *ps->p == '<' && (ps->p[1] == '=' || ps->p[1] == '!')) {
		type = LMI_RX_LOOK;
		mode = 2u | (ps->p[1] == '!');
		ps->p += 2;
	} else if (left >= 3 && *ps->p == '<' && memchr(ps->p, '>', left)) { /* skip its name */
		ps->p = (const char *)memchr(ps->p, '>', left) + 1;
	} else {
		return lmi_rx_fail(ps, LMD_UNSUPPORTED, "unknown kind of group");
	}
	body = parse_alt(ps);
	ps->icase = icase;
	if (ps->t->st != LMD_OK)
		return LMI_RX_INF;
	if (ps->p == ps->end || *ps->p != ')')
		return lmi_rx_fail(ps, LMD_INVALID, "( without )");
	ps->p++;
	if (type == LMI_RX_CAT)
		return body;
	if ((mode & 2) && lmi_rx_node(ps->t, body)->type != LMI_RX_SET)
		return lmi_rx_fail(ps, LMD_UNSUPPORTED, "look-behind for more than one character");
	node = new_node(ps, type, body);
	if (node != LMI_RX_INF)
		lmi_rx_node(ps->t, node)->mode = (uint8_t)mode;
	return node;
}

static uint32_t parse_escape(struct lmi_rx_parser *ps)
{
	static const struct {
		char c;
		enum lmi_rx_assert a;
	} asserts[] = {{'b', LMI_RX_WORD}, {'B', LMI_RX_NOT_WORD}, {'A', LMI_RX_BEGIN},
		       {'z', LMI_RX_END}};
	uint32_t set;
	char c;

	if (ps->p == ps->end)
		return lmi_rx_fail(ps, LMD_INVALID, "\\ at the end");
	c = *ps->p++;
	for (size_t i = 0; i < LMD_LEN(asserts); i++)
		if (c == asserts[i].c)
			return new_node(ps, LMI_RX_ASSERT, asserts[i].a);
	set = lmi_rx_class_escape(ps, c);
	if (set != LMI_RX_INF)
		return new_node(ps, LMI_RX_SET, set);
	if (ps->t->st != LMD_OK)
		return LMI_RX_INF;
	return char_node(ps, lmi_rx_char_escape(ps, c));
}

static uint32_t parse_atom(struct lmi_rx_parser *ps)
{
	uint32_t node, set;
	char c = *ps->p;

	switch (c) {
	case '(':
		ps->p++;
		if (ps->p < ps->end && *ps->p == '?') {
			ps->p++;
			return parse_special_group(ps);
		}
		node = parse_alt(ps);
		if (ps->t->st != LMD_OK)
			return LMI_RX_INF;
		if (ps->p == ps->end)
			return lmi_rx_fail(ps, LMD_INVALID, "( without )");
		ps->p++;
		return node;
	case '[':
		ps->p++;
		set = lmi_rx_parse_set(ps);
		return new_node(ps, LMI_RX_SET, set);
	case '\\':
		ps->p++;
		return parse_escape(ps);
	case '^':
	case '$':
		ps->p++;
		if (ps->ruby)
			return new_node(ps, LMI_RX_ASSERT,
					c == '^' ? LMI_RX_LINE_BEGIN : LMI_RX_LINE_END);
		return new_node(ps, LMI_RX_ASSERT, c == '^' ? LMI_RX_BEGIN : LMI_RX_END);
	case '.':
		ps->p++;
		set = lmi_rx_new_set(ps);
		if (set != LMI_RX_INF) {
			lmi_rx_add_range(ps, set, '\n', '\n');
			lmi_rx_set(ps->t, set)->neg = true;
		}
		return new_node(ps, LMI_RX_SET, set);
	case '*':
	case '+':
	case '?':
		return lmi_rx_fail(ps, LMD_INVALID, "nothing to repeat");
	default:
		return char_node(ps, lmi_utf8_get(&ps->p, ps->end));
	}
}

static bool parse_number(struct lmi_rx_parser *ps, uint32_t *out)
{
	uint32_t v = 0;
	const char *at = ps->p;

	while (ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9') {
		v = v * 10 + (uint32_t)(*ps->p++ - '0');
		if (v > 65535)
			return lmi_rx_fail(ps, LMD_UNSUPPORTED, "repeated more than 65535 times"),
			       false;
	}
	*out = v;
	return ps->p > at;
}

/* Parses {n} {n,} {n,m} at p; returns false and reads nothing if it is not a quantifier. */
static bool parse_braces(struct lmi_rx_parser *ps, uint32_t *min, uint32_t *max)
{
	const char *at = ps->p;

	ps->p++;
	if (parse_number(ps, min)) {
		*max = *min;
		if (ps->p < ps->end && *ps->p == ',') {
			ps->p++;
			if (!parse_number(ps, max))
				*max = LMI_RX_INF;
		}
		if (ps->p < ps->end && *ps->p == '}') {
			ps->p++;
			return true;
		}
	}
	ps->p = at;
	return false;
}

static uint32_t parse_repeat(struct lmi_rx_parser *ps)
{
	uint32_t atom = parse_atom(ps);

	while (ps->t->st == LMD_OK && ps->p < ps->end) {
		uint32_t min = 0, max = LMI_RX_INF, rep;
		uint8_t mode = LMI_RX_GREEDY;
		bool braces = *ps->p == '{';

		if (braces) {
			if (!parse_braces(ps, &min, &max))
				break;
			if (ps->t->st == LMD_OK && max < min)
				return lmi_rx_fail(ps, LMD_INVALID, "{n,m} with m < n");
		} else if (*ps->p == '*' || *ps->p == '+' || *ps->p == '?') {
			min = *ps->p == '+';
			max = *ps->p == '?' ? 1 : LMI_RX_INF;
			ps->p++;
		} else {
			break;
		}
		if (ps->p < ps->end && (*ps->p == '?' || (*ps->p == '+' && !(braces && ps->ruby))))
			mode = *ps->p++ == '+' ? LMI_RX_POSSESSIVE : LMI_RX_LAZY;
		rep = new_node(ps, LMI_RX_REP, atom);
		if (rep == LMI_RX_INF)
			break;
		lmi_rx_node(ps->t, rep)->min = min;
		lmi_rx_node(ps->t, rep)->max = max;
		lmi_rx_node(ps->t, rep)->mode = mode;
		atom = rep;
	}
	return ps->t->st == LMD_OK ? atom : LMI_RX_INF;
}

/* Links a child that has no sibling yet after *last. */
static void append(struct lmi_rx_parser *ps, uint32_t parent, uint32_t *last, uint32_t child)
{
	if (ps->t->st != LMD_OK)
		return;
	if (*last == LMI_RX_INF)
		lmi_rx_node(ps->t, parent)->a = child;
	else
		lmi_rx_node(ps->t, *last)->next = child;
	*last = child;
}

static uint32_t parse_cat(struct lmi_rx_parser *ps)
{
	uint32_t cat = LMI_RX_INF, last = LMI_RX_INF, item;

	while (ps->t->st == LMD_OK && ps->p < ps->end && *ps->p != '|' && *ps->p != ')') {
		item = parse_repeat(ps);
		if (cat == LMI_RX_INF)
			cat = new_node(ps, LMI_RX_CAT, LMI_RX_INF);
		append(ps, cat, &last, item);
	}
	if (ps->t->st != LMD_OK)
		return LMI_RX_INF;
	if (cat == LMI_RX_INF)
		return new_node(ps, LMI_RX_EMPTY, 0);
	item = lmi_rx_node(ps->t, cat)->a;
	return lmi_rx_node(ps->t, item)->next == LMI_RX_INF ? item : cat;
}

static uint32_t parse_alt(struct lmi_rx_parser *ps)
{
	bool icase = ps->icase;
	uint32_t alt = LMI_RX_INF, last = LMI_RX_INF, item;

	if (++ps->depth > LMI_RX_MAX_DEPTH)
		return lmi_rx_fail(ps, LMD_UNSUPPORTED, "nested more than 32 deep");
	item = parse_cat(ps);
	while (ps->t->st == LMD_OK && ps->p < ps->end && *ps->p == '|') {
		ps->p++;
		if (alt == LMI_RX_INF) {
			alt = new_node(ps, LMI_RX_ALT, LMI_RX_INF);
			append(ps, alt, &last, item);
		}
		item = parse_cat(ps);
		append(ps, alt, &last, item);
	}
	ps->depth--;
	ps->icase = icase;
	if (ps->t->st != LMD_OK)
		return LMI_RX_INF;
	return alt == LMI_RX_INF ? item : alt;
}

uint32_t lmi_rx_parse(struct lmi_rx_tree *t, const char *pattern, size_t bytes, uint32_t flags)
{
	struct lmi_rx_parser ps = {.t = t, .begin = pattern, .p = pattern, .end = pattern + bytes,
			    .icase = flags & LMI_RX_NOCASE, .ruby = flags & LMI_RX_RUBY};
	uint32_t root;

	t->word = LMI_RX_INF;
	if (ps.ruby) {
		t->word = lmi_rx_class_escape(&ps, 'w');
		if (t->st != LMD_OK)
			return LMI_RX_INF;
	}
	root = parse_alt(&ps);

	if (t->st == LMD_OK && ps.p < ps.end)
		return lmi_rx_fail(&ps, LMD_INVALID, ") without (");
	return t->st == LMD_OK ? root : LMI_RX_INF;
}
