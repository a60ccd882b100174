/* SPDX-License-Identifier: MIT
 *
 * daemon.h - llamad put together: configuration, state, plugins, service, socket, loop. */
#ifndef LLAMAD_DAEMON_DAEMON_H
#define LLAMAD_DAEMON_DAEMON_H

#include "daemon/config.h"

/* Serves until it is asked to stop.  `args` and `env` are read again at each reload.  On
 * failure err says why it could not start.
 *
 * SIGTERM and SIGINT drain, then stop; a second one stops at once.  SIGHUP reloads the
 * configuration and looks for plugins.  Thread: the one that called; signals are to be
 * delivered to it or to any thread that it makes. */
enum lmd_status lmi_daemon_run(const struct lmi_args *args, const struct lmi_config_env *env,
			       struct lmd_error *err);

#endif /* LLAMAD_DAEMON_DAEMON_H */
