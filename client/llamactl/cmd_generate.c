/* SPDX-License-Identifier: MIT
 *
 * llamactl generate: text from a running daemon. Standard output carries the answer and nothing
 * else, as with `run`. */
#include <string.h>
#include <sys/stat.h>

#include "client/llamactl/answer_opts.h"
#include "client/llamactl/generation.h"
#include "client/llamactl/interrupt.h"

/* After a rejected request, suggests `run` if the name is that of a file. */
static void suggest_run(const char *name, struct lmd_error *err)
{
	struct lmd_error e = *err;
	struct stat f;

	if (strstr(e.text, name) && !stat(name, &f))
		(void)lmd_fail(err, e.status,
			       "%.200s; to run a file without the daemon: llamactl run %.200s",
			       e.text, name);
}

static void set_scheduling(struct lmi_wire_req_generate *q, const struct lmi_args *a)
{
	static const enum lmi_wire_class classes[] = {LMI_WIRE_CLASS_INTERACTIVE,
						      LMI_WIRE_CLASS_NORMAL, LMI_WIRE_CLASS_BATCH};

	q->class = classes[lmi_arg_int(a, "class")];
	q->durable = lmi_arg_flag(a, "durable");
	q->has_timeout_ms = lmi_arg_given(a, "timeout");
	q->timeout_ms = q->has_timeout_ms ? lmi_arg_int(a, "timeout") : 0;
}

static enum lmd_status generate(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_ctl_generation g;
	enum lmd_status st = lmi_ctl_generation_init(&g, ctl, err);

	lmi_ctl_interrupt_install();
	set_scheduling(&g.req.u.generate, &ctl->args);
	if (lmi_arg_given(&ctl->args, "hold"))
		g.hold_ms = (int32_t)lmi_arg_int(&ctl->args, "hold");
	if (st == LMD_OK)
		st = lmi_ctl_generate_once(&g, lmi_arg_str(&ctl->args, "prompt"), true, err);
	if (st == LMD_NOTFOUND || st == LMD_INVALID)
		suggest_run(lmi_arg_pos(&ctl->args, 0), err);
	lmi_ctl_generation_fini(&g);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "prompt",
	 .letter = 'p',
	 .type = LMI_OPT_STR,
	 .value = "TEXT",
	 .def_text = "all of standard input",
	 .doc = "The message to the model; a model without a chat template continues it."},
	LMI_CTL_OPTS_ANSWER,
	{.name = "timeout",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 1,
	 .max = 86400000,
	 .def_text = "the daemon's",
	 .doc = "Deadline of the answer, including the time that it waits for its turn. What was "
		"generated until then is printed."},
	{.name = "class",
	 .type = LMI_OPT_CHOICE,
	 .value = "interactive|normal|batch",
	 .def = "interactive",
	 .doc = "Priority among the requests of the daemon."},
	{.name = "hold",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .min = 0,
	 .max = 1000,
	 .def_text = "25ms",
	 .doc = "Output batching delay: how long the daemon collects text before it sends it; "
		"0ms sends each token at once."},
	{.name = "durable",
	 .type = LMI_OPT_FLAG,
	 .doc = "If the daemon is stopped, killed or replaced, the answer goes on when it has started "
		"again; this command waits for that, for up to a minute. The daemon writes the prompt "
		"and the answer to its state folder meanwhile."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_generate = {
	.name = "generate",
	.args = "NAME",
	.brief = "Generate text with a model of the daemon",
	.doc = "Works like `run`, but the daemon computes the answer. The answer goes to "
	       "standard output as it is generated, followed by a newline if it does not end in "
	       "one. The model is loaded if it is not in memory. Ctrl-C, or the end of this "
	       "program, cancels the request after the current step.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = generate,
};
