/* SPDX-License-Identifier: MIT
 *
 * engine.h - opens the engine in this process from the public options. */
#ifndef LLAMAD_CLIENT_LLAMAD_ENGINE_H
#define LLAMAD_CLIENT_LLAMAD_ENGINE_H

#include "llamad/client.h"

/* opts may be NULL.  The client owns what it needs: a host and a registry of plugins. */
enum lmd_status lmi_llamad_open_engine(struct lmd_client **out, const struct lmd_engine_opts *opts,
				       struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LLAMAD_ENGINE_H */
