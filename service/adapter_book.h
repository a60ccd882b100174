/* SPDX-License-Identifier: MIT
 *
 * adapter_book.h - the adapters of models that op adapter_set has named, beside those of the configuration.
 * They are kept until the service ends. The loop's thread only. */
#ifndef LLAMAD_SERVICE_ADAPTER_BOOK_H
#define LLAMAD_SERVICE_ADAPTER_BOOK_H

#include "service/adapters.h"

struct lmi_service;

/* Names of a model, and models that have some. */
#define LMI_SVC_ADAPTER_NAMES_MAX 1000
#define LMI_SVC_ADAPTER_BOOKS_MAX 256

struct lmi_svc_adapter_book {
	struct lmi_svc_adapter_book *next;
	char model[LMI_STORE_NAME_MAX + 1];
	struct lmi_svc_adapters list;
	char *chosen; /* the adapters of requests that name none; NULL: those of the configuration */
};

/* Returns that of a model, or NULL. */
struct lmi_svc_adapter_book *lmi_svc_adapter_book_find(const struct lmi_service *svc,
						       const char *model);
/* Creates it if necessary. LMD_BUSY: there are too many. */
LMD_NODISCARD enum lmd_status lmi_svc_adapter_book_get(struct lmi_svc_adapter_book **out,
						       struct lmi_service *svc, const char *model,
						       struct lmd_error *err);
/* Names an adapter, or replaces that of the name; *found: there was one. */
LMD_NODISCARD enum lmd_status lmi_svc_adapter_book_put(struct lmi_svc_adapter_book *b,
						       const char *name, const char *path, float scale,
						       bool *found, struct lmd_error *err);
/* Removes a name; returns whether it existed. */
bool lmi_svc_adapter_book_remove(struct lmi_svc_adapter_book *b, const char *name);
void lmi_svc_adapter_books_fini(struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_ADAPTER_BOOK_H */
