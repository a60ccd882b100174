/* SPDX-License-Identifier: MIT
 *
 * model_choice.h - the model for a request that names none, or one that does not exist.
 *
 * Many clients send no name or a fixed one, such as that of a hosted model.  They get the model
 * http_model of the configuration or, if that is not set, the only model in memory or the only one
 * in the registry. */
#ifndef LLAMAD_DAEMON_HTTP_MODEL_CHOICE_H
#define LLAMAD_DAEMON_HTTP_MODEL_CHOICE_H

#include <stdbool.h>

#include "daemon/http/exchange.h"
#include "proto/proto.h"

struct lmi_http_server;

/* model: its name, in the arena of the exchange; NULL: there is no default. */
typedef void (*lmi_http_model_fn)(struct lmi_http_exchange *x, const char *model, void *arg);

/* Finds the default model and calls fn, during the call or later, unless the exchange ends
 * before. */
void lmi_http_default_model(struct lmi_http_exchange *x, lmi_http_model_fn fn, void *arg);

/* Returns the name of the only model in memory, NULL if there is none or more than one; *n is their
 * number. */
const struct lmd_str *lmi_http_only_loaded(const struct lmi_wire_rep_ps *ps, uint32_t *n);
/* Returns the name of the only model of a list that was asked for with a maximum of 2; otherwise
 * NULL. */
const struct lmd_str *lmi_http_only_model(const struct lmi_wire_rep_models *models);

/* Returns whether the default model takes the place of this name if it does not exist; a missing name (length 0) is
 * always replaced. */
bool lmi_http_replaces_model(const struct lmi_http_server *h, const struct lmd_str *name);

/* Called with the reply of a successful request.  model: as the client named it, or the name of the
 * model that was chosen for it. */
typedef void (*lmi_http_model_reply_fn)(struct lmi_http_exchange *x, const char *model,
					const struct lmi_wire_reply *reply, void *arg);

/* Calls the service with a request for a model, whose name is at *model inside of *req; the default
 * model takes its place if it is missing or does not exist.  Responds if there is no model or the
 * request fails, otherwise calls fn.  *req lives as long as the exchange. */
void lmi_http_call_model(struct lmi_http_exchange *x, const struct lmi_wire_request *req,
			 struct lmd_str *model, lmi_http_model_reply_fn fn, void *arg);

#endif /* LLAMAD_DAEMON_HTTP_MODEL_CHOICE_H */
