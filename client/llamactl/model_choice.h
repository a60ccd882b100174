/* SPDX-License-Identifier: MIT
 *
 * model_choice.h - finds the model that a user means by a word: a file, a name, or a source of
 * downloads, which is downloaded after asking. */
#ifndef LLAMAD_LLAMACTL_MODEL_CHOICE_H
#define LLAMAD_LLAMACTL_MODEL_CHOICE_H

#include "client/llamactl/ctl.h"

/* Row of an option table, which a command with these functions needs. */
#define LMI_CTL_OPT_YES                                                                            \
	{                                                                                          \
		.name = "yes", .letter = 'y', .type = LMI_OPT_FLAG,                                \
		.doc = "Download a model that is missing without asking."                          \
	}

/* Returns whether the word means a file: a file or a Hugging Face folder of that name exists, or it
 * is written as a path: with a slash or dot at its beginning, a slash at its end, or .gguf. */
bool lmi_ctl_is_file_argument(const char *word);
/* Returns that of a word that, as a file, would be `path`. */
bool lmi_ctl_is_file_at(const char *word, const char *path);

/* Makes the model of a word ready for requests. A file is loaded into this process, and so is a
 * model of the user's own store if no daemon answers. A missing model is downloaded after the user
 * has agreed; without a terminal and --yes this fails with what to type. *own_name: what requests
 * name, on the heap (free). */
enum lmd_status lmi_ctl_choose_model(struct lmi_ctl *ctl, const char *word, char **own_name,
				     struct lmd_error *err);

/* Downloads a model that is missing as above, through ctl's client (lmi_ctl_models_client). name:
 * what it will be called. */
enum lmd_status lmi_ctl_ensure_model(struct lmi_ctl *ctl, const char *source, const char *name,
				     struct lmd_error *err);

/* Registers a file, unless it is registered by that name already, through ctl's client. */
enum lmd_status lmi_ctl_ensure_file(struct lmi_ctl *ctl, const char *path, const char *name,
				    struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_MODEL_CHOICE_H */
