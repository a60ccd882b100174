/* SPDX-License-Identifier: MIT
 *
 * llamactl run and chat: an answer, or a conversation, with a model that is meant by a word: a file
 * in this process, or a model of the daemon or of the user, downloaded if it is missing.  Standard
 * output carries the answers and nothing else. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/answer_opts.h"
#include "client/llamactl/chat.h"
#include "client/llamactl/embedded.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/model_choice.h"
#include "client/llamactl/remote.h"

/* Returns the prompt of the command line: -p, or the arguments after the model with a blank between
 * them, on the heap (free). *own_prompt is NULL if there is none. */
static enum lmd_status prompt_argument(struct lmi_ctl *ctl, char **own_prompt, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *given = lmi_arg_str(a, "prompt");
	size_t n = 1;

	*own_prompt = NULL;
	if (given && a->n_pos > 1)
		return lmi_ctl_usage(ctl, err, "--prompt and PROMPT exclude each other");
	if (!given && a->n_pos < 2)
		return LMD_OK;
	for (uint32_t i = 1; i < a->n_pos; i++)
		n += strlen(a->pos[i]) + 1;
	*own_prompt = given ? strdup(given) : calloc(n, 1);
	if (!*own_prompt)
		return lmd_fail(err, LMD_NOMEM, "no memory for the prompt");
	for (uint32_t i = 1; i < a->n_pos; i++) {
		strcat(*own_prompt, i > 1 ? " " : "");
		strcat(*own_prompt, a->pos[i]);
	}
	return LMD_OK;
}

static enum lmd_status with_model(struct lmi_ctl *ctl, const char *prompt, bool interactive,
				  struct lmd_error *err)
{
	struct lmi_ctl_generation g;
	char *name = NULL;
	enum lmd_status st;

	lmi_ctl_interrupt_install();
	st = lmi_ctl_generation_init(&g, ctl, err);
	if (st == LMD_OK)
		st = lmi_ctl_choose_model(ctl, lmi_arg_pos(&ctl->args, 0), &name, err);
	if (st == LMD_OK) {
		g.req.u.generate.model = (struct lmd_str){.ptr = name, .len = strlen(name)};
		st = interactive ? lmi_ctl_chat(&g, prompt, err)
				 : lmi_ctl_generate_once(&g, prompt, false, err);
	}
	lmi_ctl_generation_fini(&g);
	free(name);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	bool interactive = lmi_arg_flag(&ctl->args, "interactive");
	bool json = lmi_arg_flag(&ctl->args, "json");
	char *prompt = NULL;
	enum lmd_status st;

	if (interactive && json)
		return lmi_ctl_usage(ctl, err, "--interactive and --json exclude each other");
	st = prompt_argument(ctl, &prompt, err);
	if (!prompt && !json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		interactive = true;
	if (st == LMD_OK)
		st = with_model(ctl, prompt, interactive, err);
	free(prompt);
	return st;
}

static enum lmd_status chat(struct lmi_ctl *ctl, struct lmd_error *err)
{
	char *prompt = NULL;
	enum lmd_status st = prompt_argument(ctl, &prompt, err);

	if (st == LMD_OK)
		st = with_model(ctl, prompt, true, err);
	free(prompt);
	return st;
}

/* ---- the commands ---- */

#define OPT_PROMPT(text)                                                                           \
	{                                                                                          \
		.name = "prompt", .letter = 'p', .type = LMI_OPT_STR, .value = "TEXT",             \
		.def_text = text,                                                                  \
		.doc = "The message to the model; a model without a chat template continues it."   \
	}

#define OPT_VERBOSE                                                                                \
	{                                                                                          \
		.name = "verbose", .type = LMI_OPT_FLAG,                                           \
		.doc = "In a conversation: print the number of tokens and the speed after each "   \
		       "answer."                                                                   \
	}

static const struct lmi_opt run_opts[] = {
	OPT_PROMPT("the arguments after MODEL, or standard input"),
	{.name = "interactive",
	 .letter = 'i',
	 .type = LMI_OPT_FLAG,
	 .doc = "Have a conversation, as `chat` does; the default on a terminal without a prompt."},
	LMI_CTL_OPT_YES,
	OPT_VERBOSE,
	LMI_CTL_OPTS_ANSWER,
	LMI_CTL_OPTS_ENGINE,
	LMI_CTL_OPTS_DRAFT_MODEL,
	LMI_CTL_OPT_CONFIG,
	LMI_OPT_JSON,
};

static const struct lmi_opt chat_opts[] = {
	OPT_PROMPT("the arguments after MODEL; without any the first message is read"),
	LMI_CTL_OPT_YES,
	OPT_VERBOSE,
	LMI_CTL_OPTS_ANSWER,
	LMI_CTL_OPTS_ENGINE,
	LMI_CTL_OPTS_DRAFT_MODEL,
	LMI_CTL_OPT_CONFIG,
};

#define MODEL_DOC                                                                                  \
	"MODEL is a name of `llamactl list`, a short name such as smollm2, a source of `llamactl " \
	"pull` such as hf:USER/REPO or ollama:NAME, or a file: a GGUF file, a Hugging Face "        \
	"folder or a model in the format of a plugin. A file is loaded into this program. Any other " \
	"model runs in the daemon if one answers, otherwise in this program with the store of "    \
	"the user's own daemon. A model that is missing is downloaded after asking."

const struct lmi_cli_cmd lmi_ctl_cmd_run = {
	.name = "run",
	.args = "MODEL [PROMPT]...",
	.brief = "Run a model: a file, a name, or one to download",
	.doc = MODEL_DOC "\n\nWrites "
	       "the answer to standard output as it is generated, followed by a newline if it "
	       "does not end in one. Ctrl-C ends the answer after the current step. Without a "
	       "prompt, on a terminal, a conversation begins: see `chat`.\n\nIf the "
	       "model has a chat template, the prompt is a user's message and goes through the "
	       "template. Without one, or with --raw, the model continues the prompt as plain "
	       "text. Only the template can insert control tokens; their text in a prompt stays "
	       "plain text.\n\nThe engine options have no effect on a model of the daemon.",
	.opts = run_opts,
	.n_opts = LMD_LEN(run_opts),
	.run = run,
};

const struct lmi_cli_cmd lmi_ctl_cmd_chat = {
	.name = "chat",
	.args = "MODEL [PROMPT]...",
	.brief = "Have a conversation with a model",
	.doc = MODEL_DOC "\n\nReads a message at a time and prints the answer. On a terminal, "
	       "messages can be edited and earlier ones are in a history, lines that begin with a "
	       "slash are commands (/help lists them), and the markdown of answers is shown unless "
	       "NO_COLOR is set. \"\"\" begins and ends a message of several lines, and Alt-Enter "
	       "begins a new line. Ctrl-C ends an answer, Ctrl-D leaves.",
	.opts = chat_opts,
	.n_opts = LMD_LEN(chat_opts),
	.run = chat,
};
