/* SPDX-License-Identifier: MIT
 *
 * embedded.h - a client whose server is a service in this process: the engine behind the interface
 * of llamad/client.h.  Models are named by the paths of their files. */
#ifndef LLAMAD_CLIENT_EMBEDDED_EMBEDDED_H
#define LLAMAD_CLIENT_EMBEDDED_EMBEDDED_H

#include "core/engine/engine.h"
#include "core/plugin/registry.h"
#include "llamad/client.h"

#define LMI_EMBEDDED_URL "embedded:"

struct lmi_embedded_opts {
	struct lmd_host *host;
	struct lmi_plugin_registry *plugins;
	/* The client destroys both when it is closed, and if it cannot be opened.  Otherwise they must
	 * outlive it. */
	bool own;
	/* of every model; what the service fills in is ignored, see struct lmi_service_opts */
	struct lmi_engine_model_opts model;
};

/* Opens a client.  Files are opened when a request names them.  The service runs on the threads
 * that make requests, while they wait for a reply; engines have threads of their own. */
enum lmd_status lmi_embedded_open(struct lmd_client **out, const struct lmi_embedded_opts *o,
				  struct lmd_error *err);

#endif /* LLAMAD_CLIENT_EMBEDDED_EMBEDDED_H */
