/* SPDX-License-Identifier: MIT
 *
 * upload.h - one blob or manifest to a registry, as the OCI distribution specification 1.1 describes
 * it: a blob that exists is not sent; another one is sent in pieces and, after a failure, continued
 * where the registry says. */
#ifndef LLAMAD_HUB_UPLOAD_H
#define LLAMAD_HUB_UPLOAD_H

#include "core/base/file.h"
#include "hub/hub_impl.h"

/* A registry and what is known of it; one thread. */
struct lmi_hub_registry {
	const struct lmi_hub_opts *o;
	const char *base, *repo; /* of lmi_hub_ref */
	char scope[LMI_HUB_SOURCE_MAX + 32];
	char login[LMI_HUB_AUTHORIZATION_MAX]; /* "": none yet */
	uint64_t piece;                        /* bytes of a piece */
	void (*progress)(void *arg, uint64_t done); /* bytes of the blob that arrived; NULL: nobody asks */
	void *arg;
};

void lmi_hub_registry_init(struct lmi_hub_registry *g, const struct lmi_hub_ref *r,
			   const struct lmi_hub_opts *o);

struct lmi_hub_blob {
	const char *name;            /* for messages */
	const struct lmi_file *file; /* NULL: the bytes */
	const void *bytes;
	uint64_t size;
	char sha256[LMI_SHA256_HEX];
};

/* Uploads a blob.  *sent: false if the registry had it. */
enum lmd_status lmi_hub_upload_blob(struct lmi_hub_registry *g, const struct lmi_hub_blob *b,
				    bool *sent, struct lmd_error *err);

/* Gives a manifest the name `version`, a tag. */
enum lmd_status lmi_hub_upload_manifest(struct lmi_hub_registry *g, const char *version,
					const char *type, const char *text, struct lmd_error *err);

#endif /* LLAMAD_HUB_UPLOAD_H */
