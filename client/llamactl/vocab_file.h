/* SPDX-License-Identifier: MIT
 *
 * vocab_file.h - the vocabulary of a file, for the commands that turn text into tokens and
 * back, and the input that these commands share. */
#ifndef LLAMAD_LLAMACTL_VOCAB_FILE_H
#define LLAMAD_LLAMACTL_VOCAB_FILE_H

#include <jansson.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/prompt_input.h"
#include "core/text/tokenizer.h"

struct lmi_hf_tokenizer;
struct lmi_model;

struct lmi_vocab_file {
	struct lmi_model *model;     /* one of the two */
	struct lmi_hf_tokenizer *hf;
	struct lmd_tokspec spec;     /* the file's, with the changes of the command line */
	struct lmi_tokenizer *tok;
};

/* Opens the tokenizer of a model file, or of a Hugging Face folder or file; `pre` replaces the
 * pre-tokenizer's name unless NULL.  Failures name the file.  Release with lmi_vocab_file_close,
 * after a failure too. */
enum lmd_status lmi_vocab_file_open(struct lmi_vocab_file *v, struct lmi_ctl *ctl, const char *path,
				    const char *pre, struct lmd_error *err);
void lmi_vocab_file_close(struct lmi_vocab_file *v);

/* Calls answer for each line of standard input as a JSON object and ends the line that it
 * printed; a line that is none, or a failure, prints {"error": ...} and goes on. */
typedef enum lmd_status (*lmi_batch_fn)(void *arg, const json_t *line, struct lmd_error *err);
enum lmd_status lmi_batch(lmi_batch_fn answer, void *arg, struct lmd_error *err);

/* A boolean member, or `def` when it is absent; another type is LMD_INVALID. */
enum lmd_status lmi_batch_bool(const json_t *line, const char *key, bool def, bool *out,
			       struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_VOCAB_FILE_H */
