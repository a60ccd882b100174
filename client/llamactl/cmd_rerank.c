/* SPDX-License-Identifier: MIT
 *
 * llamactl rerank: scores of texts by a query, by a reranker of the daemon or a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/client.h"
#include "client/llamactl/daemon_model.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/input_texts.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"

/* ---- output ---- */

struct ranked {
	uint32_t index;
	double score;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void print_json(const struct ranked *v, uint32_t n, int64_t n_prompt)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_array(&j, "results");
	for (uint32_t i = 0; i < n; i++) {
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_int(&j, "index", v[i].index);
		lmi_ctl_json_f64(&j, "score", v[i].score);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_int(&j, "n_prompt", n_prompt);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status print(const struct lmi_wire_rep_rerank *r, const struct lmi_ctl_texts *t,
			     const struct lmi_args *a, struct lmd_error *err)
{
	struct ranked *v = lmi_alloc(r->n_scores + 1, sizeof(*v));
	uint32_t n = r->n_scores;
	int64_t top = lmi_arg_given(a, "top") ? lmi_arg_int(a, "top") : n;

	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u scores", n);
	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct ranked){.index = i, .score = r->scores[i]};
	qsort(v, n, sizeof(*v), compare);
	n = top < n ? (uint32_t)top : n;
	if (lmi_arg_flag(a, "json"))
		print_json(v, n, r->n_prompt);
	for (uint32_t i = 0; i < n && !lmi_arg_flag(a, "json"); i++) {
		printf("%9.4f  ", v[i].score);
		(void)fwrite(t->v[v[i].index].ptr, 1, t->v[v[i].index].len, stdout);
		putchar('\n');
	}
	lmi_free(v);
	return LMD_OK;
}

/* ---- the command ---- */

static enum lmd_status request(struct lmi_ctl *ctl, const struct lmi_ctl_texts *t,
			       struct lmi_client_answer *out, struct lmd_error *err)
{
	const char *model = lmi_arg_pos(&ctl->args, 0), *query = lmi_arg_pos(&ctl->args, 1);
	struct lmi_wire_request req;
	struct lmd_client *c;
	bool is_file = !lmi_ctl_is_named(ctl, model);
	enum lmd_status st = is_file ? lmi_ctl_open_file(ctl, model, err) : LMD_OK;

	if (st == LMD_OK)
		st = lmi_ctl_client(ctl, &c, err);
	if (st != LMD_OK)
		return st;
	lmi_wire_request_init(&req, LMI_WIRE_OP_RERANK);
	req.u.rerank.model = (struct lmd_str){.ptr = model, .len = strlen(model)};
	req.u.rerank.query = (struct lmd_str){.ptr = query, .len = strlen(query)};
	req.u.rerank.documents = t->v;
	req.u.rerank.n_documents = t->n;
	req.u.rerank.truncate = lmi_arg_flag(&ctl->args, "truncate");
	st = lmi_client_exchange(c, &req, LMI_WIRE_LIMIT_WAIT_MAX, out, err);
	return is_file && st != LMD_CANCELLED ? lmi_ctl_name_file(st, model, err) : st;
}

static enum lmd_status rerank(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_ctl_texts t = {0};
	struct lmi_client_answer reply = {0};
	enum lmd_status st = lmi_ctl_texts_read(&t, &ctl->args, 2, err);

	if (st == LMD_OK)
		st = request(ctl, &t, &reply, err);
	if (st == LMD_OK)
		st = print(&reply.r.u.rerank, &t, &ctl->args, err);
	lmi_client_reply_fini(&reply);
	lmi_ctl_texts_fini(&t);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "top",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1 << 20,
	 .def_text = "all",
	 .doc = "Print only the N best texts."},
	{.name = "truncate",
	 .type = LMI_OPT_FLAG,
	 .doc = "Cut texts that are longer than the context; otherwise they are an error."},
	LMI_CTL_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_rerank = {
	.name = "rerank",
	.args = "MODEL QUERY [TEXT]...",
	.brief = "Sort texts by how well they answer a query",
	.doc = "Prints the texts with their scores, the best one first. The texts are the arguments "
	       "or, if there are none, the lines of standard input that are not empty. MODEL has to "
	       "be a reranker: a file, or else the name of a model of the daemon, on which the engine "
	       "options have no effect.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = rerank,
};
