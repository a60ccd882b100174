/* SPDX-License-Identifier: MIT
 *
 * eval_args.h - the input of the debug commands as sequences of an evaluation: tokens, encoder and
 * decoder tokens, or rows of numbers with positions. */
#ifndef LLAMAD_LLAMACTL_EVAL_ARGS_H
#define LLAMAD_LLAMACTL_EVAL_ARGS_H

#include "client/llamactl/embedded.h"

/* Rows of an option table. */
#define LMI_OPTS_INPUT                                                                             \
	{.name = "tokens",                                                                         \
	 .type = LMI_OPT_LIST,                                                                     \
	 .value = "IDS",                                                                           \
	 .doc = "Token ids separated by commas; if repeated, sequences that share steps."},        \
		{.name = "enc",                                                                    \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "IDS",                                                                   \
		 .doc = "Token ids of the encoder (with --dec)."},                                 \
		{.name = "dec",                                                                    \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "IDS",                                                                   \
		 .doc = "Token ids of the decoder (with --enc)."},                                 \
		{.name = "input",                                                                  \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "F.f32",                                                                 \
		 .doc = "File with rows of little-endian float32 numbers instead of tokens "       \
			"(with --width)."},                                                        \
		{.name = "width",                                                                  \
		 .type = LMI_OPT_INT,                                                              \
		 .value = "W",                                                                     \
		 .min = 1,                                                                         \
		 .max = 1 << 24,                                                                   \
		 .doc = "Numbers in each row of --input."},                                        \
	{                                                                                          \
		.name = "pos", .type = LMI_OPT_STR, .value = "P",                                  \
		.doc = "Positions of the rows of --input: a comma-separated list, or four such "   \
		       "lists separated by semicolons."                                            \
	}

struct lmi_eval_args {
	struct lmi_input_seq *seqs; /* [n_seq] */
	uint32_t n_seq;
	uint64_t n_row;	    /* rows of all sequences (of the decoder) */
	uint32_t n_row_max; /* rows of the longest sequence, including the encoder's */
};

/* Reads the options; a wrong combination is a usage error. Release with fini, also after a
 * failure. */
enum lmd_status lmi_eval_args(struct lmi_ctl *ctl, struct lmi_eval_args *out,
			      struct lmd_error *err);
void lmi_eval_args_fini(struct lmi_eval_args *a);

/* Sizes an engine for the input: all sequences at once, KV cache for exactly their rows. */
void lmi_eval_args_size(const struct lmi_eval_args *a, struct lmi_engine_opts *o);

#endif /* LLAMAD_LLAMACTL_EVAL_ARGS_H */
