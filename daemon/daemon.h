/* SPDX-License-Identifier: MIT
 *
 * daemon.h - the whole daemon: configuration, state, plugins, service, listener, loop. */
#ifndef LLAMAD_DAEMON_DAEMON_H
#define LLAMAD_DAEMON_DAEMON_H

#include "daemon/config.h"

/* Runs the daemon until it is told to stop.  `args` and `env` are used again on each reload.  If it
 * cannot start, err says why.
 *
 * SIGTERM and SIGINT drain, then stop; a second one stops at once.  SIGHUP reloads the
 * configuration and scans the plugin folders.  Signals must be delivered to the calling thread or
 * to a thread that it creates. */
enum lmd_status lmi_daemon_run(const struct lmi_args *args, const struct lmi_config_env *env,
			       struct lmd_error *err);

#endif /* LLAMAD_DAEMON_DAEMON_H */
