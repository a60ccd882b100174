/* SPDX-License-Identifier: MIT
 *
 * ctl.h - what a running command of llamactl gets: its arguments, and on demand a host and
 * a plugin registry that follow the common options. */
#ifndef LLAMAD_LLAMACTL_CTL_H
#define LLAMAD_LLAMACTL_CTL_H

#include "client/llamactl/progress.h"
#include "core/cli/opts.h"
#include "llamad/attr.h"

/* Exit statuses; a program that a signal stopped ends by that signal. */
enum {
	LMI_EXIT_DONE = 0,
	LMI_EXIT_FAILED = 1, /* refused or failed, with a sentence */
	LMI_EXIT_USAGE = 2
};

struct lmd_client;
struct lmd_host;
struct lmi_adapter_ref;
struct lmi_registry;

/* All commands and the common options: table.c.  A command is one
 * `const struct lmi_cmd lmi_cmd_NAME` in cmd_NAME.c and one line there. */
extern const struct lmi_program lmi_llamactl;

struct lmi_ctl {
	struct lmi_args args;
	bool usage;	       /* the failure is the command line's: exit status 2 */
	struct lmd_host *host; /* made on demand by the functions below */
	struct lmi_registry *registry;
	struct lmd_client *client; /* made on demand by remote.h */
	struct lmi_adapter_ref *adapters; /* [n_adapters] of --lora and so on; paths on the heap */
	uint32_t n_adapters;
	struct lmi_progress load_bar; /* of the model that is being opened, by embedded.h */
	uint64_t load_ns;	      /* when that began */
};

/* The host that logs as --log says, and the plugins of --plugin-dir and the default folders.
 * Made at the first call, released after the command. */
enum lmd_status lmi_ctl_host(struct lmi_ctl *ctl, const struct lmd_host **out,
			     struct lmd_error *err);
enum lmd_status lmi_ctl_registry(struct lmi_ctl *ctl, struct lmi_registry **out,
				 struct lmd_error *err);
void lmi_ctl_fini(struct lmi_ctl *ctl);

/* For what the table cannot say ("--all and --one-by-one exclude each other"): fills err
 * and makes the exit status LMI_EXIT_USAGE. */
enum lmd_status lmi_usage(struct lmi_ctl *ctl, struct lmd_error *err, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* The whole program: parses, runs one command, prints at most one sentence on stderr. */
int lmi_ctl_main(int argc, char **argv);

#endif /* LLAMAD_LLAMACTL_CTL_H */
