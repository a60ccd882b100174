/* SPDX-License-Identifier: MIT
 *
 * The for statement and its variable `loop`.
 *
 * Items are drawn one by one: the condition of "for x in y if c" is evaluated only when its item is
 * needed, because the body may change what the condition depends on.  Looking ahead (loop.last,
 * loop.nextitem) draws one item early, loop.length draws all of them. */
#include <string.h>

#include "core/jinja/eval.h"

struct lmi_jinja_loop {
	const struct lmi_jinja_node *node;
	struct lmi_jinja_scope *outer;
	const struct lmi_jinja_list *items;
	uint32_t at;                  /* index of the next item to draw */
	struct lmi_jinja_list *lookahead; /* items drawn but not yet passed to the body */
	uint32_t lookahead_at;
	int64_t index0; /* index of the current item */
	uint32_t depth0;
	struct lmi_jinja_val current, previous;
	bool has_previous;
	/* arguments of the last loop.changed(), or NULL */
	struct lmi_jinja_list *last_changed_args;
};

/* Whether the item satisfies the condition. */
static bool passes(struct lmi_jinja_run *run, struct lmi_jinja_loop *l, struct lmi_jinja_val item)
{
	struct lmi_jinja_scope *s;

	if (!l->node->c)
		return true;
	s = lmi_jinja_scope_new(run, l->outer);
	if (!s)
		return false;
	lmi_jinja_run_assign(run, l->node->a, s, item);
	return lmi_jinja_val_truth(lmi_jinja_run_eval(run, l->node->c, s)) && !run->failed;
}

static bool draw(struct lmi_jinja_run *run, struct lmi_jinja_loop *l, struct lmi_jinja_val *out)
{
	while (l->at < l->items->n && lmi_jinja_run_step(run, 1)) {
		*out = l->items->v[l->at++];
		if (passes(run, l, *out))
			return true;
	}
	return false;
}

static bool next(struct lmi_jinja_run *run, struct lmi_jinja_loop *l, struct lmi_jinja_val *out)
{
	if (l->lookahead_at < l->lookahead->n) {
		*out = l->lookahead->v[l->lookahead_at++];
		return true;
	}
	return draw(run, l, out);
}

static bool peek(struct lmi_jinja_run *run, struct lmi_jinja_loop *l, struct lmi_jinja_val *out)
{
	if (l->lookahead_at == l->lookahead->n) {
		if (!draw(run, l, out))
			return false;
		lmi_jinja_list_add(run, l->lookahead, *out);
	}
	*out = l->lookahead->v[l->lookahead_at];
	return !run->failed;
}

static int64_t length(struct lmi_jinja_run *run, struct lmi_jinja_loop *l)
{
	struct lmi_jinja_val v;

	while (draw(run, l, &v))
		lmi_jinja_list_add(run, l->lookahead, v);
	return l->index0 + 1 + (l->lookahead->n - l->lookahead_at);
}

static bool is(const char *name, size_t n, const char *want)
{
	return n == strlen(want) && !memcmp(name, want, n);
}

bool lmi_jinja_loop_attr(struct lmi_jinja_run *run, struct lmi_jinja_loop *l, const char *name,
			 size_t n, struct lmi_jinja_val *out)
{
	struct lmi_jinja_val v;

	if (is(name, n, "index"))
		*out = lmi_jinja_int(l->index0 + 1);
	else if (is(name, n, "index0"))
		*out = lmi_jinja_int(l->index0);
	else if (is(name, n, "first"))
		*out = lmi_jinja_bool(l->index0 == 0);
	else if (is(name, n, "last"))
		*out = lmi_jinja_bool(!peek(run, l, &v));
	else if (is(name, n, "length"))
		*out = lmi_jinja_int(length(run, l));
	else if (is(name, n, "revindex"))
		*out = lmi_jinja_int(length(run, l) - l->index0);
	else if (is(name, n, "revindex0"))
		*out = lmi_jinja_int(length(run, l) - l->index0 - 1);
	else if (is(name, n, "depth"))
		*out = lmi_jinja_int(l->depth0 + 1);
	else if (is(name, n, "depth0"))
		*out = lmi_jinja_int(l->depth0);
	else if (is(name, n, "previtem"))
		*out = l->has_previous ? l->previous
				       : lmi_jinja_undef("loop.previtem of the first item", 31);
	else if (is(name, n, "nextitem"))
		*out = peek(run, l, &v) ? v : lmi_jinja_undef("loop.nextitem of the last item", 30);
	else
		return false;
	return true;
}

static struct lmi_jinja_val loop_cycle(struct lmi_jinja_run *run, struct lmi_jinja_val self,
				       const struct lmi_jinja_call_args *args)
{
	if (!args->n_pos || args->n_kw) {
		lmi_jinja_run_fail(run,
				   "cycle needs at least one item and takes no named arguments");
		return lmi_jinja_none();
	}
	return args->pos[self.u.loop->index0 % args->n_pos];
}

static struct lmi_jinja_val loop_changed(struct lmi_jinja_run *run, struct lmi_jinja_val self,
					 const struct lmi_jinja_call_args *args)
{
	struct lmi_jinja_loop *l = self.u.loop;
	struct lmi_jinja_list *now = lmi_jinja_list_new(run).u.list;
	bool same;

	for (uint32_t i = 0; i < args->n_pos; i++)
		lmi_jinja_list_add(run, now, args->pos[i]);
	same = l->last_changed_args &&
	       lmi_jinja_val_equal(run,
				   (struct lmi_jinja_val){.kind = LMI_JINJA_V_LIST, .u.list = now},
				   (struct lmi_jinja_val){.kind = LMI_JINJA_V_LIST,
							  .u.list = l->last_changed_args});
	l->last_changed_args = now;
	return lmi_jinja_bool(!same);
}

static const struct lmi_jinja_builtin methods[] = {
	{.name = "cycle", .raw = loop_cycle},
	{.name = "changed", .raw = loop_changed},
};

const struct lmi_jinja_table lmi_jinja_loop_methods = LMI_JINJA_TABLE(methods);

void lmi_jinja_loop_repr(struct lmi_jinja_str_buf *b, struct lmi_jinja_loop *l)
{
	lmi_jinja_buf_printf(b, "<LoopContext %lld/%lld>", (long long)l->index0 + 1,
			     (long long)length(b->run, l));
}

enum lmi_jinja_flow lmi_jinja_loop_exec(struct lmi_jinja_run *run, const struct lmi_jinja_node *n,
					struct lmi_jinja_scope *s, struct lmi_jinja_val items,
					uint32_t depth)
{
	struct lmi_jinja_loop *l = lmi_jinja_run_alloc(run, sizeof(*l));
	static const struct lmd_str loop_name = {"loop", 4};
	struct lmi_jinja_val item;
	bool any = false;

	if (!l)
		return LMI_JINJA_FLOW_NEXT;
	*l = (struct lmi_jinja_loop){.node = n,
				     .outer = s,
				     .items = lmi_jinja_val_items(run, items),
				     .lookahead = lmi_jinja_list_new(run).u.list,
				     .index0 = -1,
				     .depth0 = depth};
	while (!run->failed && next(run, l, &item)) {
		struct lmi_jinja_scope *inner = lmi_jinja_scope_new(run, s);

		if (!inner)
			break;
		any = true;
		l->previous = l->current;
		l->has_previous = l->index0 >= 0;
		l->current = item;
		l->index0++;
		lmi_jinja_scope_set(run, inner, loop_name,
				    (struct lmi_jinja_val){.kind = LMI_JINJA_V_LOOP, .u.loop = l});
		lmi_jinja_run_assign(run, n->a, inner, item);
		if (lmi_jinja_run_exec(run, &n->body, inner) == LMI_JINJA_FLOW_BREAK)
			break;
	}
	if (any || run->failed)
		return LMI_JINJA_FLOW_NEXT;
	s = lmi_jinja_scope_new(run, s);
	return s ? lmi_jinja_run_exec(run, &n->else_body, s) : LMI_JINJA_FLOW_NEXT;
}

struct lmi_jinja_val lmi_jinja_loop_call(struct lmi_jinja_run *run, struct lmi_jinja_loop *l,
					 const struct lmi_jinja_call_args *args)
{
	size_t from = run->n_out;

	if (!l->node->sub)
		lmi_jinja_run_fail(run, "the loop is not recursive");
	else if (args->n_pos != 1 || args->n_kw)
		lmi_jinja_run_fail(run, "loop() needs exactly one argument");
	if (run->failed || !lmi_jinja_run_enter(run))
		return lmi_jinja_none();
	/* break and continue do not leave that loop */
	(void)lmi_jinja_loop_exec(run, l->node, l->outer, args->pos[0], l->depth0 + 1);
	lmi_jinja_run_leave(run);
	return lmi_jinja_run_cut_output(run, from);
}
