/* SPDX-License-Identifier: MIT
 *
 * resume_args.h - the option of commands whose runs can be gone on with: quantize, convert. */
#ifndef LLAMAD_LLAMACTL_RESUME_ARGS_H
#define LLAMAD_LLAMACTL_RESUME_ARGS_H

#include "client/llamactl/ctl.h"
#include "client/llamactl/progress.h"
#include "core/format/gguf/write.h"

#define LMI_OPT_NO_RESUME                                                                          \
	{.name = "no-resume",                                                                      \
	 .type = LMI_OPT_FLAG,                                                                     \
	 .doc = "Start anew, whatever an earlier run has left."}

#define LMI_RESUME_DOC                                                                             \
	"OUT appears when it is complete and on disk.  Until then what is done lies in "           \
	"OUT.partial, with a journal in OUT.partial.journal.  When the run is stopped or killed, " \
	"or the disk is full, the same command goes on after the tensors that are whole, if "      \
	"source, options and program are the same, and the file is the one that a single run "     \
	"makes; otherwise it says so and starts anew."

/* What was found is said on standard error; the bar is wiped for it. */
struct lmi_gguf_resume lmi_resume_args(struct lmi_ctl *ctl, struct lmi_progress *bar);

#endif /* LLAMAD_LLAMACTL_RESUME_ARGS_H */
