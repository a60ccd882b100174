/* SPDX-License-Identifier: MIT
 *
 * Scopes and the evaluation of expressions. */
#include <string.h>

#include "core/jinja/eval.h"

struct lmi_jinja_scope *lmi_jinja_scope_new(struct lmi_jinja_run *run,
					    struct lmi_jinja_scope *parent)
{
	struct lmi_jinja_scope *s = lmi_jinja_run_alloc(run, sizeof(*s));

	if (s)
		s->parent = parent;
	return s;
}

static bool same_name(struct lmd_str a, struct lmd_str b)
{
	return a.len == b.len && (a.ptr == b.ptr || !memcmp(a.ptr, b.ptr, a.len));
}

void lmi_jinja_scope_set(struct lmi_jinja_run *run, struct lmi_jinja_scope *s, struct lmd_str name,
			 struct lmi_jinja_val v)
{
	if (!lmi_jinja_run_step(run, s->n / 8))
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		if (same_name(s->var[i].name, name)) {
			s->var[i].v = v;
			return;
		}
	}
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 4;
		struct lmi_jinja_var *p = lmi_jinja_run_alloc(run, cap * sizeof(*p));

		if (!p)
			return;
		if (s->n)
			memcpy(p, s->var, s->n * sizeof(*p));
		s->var = p;
		s->cap = cap;
	}
	s->var[s->n++] = (struct lmi_jinja_var){name, v};
}

struct lmi_jinja_val lmi_jinja_scope_get(struct lmi_jinja_run *run, const struct lmi_jinja_scope *s,
					 struct lmd_str name)
{
	const struct lmi_jinja_builtin *f;
	const struct lmi_jinja_val *v;

	for (; s && lmi_jinja_run_step(run, s->n / 8); s = s->parent) {
		for (uint32_t i = 0; i < s->n; i++) {
			if (same_name(s->var[i].name, name))
				return s->var[i].v;
		}
	}
	v = lmi_jinja_dict_find_str(run, run->vars, name.ptr, name.len);
	if (v)
		return *v;
	f = lmi_jinja_global_find(name.ptr, name.len);
	return f ? lmi_jinja_builtin_value(run, f, lmi_jinja_none())
		 : lmi_jinja_undef(name.ptr, name.len);
}

/* Arguments */

static void add_star(struct lmi_jinja_run *run, struct lmi_jinja_list *pos, struct lmi_jinja_val v)
{
	const struct lmi_jinja_list *l = lmi_jinja_val_items(run, v);

	for (uint32_t i = 0; l && i < l->n && lmi_jinja_run_step(run, 1); i++)
		lmi_jinja_list_add(run, pos, l->v[i]);
}

static uint32_t add_star_star(struct lmi_jinja_run *run, struct lmi_jinja_kwarg *kw, uint32_t n,
			      const struct lmi_jinja_dict *d)
{
	for (uint32_t i = 0; i < d->n && lmi_jinja_run_step(run, n + 1); i++) {
		struct lmd_str name = {d->e[i].key.u.s, d->e[i].key.n};

		if (d->e[i].key.kind != LMI_JINJA_V_STR) {
			lmi_jinja_run_fail(run, "keywords must be strings");
			return n;
		}
		for (uint32_t k = 0; k < n; k++) {
			if (same_name(kw[k].name, name))
				lmi_jinja_run_fail(run, "argument '%.*s' is given twice",
						   (int)name.len, name.ptr);
		}
		kw[n++] = (struct lmi_jinja_kwarg){name, d->e[i].value};
	}
	return n;
}

bool lmi_jinja_run_eval_args(struct lmi_jinja_run *run, const struct lmi_jinja_arg_nodes *in,
			     struct lmi_jinja_scope *s, struct lmi_jinja_call_args *out)
{
	struct lmi_jinja_list *pos;
	struct lmi_jinja_kwarg *kw = NULL;
	struct lmi_jinja_val more = lmi_jinja_none();
	uint32_t n_kw = 0;

	*out = (struct lmi_jinja_call_args){0};
	if (!in)
		return !run->failed;
	pos = lmi_jinja_list_new(run).u.list;
	for (uint32_t i = 0; i < in->pos.n && !run->failed; i++)
		lmi_jinja_list_add(run, pos, lmi_jinja_run_eval(run, in->pos.v[i], s));
	if (in->star)
		add_star(run, pos, lmi_jinja_run_eval(run, in->star, s));
	if (in->n_kw || in->star_star) {
		/* named arguments are evaluated in order, the ** dictionary last */
		kw = lmi_jinja_run_alloc(run, (in->n_kw + 1) * sizeof(*kw));
		for (uint32_t i = 0; kw && i < in->n_kw && !run->failed; i++)
			kw[n_kw++] = (struct lmi_jinja_kwarg){
				in->kw[i].name, lmi_jinja_run_eval(run, in->kw[i].value, s)};
	}
	if (in->star_star) {
		more = lmi_jinja_run_eval(run, in->star_star, s);
		if (more.kind != LMI_JINJA_V_DICT && !run->failed)
			lmi_jinja_run_fail(run, "the value after ** must be a dictionary, not %s",
					   lmi_jinja_val_type(more));
	}
	if (more.kind == LMI_JINJA_V_DICT && more.u.dict->n && !run->failed) {
		struct lmi_jinja_kwarg *all =
			lmi_jinja_run_alloc(run, (n_kw + more.u.dict->n) * sizeof(*all));

		if (!all)
			return false;
		if (n_kw)
			memcpy(all, kw, n_kw * sizeof(*all));
		kw = all;
		n_kw = add_star_star(run, kw, n_kw, more.u.dict);
	}
	*out = (struct lmi_jinja_call_args){.pos = pos->v, .n_pos = pos->n, .kw = kw, .n_kw = n_kw};
	return !run->failed;
}

/* Parts of expressions */

static struct lmi_jinja_val eval_list(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				      struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val l = lmi_jinja_list_new(run);

	for (uint32_t i = 0; i < n->kids.n && !run->failed; i++)
		lmi_jinja_list_add(run, l.u.list, lmi_jinja_run_eval(run, n->kids.v[i], s));
	return l;
}

static struct lmi_jinja_val eval_dict(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				      struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val d = lmi_jinja_dict_new(run);

	for (uint32_t i = 0; i + 1 < n->kids.n && !run->failed; i += 2) {
		struct lmi_jinja_val key = lmi_jinja_run_eval(run, n->kids.v[i], s);

		lmi_jinja_dict_set(run, d.u.dict, key,
				   lmi_jinja_run_eval(run, n->kids.v[i + 1], s));
	}
	return d;
}

static bool relation_holds(struct lmi_jinja_run *run, enum lmi_jinja_rel rel,
			   struct lmi_jinja_val a, struct lmi_jinja_val b)
{
	switch (rel) {
	case LMI_JINJA_REL_EQ:
		return lmi_jinja_val_equal(run, a, b);
	case LMI_JINJA_REL_NE:
		return !lmi_jinja_val_equal(run, a, b);
	case LMI_JINJA_REL_IN:
		return lmi_jinja_val_contains(run, b, a);
	case LMI_JINJA_REL_NOT_IN:
		return !lmi_jinja_val_contains(run, b, a);
	case LMI_JINJA_REL_LT:
	case LMI_JINJA_REL_LE:
	case LMI_JINJA_REL_GT:
	case LMI_JINJA_REL_GE:
		break;
	}
	return lmi_jinja_val_compare(run, (enum lmi_jinja_cmp)rel, a, b);
}

/* Evaluates a < b < c: each operand is evaluated once; stops at the first false comparison. */
static struct lmi_jinja_val eval_compare(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					 struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val a = lmi_jinja_run_eval(run, n->a, s);

	for (uint32_t i = 0; i < n->kids.n && !run->failed; i++) {
		struct lmi_jinja_val b = lmi_jinja_run_eval(run, n->kids.v[i]->a, s);

		if (run->failed ||
		    !relation_holds(run, (enum lmi_jinja_rel)n->kids.v[i]->sub, a, b))
			return lmi_jinja_bool(false);
		a = b;
	}
	return lmi_jinja_bool(true);
}

/* With automatic escaping, one safe string causes the others to be escaped and the result to be
 * safe. */
static struct lmi_jinja_val eval_concat(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val parts = eval_list(run, n, s), out = lmi_jinja_strn("", 0);
	bool safe = false;

	for (uint32_t i = 0; run->autoescape && i < parts.u.list->n; i++)
		safe |= parts.u.list->v[i].kind == LMI_JINJA_V_STR &&
			parts.u.list->v[i].flags & LMI_JINJA_VF_SAFE;
	for (uint32_t i = 0; i < parts.u.list->n && lmi_jinja_run_step(run, 1); i++) {
		struct lmi_jinja_val v = parts.u.list->v[i];

		v = safe ? lmi_jinja_val_escape(run, v) : lmi_jinja_val_text(run, v);
		out = lmi_jinja_str_concat(run, out, v);
	}
	out.flags = safe ? LMI_JINJA_VF_SAFE : 0;
	return out;
}

static struct lmi_jinja_val eval_item(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				      struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val v = lmi_jinja_run_eval(run, n->a, s), part[3];
	const struct lmi_jinja_node *ends[3] = {n->b->a, n->b->b, n->b->c};

	if (n->b->op != LMI_JINJA_N_SLICE)
		return lmi_jinja_val_item(run, v, lmi_jinja_run_eval(run, n->b, s));
	for (int i = 0; i < 3; i++)
		part[i] = ends[i] ? lmi_jinja_run_eval(run, ends[i], s) : lmi_jinja_none();
	return run->failed ? v : lmi_jinja_val_slice(run, v, part[0], part[1], part[2]);
}

static struct lmi_jinja_val eval_call(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				      struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val callee = lmi_jinja_run_eval(run, n->a, s), out = lmi_jinja_none();
	struct lmi_jinja_call_args args;

	if (lmi_jinja_run_eval_args(run, n->args, s, &args)) {
		run->line = n->line;
		out = lmi_jinja_val_call(run, callee, &args);
	}
	return out;
}

static struct lmi_jinja_val unknown(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				    const char *what)
{
	lmi_jinja_run_fail(run, "unknown %s '%.*s'", what, (int)n->name.len, n->name.ptr);
	return lmi_jinja_none();
}

static struct lmi_jinja_val apply_filter(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					 struct lmi_jinja_scope *s, struct lmi_jinja_val v)
{
	struct lmi_jinja_call_args args;

	if (!n->f)
		return unknown(run, n, "filter");
	if (!lmi_jinja_run_eval_args(run, n->args, s, &args))
		return v;
	run->line = n->line;
	return lmi_jinja_builtin_call(run, n->f, v, &args);
}

struct lmi_jinja_val lmi_jinja_run_eval_filters(struct lmi_jinja_run *run,
						const struct lmi_jinja_node *chain,
						struct lmi_jinja_scope *s, struct lmi_jinja_val v)
{
	if (!chain || !lmi_jinja_run_enter(run))
		return v;
	v = lmi_jinja_run_eval_filters(run, chain->a, s, v);
	v = run->failed ? v : apply_filter(run, chain, s, v);
	lmi_jinja_run_leave(run);
	return v;
}

static struct lmi_jinja_val eval_test(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				      struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val v = lmi_jinja_run_eval(run, n->a, s), r;
	struct lmi_jinja_call_args args;

	if (!n->f)
		return unknown(run, n, "test");
	if (!lmi_jinja_run_eval_args(run, n->args, s, &args))
		return v;
	run->line = n->line;
	r = lmi_jinja_builtin_call(run, n->f, v, &args);
	return n->sub ? lmi_jinja_bool(!lmi_jinja_val_truth(r)) : r;
}

static struct lmi_jinja_val eval_any(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
				     struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val a, b;

	switch ((enum lmi_jinja_op)n->op) {
	case LMI_JINJA_N_CONST:
		return n->value;
	case LMI_JINJA_N_NAME:
		return lmi_jinja_scope_get(run, s, n->name);
	case LMI_JINJA_N_TUPLE:
		return lmi_jinja_as_tuple(eval_list(run, n, s));
	case LMI_JINJA_N_LIST:
		return eval_list(run, n, s);
	case LMI_JINJA_N_DICT:
		return eval_dict(run, n, s);
	case LMI_JINJA_N_IF:
		if (lmi_jinja_val_truth(lmi_jinja_run_eval(run, n->b, s)))
			return lmi_jinja_run_eval(run, n->a, s);
		return n->c ? lmi_jinja_run_eval(run, n->c, s)
			    : lmi_jinja_undef("value of an if without else", 27);
	case LMI_JINJA_N_OR:
		a = lmi_jinja_run_eval(run, n->a, s);
		return lmi_jinja_val_truth(a) || run->failed ? a : lmi_jinja_run_eval(run, n->b, s);
	case LMI_JINJA_N_AND:
		a = lmi_jinja_run_eval(run, n->a, s);
		return !lmi_jinja_val_truth(a) || run->failed ? a
							      : lmi_jinja_run_eval(run, n->b, s);
	case LMI_JINJA_N_NOT:
		return lmi_jinja_bool(!lmi_jinja_val_truth(lmi_jinja_run_eval(run, n->a, s)));
	case LMI_JINJA_N_COMPARE:
		return eval_compare(run, n, s);
	case LMI_JINJA_N_CONCAT:
		return eval_concat(run, n, s);
	case LMI_JINJA_N_BINARY:
		a = lmi_jinja_run_eval(run, n->a, s);
		b = lmi_jinja_run_eval(run, n->b, s);
		run->line = n->line;
		return lmi_jinja_val_binary(run, (enum lmi_jinja_binop)n->sub, a, b);
	case LMI_JINJA_N_NEG:
		return lmi_jinja_val_negate(run, lmi_jinja_run_eval(run, n->a, s));
	case LMI_JINJA_N_POS:
		return lmi_jinja_val_positive(run, lmi_jinja_run_eval(run, n->a, s));
	case LMI_JINJA_N_ATTR:
		a = lmi_jinja_run_eval(run, n->a, s);
		run->line = n->line;
		return run->failed ? a : lmi_jinja_val_attr(run, a, n->name.ptr, n->name.len);
	case LMI_JINJA_N_ITEM:
		return eval_item(run, n, s);
	case LMI_JINJA_N_CALL:
		return eval_call(run, n, s);
	case LMI_JINJA_N_FILTER:
		a = lmi_jinja_run_eval(run, n->a, s);
		return run->failed ? a : apply_filter(run, n, s, a);
	case LMI_JINJA_N_TEST:
		return eval_test(run, n, s);
	default: /* a slice outside brackets or a statement: the parser does not put them here */
		lmi_jinja_run_fail(run, "a slice is only allowed inside brackets");
		return lmi_jinja_none();
	}
}

struct lmi_jinja_val lmi_jinja_run_eval(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					struct lmi_jinja_scope *s)
{
	struct lmi_jinja_val v;

	if (!lmi_jinja_run_step(run, 1) || !lmi_jinja_run_enter(run))
		return lmi_jinja_none();
	run->line = n->line;
	v = eval_any(run, n, s);
	lmi_jinja_run_leave(run);
	return v;
}
