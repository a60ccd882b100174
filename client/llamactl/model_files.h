/* SPDX-License-Identifier: MIT
 *
 * model_files.h - the files of a model that go to another machine, with its Modelfile. */
#ifndef LLAMAD_LLAMACTL_MODEL_FILES_H
#define LLAMAD_LLAMACTL_MODEL_FILES_H

#include <stdint.h>

#include "client/llamactl/ctl.h"

#define LMI_CTL_MODEL_FILES_MAX 1000 /* parts of a model */

struct lmi_ctl_model_files {
	uint32_t n; /* at least 1 */
	char **paths; /* [n], in order of the parts; on the heap */
	char *tower;  /* path of the vision tower beside the model, on the heap; NULL: none */
	char name[129];  /* what the model is called elsewhere: the name, or what the file suggests */
	char arch[64];   /* "llama" */
	char quant[32];  /* "Q4_K_M"; "" if the file does not tell */
	char *modelfile; /* on the heap; NULL: none */
};

/* Finds the files of `word`: the path of a GGUF file, or the name of a model of the daemon or, if
 * none answers, of the user's own store.  They are opened as a model, so that nothing else gets
 * away.  LMD_UNSUPPORTED: not a GGUF model; LMD_DENIED, LMD_IO: this user cannot read the files. */
enum lmd_status lmi_ctl_model_files_find(struct lmi_ctl_model_files *out, struct lmi_ctl *ctl,
					 const char *word, struct lmd_error *err);
/* A zeroed struct is allowed. */
void lmi_ctl_model_files_fini(struct lmi_ctl_model_files *m);

#endif /* LLAMAD_LLAMACTL_MODEL_FILES_H */
