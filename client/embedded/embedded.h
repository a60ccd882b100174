/* SPDX-License-Identifier: MIT
 *
 * embedded.h - a client whose server is a service in this process: the engine behind the interface
 * of llamad/client.h.  Models are named by the paths of their files. */
#ifndef LLAMAD_CLIENT_EMBEDDED_EMBEDDED_H
#define LLAMAD_CLIENT_EMBEDDED_EMBEDDED_H

#include <stdbool.h>

#include "core/engine/engine.h"
#include "core/plugin/registry.h"
#include "llamad/client.h"

struct lmi_hub_calls;
struct lmi_hub_opts;
struct lmi_service_evaluation;
struct lmi_store;

#define LMI_EMBEDDED_URL "embedded:"

/* A model that requests name otherwise than by the path of its file.  Its presets are those of the
 * configuration for that name, or else its Modelfile, or else those of the configuration for the name
 * `model`. */
struct lmi_embedded_name {
	const char *name, *model, *path;
	const char *modelfile; /* text; NULL: none */
};

struct lmi_embedded_opts {
	struct lmd_host *host;
	struct lmi_plugin_registry *plugins;
	/* The client destroys both when it is closed, and if it cannot be opened.  Otherwise they must
	 * outlive it. */
	bool own;
	/* For op pull, which puts models into this store; NULL: none.  Other requests name models by
	 * path all the same.  They must outlive the client. */
	struct lmi_store *store;
	const struct lmi_hub_calls *hub;
	const struct lmi_hub_opts *hub_opts;
	struct lmi_embedded_name named; /* name is NULL: none; the texts must outlive the client */
	const char *config; /* file whose sections [model NAME] apply; NULL: none */
	/* of every model; what the service fills in is ignored, see struct lmi_service_opts */
	struct lmi_engine_model_opts model;
};

/* Opens a client.  Files are opened when a request names them.  The service runs on the threads
 * that make requests, while they wait for a reply; engines have threads of their own. */
enum lmd_status lmi_embedded_open(struct lmd_client **out, const struct lmi_embedded_opts *o,
				  struct lmd_error *err);

/* Returns whether the client is one of these. */
bool lmi_embedded_is(const struct lmd_client *c);

/* The functions below need such a client. */

/* Evaluates: see evaluate.h of the service, which calls `done` for this function.  *rows is
 * [n_row][width]; the caller frees it with lmi_free. */
enum lmd_status lmi_embedded_evaluate(struct lmd_client *c,
				      const struct lmi_service_evaluation *what, float **rows,
				      uint32_t *n_row, uint32_t *width, struct lmd_error *err);
/* Returns the host and the registry of plugins. */
void lmi_embedded_plugins(struct lmd_client *c, const struct lmd_host **host,
			  struct lmi_plugin_registry **plugins);

#endif /* LLAMAD_CLIENT_EMBEDDED_EMBEDDED_H */
