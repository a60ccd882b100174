/* SPDX-License-Identifier: MIT
 *
 * default_state.h - the folder of the models and other data of a daemon, and of programs that use
 * its models themselves, if no folder is given; and its configuration file. */
#ifndef LLAMAD_CORE_BASE_DEFAULT_STATE_H
#define LLAMAD_CORE_BASE_DEFAULT_STATE_H

#include <stddef.h>
#include <stdint.h>

/* The configuration file of a daemon that is given none, if it exists. */
#define LMI_DEFAULT_CONFIG_FILE "/etc/llamad/llamad.conf"

/* Writes the folder of user `uid`: $STATE_DIRECTORY (its first entry), otherwise /var/lib/llamad
 * if uid is 0, otherwise $XDG_STATE_HOME/llamad, otherwise $HOME/.local/state/llamad; variables
 * without an absolute path do not count.  `get` reads a variable; NULL: not set.  Returns the length
 * of the whole path, as snprintf does; 0 if no folder is known. */
int lmi_default_state_dir(char *out, size_t size, uint32_t uid,
			  const char *(*get)(void *arg, const char *name), void *arg);

#endif /* LLAMAD_CORE_BASE_DEFAULT_STATE_H */
