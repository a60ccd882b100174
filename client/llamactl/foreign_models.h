/* SPDX-License-Identifier: MIT
 *
 * foreign_models.h - finds the models that other programs keep on this machine. */
#ifndef LLAMAD_LLAMACTL_FOREIGN_MODELS_H
#define LLAMAD_LLAMACTL_FOREIGN_MODELS_H

#include <stdint.h>

#include "llamad/status.h"

/* The programs, in the order of LMI_CTL_FOREIGN_WORDS. */
enum lmi_ctl_foreign {
	LMI_CTL_FOREIGN_OLLAMA,
	LMI_CTL_FOREIGN_LMSTUDIO,
	LMI_CTL_FOREIGN_HUGGINGFACE,
	LMI_CTL_FOREIGN_LLAMACPP,
};
#define LMI_CTL_FOREIGN_WORDS "ollama|lmstudio|huggingface|llama.cpp"

struct lmi_ctl_foreign_model {
	char *name;     /* a name for the registry, made of the program's own */
	char *path;     /* GGUF file, first part of one, or folder */
	uint64_t bytes; /* of the files that belong to it */
};

struct lmi_ctl_foreign_models {
	struct lmi_ctl_foreign_model *v; /* [n], sorted by name */
	uint32_t n;
	char folder[4096]; /* where they were looked for: the last one if there are several */
};

/* Finds the models of a program: in the folder that its environment variable names, otherwise in
 * its usual ones. n is 0 if there are none. */
enum lmd_status lmi_ctl_foreign_find(struct lmi_ctl_foreign_models *out, enum lmi_ctl_foreign program,
				     struct lmd_error *err);
void lmi_ctl_foreign_fini(struct lmi_ctl_foreign_models *m);

#endif /* LLAMAD_LLAMACTL_FOREIGN_MODELS_H */
