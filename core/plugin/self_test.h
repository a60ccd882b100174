/* SPDX-License-Identifier: MIT
 *
 * self_test.h - runs the code of a plugin in a child process first, so that a crash of its
 * constructors, its tables or its probe functions is an error message and not the end of this
 * process. */
#ifndef LLAMAD_CORE_PLUGIN_SELF_TEST_H
#define LLAMAD_CORE_PLUGIN_SELF_TEST_H

#include "llamad/status.h"

/* The time that a plugin is given. */
#define LMI_PLUGIN_SELF_TEST_MS 5000

/* Runs the function in a child process and waits for it.  The function returns a status and may
 * fill in an error message, which is passed on.  A child that is killed by a signal, exits by
 * itself (as ld.so does) or takes longer than LMI_PLUGIN_SELF_TEST_MS is LMD_CORRUPT.  LMD_NOMEM: no
 * child can be created or begin, or the function returned it. */
enum lmd_status lmi_plugin_self_test(enum lmd_status (*run)(void *arg, struct lmd_error *err),
				     void *arg, struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_SELF_TEST_H */
