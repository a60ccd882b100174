/* SPDX-License-Identifier: MIT
 *
 * llamactl embed: the embeddings of texts, by a model of the daemon or a file. */
#include <stdio.h>
#include <string.h>

#include "client/lib/client.h"
#include "client/llamactl/daemon_model.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/input_texts.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/remote.h"

/* ---- output ---- */

static double product(const struct lmi_wire_embedding *a, const struct lmi_wire_embedding *b)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->n_vector; i++)
		sum += a->vector[i] * b->vector[i];
	return sum;
}

static void print_json(const struct lmi_wire_rep_embed *r)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_array(&j, "embeddings");
	for (uint32_t i = 0; i < r->n_embeddings; i++) {
		lmi_ctl_json_flat_object(&j, NULL);
		lmi_ctl_json_int(&j, "input", r->embeddings[i].input);
		lmi_ctl_json_flat_array(&j, "vector");
		for (uint32_t k = 0; k < r->embeddings[i].n_vector; k++)
			lmi_ctl_json_f32(&j, NULL, (float)r->embeddings[i].vector[k]);
		lmi_ctl_json_end(&j);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_int(&j, "n_prompt", r->n_prompt);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static void print_plain(const struct lmi_wire_rep_embed *r)
{
	for (uint32_t i = 0; i < r->n_embeddings; i++) {
		for (uint32_t k = 0; k < r->embeddings[i].n_vector; k++)
			printf("%s%.8g", k ? " " : "", r->embeddings[i].vector[k]);
		putchar('\n');
	}
}

static void print_similarity(const struct lmi_wire_rep_embed *r, bool json)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	if (json) {
		lmi_ctl_json_object(&j, NULL);
		lmi_ctl_json_array(&j, "similarity");
	}
	for (uint32_t i = 0; i < r->n_embeddings; i++) {
		if (json)
			lmi_ctl_json_flat_array(&j, NULL);
		for (uint32_t k = 0; k < r->n_embeddings; k++) {
			double v = product(&r->embeddings[i], &r->embeddings[k]);

			if (json)
				lmi_ctl_json_f64(&j, NULL, v);
			else
				printf("%s%7.4f", k ? " " : "", v);
		}
		if (json)
			lmi_ctl_json_end(&j);
		else
			putchar('\n');
	}
	if (json) {
		lmi_ctl_json_end(&j);
		lmi_ctl_json_end(&j);
		lmi_ctl_json_fini(&j);
	}
}

/* ---- the command ---- */

static enum lmd_status request(struct lmi_ctl *ctl, const struct lmi_ctl_texts *t,
			       struct lmi_client_answer *out, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *model = lmi_arg_pos(a, 0);
	struct lmi_wire_request req;
	struct lmd_client *c;
	enum lmd_status st;
	bool is_file = !lmi_ctl_is_named(ctl, model);

	if (is_file) {
		st = lmi_ctl_open_file(ctl, model, err);
		if (st != LMD_OK)
			return st;
	}
	st = lmi_ctl_client(ctl, &c, err);
	if (st != LMD_OK)
		return st;
	lmi_wire_request_init(&req, LMI_WIRE_OP_EMBED);
	req.u.embed.model = (struct lmd_str){.ptr = model, .len = strlen(model)};
	req.u.embed.has_inputs = true;
	req.u.embed.inputs = t->v;
	req.u.embed.n_inputs = t->n;
	req.u.embed.pooling = (enum lmi_wire_pooling)(LMI_WIRE_POOLING_AUTO + lmi_arg_int(a, "pooling"));
	req.u.embed.normalize = !lmi_arg_flag(a, "no-normalize");
	req.u.embed.dimensions = lmi_arg_int(a, "dimensions");
	req.u.embed.truncate = lmi_arg_flag(a, "truncate");
	st = lmi_client_exchange(c, &req, LMI_WIRE_LIMIT_WAIT_MAX, out, err);
	return is_file && st != LMD_CANCELLED ? lmi_ctl_name_file(st, model, err) : st;
}

static enum lmd_status embed(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	bool json = lmi_arg_flag(a, "json");
	struct lmi_ctl_texts t = {0};
	struct lmi_client_answer reply = {0};
	enum lmd_status st = lmi_ctl_texts_read(&t, a, 1, err);

	if (st == LMD_OK)
		st = request(ctl, &t, &reply, err);
	if (st == LMD_OK && lmi_arg_flag(a, "similarity"))
		print_similarity(&reply.r.u.embed, json);
	else if (st == LMD_OK && json)
		print_json(&reply.r.u.embed);
	else if (st == LMD_OK)
		print_plain(&reply.r.u.embed);
	lmi_client_reply_fini(&reply);
	lmi_ctl_texts_fini(&t);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "pooling",
	 .type = LMI_OPT_CHOICE,
	 .value = "auto|none|mean|cls|last|rank",
	 .def = "auto",
	 .doc = "How the vectors of a text's tokens become one; none prints one per token, auto does "
		"as the model specifies, or takes the mean; rank prints the outputs of a classifier."},
	{.name = "dimensions",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .min = 1,
	 .max = 1 << 20,
	 .def_text = "all",
	 .doc = "Keep only the first N numbers of each vector, for models that were trained for it."},
	{.name = "no-normalize",
	 .type = LMI_OPT_FLAG,
	 .doc = "Do not scale vectors to the Euclidean length 1."},
	{.name = "truncate",
	 .type = LMI_OPT_FLAG,
	 .doc = "Cut texts that are longer than the context; otherwise they are an error."},
	{.name = "similarity",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print the products of all pairs of vectors, a row per text: cosine similarities "
		"unless --no-normalize is given."},
	LMI_CTL_OPTS_ENGINE,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_embed = {
	.name = "embed",
	.args = "MODEL [TEXT]...",
	.brief = "Compute embeddings of texts",
	.doc = "Prints one vector per line, its numbers separated by spaces. The texts are the "
	       "arguments or, if there are none, the lines of standard input that are not empty. MODEL is a "
	       "file, or else the name of a model of the daemon, on which the engine options have no "
	       "effect.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = embed,
};
