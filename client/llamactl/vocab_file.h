/* SPDX-License-Identifier: MIT
 *
 * vocab_file.h - the vocabulary of a file, for the commands that convert text to tokens and back,
 * and their common input. */
#ifndef LLAMAD_LLAMACTL_VOCAB_FILE_H
#define LLAMAD_LLAMACTL_VOCAB_FILE_H

#include <jansson.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/prompt_input.h"
#include "core/text/tokenizer.h"

struct lmi_hf_tokenizer;
struct lmi_model;

struct lmi_ctl_vocab_file {
	struct lmi_model *model; /* exactly one of the two is set */
	struct lmi_hf_tokenizer *hf;
	/* the file's specification with the changes of the command line */
	struct lmd_tok_spec spec;
	struct lmi_tokenizer *tok;
};

/* Opens the tokenizer of a model file, or of a Hugging Face folder or file; `pre`, if not NULL,
 * overrides the pre-tokenizer's name. Error messages name the file. Release with
 * lmi_ctl_vocab_file_close, also after a failure. */
enum lmd_status lmi_ctl_vocab_file_open(struct lmi_ctl_vocab_file *v, struct lmi_ctl *ctl,
					const char *path, const char *pre, struct lmd_error *err);
void lmi_ctl_vocab_file_close(struct lmi_ctl_vocab_file *v);

/* Calls answer for each line of standard input, parsed as a JSON object, and ends the line that
 * answer printed. For a line that is not an object, or on failure, prints {"error": ...} and
 * continues. */
typedef enum lmd_status (*lmi_ctl_batch_fn)(void *arg, const json_t *line, struct lmd_error *err);
enum lmd_status lmi_ctl_batch(lmi_ctl_batch_fn answer, void *arg, struct lmd_error *err);

/* Returns a boolean member, or `def` if it is absent; any other type is LMD_INVALID. */
enum lmd_status lmi_ctl_batch_bool(const json_t *line, const char *key, bool def, bool *out,
				   struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_VOCAB_FILE_H */
