/* SPDX-License-Identifier: MIT */
#include "client/llamactl/resume_args.h"

#include <stdio.h>

static void print_note(void *arg, const char *text)
{
	lmi_progress_end(arg);
	fprintf(stderr, "llamactl: %s\n", text);
}

struct lmi_gguf_resume lmi_resume_args(struct lmi_ctl *ctl, struct lmi_progress *bar)
{
	return (struct lmi_gguf_resume){
		.keep = lmi_arg_flag(&ctl->args, "no-resume") ? LMI_GGUF_KEEP_ANEW : LMI_GGUF_KEEP,
		.note = print_note,
		.note_arg = bar,
	};
}
