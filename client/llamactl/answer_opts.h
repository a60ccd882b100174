/* SPDX-License-Identifier: MIT
 *
 * answer_opts.h - options of an answer: how long, chosen how, ended by what.  `run` and `generate`
 * have the same. */
#ifndef LLAMAD_LLAMACTL_ANSWER_OPTS_H
#define LLAMAD_LLAMACTL_ANSWER_OPTS_H

#include "client/llamactl/sampling_args.h"

/* Rows of an option table. */
/* clang-format off */
#define LMI_OPTS_ANSWER \
	{.name = "predict", \
	 .letter = 'n', \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .def = "-1", \
	 .min = -1, \
	 .max = 1 << 30, \
	 .doc = "Tokens to write at most; -1: until the model ends or the context is full."}, \
	{.name = "seed", \
	 .type = LMI_OPT_INT, \
	 .value = "N", \
	 .doc = "Of the random choices; without it one from the clock."}, \
	LMI_OPTS_SAMPLING, \
	{.name = "stop", \
	 .type = LMI_OPT_LIST, \
	 .value = "TEXT", \
	 .doc = "End before this text; may be repeated."}, \
	{.name = "ignore-eos", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Go on after tokens that end a generation."}, \
	{.name = "parse-special", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Text of control tokens in the prompt becomes those tokens."}, \
	{.name = "no-special", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Add no begin or end tokens to the prompt."}, \
	{.name = "special", .type = LMI_OPT_FLAG, .doc = "Write control tokens out as text."}, \
	{.name = "raw", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "The prompt as it is, without a chat template, also when the model has one."}, \
	{.name = "system", \
	 .letter = 's', \
	 .type = LMI_OPT_STR, \
	 .value = "TEXT", \
	 .doc = "What the model is told before the prompt; needs a chat template."}, \
	{.name = "template", \
	 .type = LMI_OPT_STR, \
	 .value = "NAME", \
	 .doc = "Another chat template than the model's: a file, a variant of the model's by name, " \
		"or a built-in one, as chatml; `debug template --list` names these."}, \
	{.name = "template-arg", \
	 .type = LMI_OPT_LIST, \
	 .value = "KEY=VALUE", \
	 .doc = "A variable of the template, as enable_thinking=false; VALUE is JSON, or else a " \
		"text.  May be repeated."}, \
	{.name = "tools", \
	 .type = LMI_OPT_STR, \
	 .value = "FILE", \
	 .doc = "Tools that the template tells the model about: a JSON array."}, \
	{.name = "show-thinking", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Write out what the model thinks before it answers, also where standard output is " \
		"no terminal; an empty line ends it."}, \
	{.name = "hide-thinking", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "Leave that out, also on a terminal, where it is dim."}, \
	{.name = "grammar", \
	 .type = LMI_OPT_STR, \
	 .value = "FILE", \
	 .doc = "The answer follows this grammar in GBNF."}, \
	{.name = "json-schema", \
	 .letter = 'j', \
	 .type = LMI_OPT_STR, \
	 .value = "FILE", \
	 .doc = "The answer is JSON that this schema describes; a value that begins with { is the " \
		"schema itself, {} means any JSON."}, \
	{.name = "grammar-trigger", \
	 .type = LMI_OPT_LIST, \
	 .value = "REGEX", \
	 .doc = "The grammar counts only from where the answer matches this; may be repeated."}, \
	{.name = "jump", \
	 .type = LMI_OPT_CHOICE, \
	 .value = "token|text|off", \
	 .def = "token", \
	 .doc = "What is taken without asking the model where the grammar leaves no choice: token, a " \
		"token when no other is allowed, the answer stays the same; text, all text that must " \
		"come, in the tokens of the tokenizer; or off."}, \
	{.name = "heal", \
	 .type = LMI_OPT_FLAG, \
	 .doc = "A prompt may end in the middle of a word: tokens at its end that begin longer ones " \
		"are taken back, and the answer goes on behind their text, in whichever tokens."}
/* clang-format on */

#endif /* LLAMAD_LLAMACTL_ANSWER_OPTS_H */
