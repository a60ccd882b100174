/* SPDX-License-Identifier: MIT
 *
 * resume_args.h - the option of the commands that can resume an interrupted run: quantize,
 * convert. */
#ifndef LLAMAD_LLAMACTL_RESUME_ARGS_H
#define LLAMAD_LLAMACTL_RESUME_ARGS_H

#include "client/llamactl/ctl.h"
#include "client/llamactl/progress.h"
#include "core/format/gguf/write.h"

#define LMI_OPT_NO_RESUME                                                                          \
	{.name = "no-resume",                                                                      \
	 .type = LMI_OPT_FLAG,                                                                     \
	 .doc = "Start from the beginning even if an earlier run was interrupted."}

#define LMI_RESUME_DOC                                                                             \
	"OUT appears only when it is complete and on disk. Until then the data is in "             \
	"OUT.partial, with a journal in OUT.partial.journal. If the run is stopped or killed, "    \
	"or the disk is full, the same command resumes after the last complete tensor, "           \
	"provided that source, options and program are the same; the file is then identical to "   \
	"that of an uninterrupted run. Otherwise it says so and starts from the beginning."

/* Reports on standard error what was found; the bar is erased for the message. */
struct lmi_gguf_resume lmi_resume_args(struct lmi_ctl *ctl, struct lmi_progress *bar);

#endif /* LLAMAD_LLAMACTL_RESUME_ARGS_H */
