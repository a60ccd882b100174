/* SPDX-License-Identifier: MIT
 *
 * answer_opts.h - options that control an answer: its length, how tokens are chosen and what ends
 * it. `run` and `generate` share them. */
#ifndef LLAMAD_LLAMACTL_ANSWER_OPTS_H
#define LLAMAD_LLAMACTL_ANSWER_OPTS_H

#include "client/llamactl/sampling_args.h"

/* Rows of an option table. */
/* clang-format off */
/* What lmi_ctl_answer_printer_init reads. */
#define LMI_CTL_OPTS_REASONING \
	{.name = "show-reasoning", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Print the model's reasoning even if standard output is not a terminal; an empty " \
		"line separates it from the answer."}, \
	{.name = "hide-reasoning", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Do not print the model's reasoning, which a terminal shows dim by default."}, \
	/* the old names of these two, hidden and accepted for one more release */ \
	{.name = "show-thinking", .type = LMI_OPT_FLAG}, \
	{.name = "hide-thinking", .type = LMI_OPT_FLAG}

#define LMI_CTL_OPTS_ANSWER \
	{.name = "predict", \
	 .letter = 'n', \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .def = "-1", \
	 .min = -1, \
	 .max = 1 << 30, \
	 .doc = "Maximum number of tokens to generate; -1 means until the model stops or the " \
		"context is full."}, \
	{.name = "context-shift", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "When the context is full, drop tokens from its middle and go on, instead of " \
		"ending the answer."}, \
	{.name = "keep", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = -1, \
	 .max = 1 << 30, \
	 .def_text = "0", \
	 .doc = "With --context-shift: keep the first N tokens; -1 means the whole prompt."}, \
	{.name = "seed", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .def_text = "from the clock", \
	 .doc = "Random seed."}, \
	LMI_CTL_OPTS_SAMPLING, \
	{.name = "stop", \
	 .type = LMI_OPT_LIST, \
	 .value = "TEXT", \
	 .doc = "Stop sequence: the answer ends before this text. May be repeated."}, \
	{.name = "stop-token", \
	 .type = LMI_OPT_LIST, \
	 .value = "ID", \
	 .doc = "The answer ends before this token. May be repeated."}, \
	{.name = "min-tokens", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .def = "0", \
	 .min = 0, \
	 .max = 1 << 30, \
	 .doc = "Do not let the model end the answer before N tokens."}, \
	{.name = "adapter", \
	 .type = LMI_OPT_STR, \
	 .value = "NAME", \
	 .def_text = "the server's", \
	 .doc = "Adapter of a model of the daemon, by the name that its configuration gives it; with " \
		"a FILE, use --lora."}, \
	{.name = "session", \
	 .type = LMI_OPT_STR, \
	 .value = "NAME", \
	 .def_text = "none", \
	 .doc = "Saved session of the daemon: the part of the prompt that it begins with is not computed " \
		"again, and this prompt and answer replace it afterwards. In a conversation llamactl " \
		"also keeps the messages and continues with them. See `sessions list`."}, \
	{.name = "draft-max", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = 0, \
	 .max = 15, \
	 .def_text = "the server's", \
	 .doc = "Speculative decoding: guess at most N tokens at a time from the prompt and the " \
		"answer so far; 0 switches it off."}, \
	{.name = "prediction", \
	 .type = LMI_OPT_STR, \
	 .value = "TEXT", \
	 .doc = "Speculative decoding: a text that much of the answer is expected to repeat."}, \
	{.name = "logprobs", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = 0, \
	 .max = 32, \
	 .def_text = "none", \
	 .doc = "With --json: the log probability of each token, and those of the N most likely " \
		"tokens."}, \
	{.name = "prompt-logprobs", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .min = 0, \
	 .max = 32, \
	 .def_text = "none", \
	 .doc = "With --json: the tokens of the prompt with their log probabilities, and those of " \
		"the N most likely tokens."}, \
	{.name = "ignore-eos", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Continue past end-of-generation tokens."}, \
	{.name = "parse-special", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Treat the text of control tokens in the prompt as those tokens."}, \
	{.name = "no-special", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Do not add begin or end tokens to the prompt."}, \
	{.name = "special", .type = LMI_OPT_FLAG, .doc = "Print control tokens as text."}, \
	{.name = "raw", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Use the prompt as it is, without a chat template, even if the model has one."}, \
	{.name = "system", \
	 .letter = 's', \
	 .type = LMI_OPT_STR, \
	 .value = "TEXT", \
	 .doc = "System message, which precedes the prompt; needs a chat template."}, \
	{.name = "template", \
	 .type = LMI_OPT_STR, \
	 .value = "NAME", \
	 .def_text = "the model's own", \
	 .doc = "Chat template to use: a file, the name of a variant that the model has, or a " \
		"built-in template such as chatml; `debug template --list` names those."}, \
	{.name = "template-arg", \
	 .type = LMI_OPT_LIST, \
	 .value = "KEY=VALUE", \
	 .doc = "Variable for the chat template, such as enable_thinking=false; VALUE is JSON " \
		"or plain text. May be repeated."}, \
	{.name = "tools", \
	 .type = LMI_OPT_STR, \
	 .value = "FILE", \
	 .doc = "File with the tools that the model may call, as a JSON array; the chat " \
		"template describes them to the model."}, \
	LMI_CTL_OPTS_REASONING, \
	{.name = "grammar", \
	 .type = LMI_OPT_STR, \
	 .value = "FILE", \
	 .doc = "File with a GBNF grammar that constrains the answer."}, \
	{.name = "json-schema", \
	 .letter = 'j', \
	 .type = LMI_OPT_STR, \
	 .value = "FILE", \
	 .doc = "File with a JSON schema that constrains the answer. A value that begins with " \
		"{ is the schema itself; {} allows any JSON."}, \
	{.name = "grammar-trigger", \
	 .type = LMI_OPT_LIST, \
	 .value = "REGEX", \
	 .doc = "Apply the grammar only from the point where the answer matches this regular " \
		"expression; may be repeated."}, \
	{.name = "jump", \
	 .type = LMI_OPT_CHOICE, \
	 .value = "token|text|off", \
	 .def = "token", \
	 .doc = "Jump-forward decoding: text that the grammar leaves no choice about is " \
		"appended without being sampled. token: only where exactly one token is " \
		"allowed, which leaves the answer unchanged; text: all forced text, in the " \
		"tokenizer's own tokens; off: never."}, \
	{.name = "suffix", \
	 .type = LMI_OPT_STR, \
	 .value = "TEXT", \
	 .doc = "Infilling: the answer is what fits between the prompt and TEXT. Only for models " \
		"with tokens for it; no chat template is used."}, \
	{.name = "heal", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Token healing: take back the last tokens of the prompt if longer tokens begin " \
		"with their text, so that a prompt may end in the middle of a word."}
/* clang-format on */

#endif /* LLAMAD_LLAMACTL_ANSWER_OPTS_H */
