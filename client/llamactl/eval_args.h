/* SPDX-License-Identifier: MIT
 *
 * eval_args.h - the input of the debug commands: tokens, encoder and decoder tokens, or rows
 * of numbers with positions, as sequences of an evaluation. */
#ifndef LLAMAD_LLAMACTL_EVAL_ARGS_H
#define LLAMAD_LLAMACTL_EVAL_ARGS_H

#include "client/llamactl/embedded.h"

/* Rows of an option table. */
#define LMI_OPTS_INPUT                                                                             \
	{.name = "tokens",                                                                         \
	 .type = LMI_OPT_LIST,                                                                     \
	 .value = "IDS",                                                                           \
	 .doc = "Token ids with commas between; repeated: sequences that share steps."},           \
		{.name = "enc",                                                                    \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "IDS",                                                                   \
		 .doc = "Tokens of the encoder (with --dec)."},                                    \
		{.name = "dec",                                                                    \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "IDS",                                                                   \
		 .doc = "Tokens of the decoder (with --enc)."},                                    \
		{.name = "input",                                                                  \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "F.f32",                                                                 \
		 .doc = "Rows of little-endian f32 numbers instead of tokens (with --width)."},    \
		{.name = "width",                                                                  \
		 .type = LMI_OPT_INT,                                                              \
		 .value = "W",                                                                     \
		 .min = 1,                                                                         \
		 .max = 1 << 24,                                                                   \
		 .doc = "Numbers in a row of --input."},                                           \
	{                                                                                          \
		.name = "pos", .type = LMI_OPT_STR, .value = "P",                                  \
		.doc = "Positions of the rows of --input: a list with commas, or four lists with " \
		       "semicolons between."                                                       \
	}

struct lmi_eval_args {
	struct lmi_input_seq *seqs; /* [n_seq] */
	uint32_t n_seq;
	uint64_t n_row;	    /* of all sequences (decoder's) */
	uint32_t n_row_max; /* of the longest, encoder's too */
};

/* Reads the options; usage errors are marked as such.  Release with fini, after a failure
 * too. */
enum lmd_status lmi_eval_args(struct lmi_ctl *ctl, struct lmi_eval_args *out,
			      struct lmd_error *err);
void lmi_eval_args_fini(struct lmi_eval_args *a);

/* Sizes an engine to the input: all sequences at a time, memory for their rows alone. */
void lmi_eval_args_size(const struct lmi_eval_args *a, struct lmi_engine_opts *o);

#endif /* LLAMAD_LLAMACTL_EVAL_ARGS_H */
