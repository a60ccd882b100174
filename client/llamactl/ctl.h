/* SPDX-License-Identifier: MIT
 *
 * ctl.h - the state of a running command: its arguments and, created on demand, a host and a
 * plugin registry set up by the common options. */
#ifndef LLAMAD_LLAMACTL_CTL_H
#define LLAMAD_LLAMACTL_CTL_H

#include "client/llamactl/progress.h"
#include "core/cli/opts.h"
#include "llamad/attr.h"

/* Exit statuses. */
enum {
	LMI_CTL_EXIT_DONE = 0,
	LMI_CTL_EXIT_FAILED = 1, /* rejected or failed, with an error message */
	LMI_CTL_EXIT_USAGE = 2,
	LMI_CTL_EXIT_SIGNAL = 128 /* + the signal that stopped it: 130, 141, 143 */
};

struct lmd_client;
struct lmd_host;
struct lmi_ctl_own_models;
struct lmi_engine_adapter_ref;
struct lmi_model;
struct lmi_plugin_registry;

/* All commands and the common options: command_table.c. A command is one `const struct lmi_cli_cmd
 * lmi_ctl_cmd_name` in cmd_NAME.c and one line in command_table.c. */
extern const struct lmi_cli_program lmi_ctl_program;

struct lmi_ctl {
	struct lmi_args args;
	bool usage;	       /* the command line is wrong: exit status 2 */
	struct lmd_host *host; /* created on demand by the functions below */
	struct lmi_plugin_registry *registry;
	struct lmd_client *client; /* created on demand by remote.h */
	struct lmi_ctl_own_models *own; /* created on demand by own_models.h */
	/* [n_adapters] of --lora and so on; paths on the heap */
	struct lmi_engine_adapter_ref *adapters;
	uint32_t n_adapters;
	struct lmi_ctl_progress load_bar; /* for the model that embedded.h is opening */
};

/* Return the host, whose log level is that of --log, and the registry of the plugins in
 * --plugin-dir and the default folders. They are created at the first call and released after the
 * command. */
enum lmd_status lmi_ctl_host(struct lmi_ctl *ctl, const struct lmd_host **out,
			     struct lmd_error *err);
enum lmd_status lmi_ctl_registry(struct lmi_ctl *ctl, struct lmi_plugin_registry **out,
				 struct lmd_error *err);
/* Opens a model file in any format; plugins are looked for only if no built-in format is sure of
 * it. The model must be closed before the command ends. */
enum lmd_status lmi_ctl_open_model(struct lmi_ctl *ctl, struct lmi_model **out, const char *path,
				   uint32_t open_flags, struct lmd_error *err);
/* Opens the header of a model in parts whose names do not tell that they belong together. */
enum lmd_status lmi_ctl_open_files(struct lmi_ctl *ctl, struct lmi_model **out, const char *const *files,
				   uint32_t n_files, struct lmd_error *err);
/* Returns true if the path is a model in any format. */
bool lmi_ctl_is_model(struct lmi_ctl *ctl, const char *path);
void lmi_ctl_fini(struct lmi_ctl *ctl);

/* Reports a wrong command line that the option table cannot express ("--all and --one-by-one
 * exclude each other"): fills err and makes the exit status LMI_CTL_EXIT_USAGE. */
enum lmd_status lmi_ctl_usage(struct lmi_ctl *ctl, struct lmd_error *err, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* Runs the whole program: parses, runs one command, prints at most one error message on stderr.
 * Returns the exit status. */
int lmi_ctl_main(int argc, char **argv);

#endif /* LLAMAD_LLAMACTL_CTL_H */
