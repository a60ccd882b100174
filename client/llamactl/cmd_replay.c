/* SPDX-License-Identifier: MIT
 *
 * llamactl replay: generates the answer of an earlier request again. */
#include <stdio.h>
#include <string.h>

#include "client/lib/client.h"
#include "client/llamactl/answer_opts.h"
#include "client/llamactl/generation.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/remote.h"

static enum lmd_status info_of(struct lmi_ctl *ctl, const char *id, json_t **out, struct lmd_error *err)
{
	return lmi_ctl_remote_call(ctl, "replay_info", json_pack("{s:s}", "id", id), out, err);
}

static const char *text(const json_t *o, const char *member)
{
	return json_string_value(json_object_get(o, member));
}

/* Fails unless both answers have the same digest. */
static enum lmd_status compare(const json_t *first, const json_t *again, struct lmd_error *err)
{
	const char *want = text(first, "digest"), *have = text(again, "digest");

	if (want && have && !strcmp(want, have))
		return LMD_OK;
	return lmd_fail(err, LMD_CORRUPT,
			"the answer differs from the first one: its digest is %s (%lld tokens), that of "
			"the first one %s (%lld tokens)",
			have ? have : "", (long long)json_integer_value(json_object_get(again, "n_out")),
			want ? want : "", (long long)json_integer_value(json_object_get(first, "n_out")));
}

static enum lmd_status verify(struct lmi_ctl *ctl, const json_t *first, const char *id,
			      struct lmd_error *err)
{
	json_t *again = NULL;
	enum lmd_status st = info_of(ctl, id, &again, err);

	if (st == LMD_NOTFOUND)
		return lmd_fail(err, LMD_NOTFOUND,
				"the new answer was not kept, so that it cannot be compared: raise "
				"replay_requests or replay_bytes in [limits]");
	if (st == LMD_OK)
		st = compare(first, again, err);
	if (st == LMD_OK && !lmi_arg_flag(&ctl->args, "json"))
		fprintf(stderr, "the answer is the same: %s\n", text(first, "digest"));
	json_decref(again);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *id = lmi_arg_pos(&ctl->args, 0);
	bool json = lmi_arg_flag(&ctl->args, "json");
	struct lmi_ctl_answer a = {.printer = {.json = json}};
	json_t *first = NULL;
	enum lmd_status st = lmi_ctl_answer_printer_init(&a.printer, ctl, err);

	lmi_ctl_interrupt_install(); /* Ctrl-C cancels the new request */
	if (st == LMD_OK)
		st = info_of(ctl, id, &first, err);
	if (st == LMD_OK)
		st = lmi_ctl_replay(ctl, id, &a, err);
	lmi_ctl_answer_printer_end_line(&a.printer, st);
	if (st == LMD_OK && lmi_arg_flag(&ctl->args, "verify"))
		st = verify(ctl, first, a.id, err);
	if (st == LMD_OK && json) {
		(void)json_object_set_new(first, "replay", json_string(a.id));
		lmi_ctl_remote_print(first);
	}
	lmi_ctl_answer_fini(&a);
	json_decref(first);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "verify",
	 .type = LMI_OPT_FLAG,
	 .doc = "Compare the digests of the two answers; it is an error if they differ."},
	LMI_CTL_OPTS_REASONING,
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_replay = {
	.name = "replay",
	.args = "ID",
	.brief = "Generate the answer of an earlier request again",
	.doc = "ID is the id that `generate --json` printed. The daemon must keep requests "
	       "(replay_requests in [limits]): the request with its settings, its seed and the digests of "
	       "model and answer, but not the answer. The answer is printed as it comes. It is an error "
	       "if the model's file has changed since.\n\nWith --json: an object with what is known of the earlier "
	       "request (model, model_digest, seed, n_prompt, n_out, finish, digest, bytes) and the id of "
	       "the new one, replay.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
