/* SPDX-License-Identifier: MIT
 *
 * http_target.h - the HTTP server that a command talks to: its address, its key and what all
 * requests to it share. */
#ifndef LLAMAD_LLAMACTL_HTTP_TARGET_H
#define LLAMAD_LLAMACTL_HTTP_TARGET_H

#include <curl/curl.h>
#include <stdbool.h>

#include "llamad/status.h"

struct lmi_ctl_http_target {
	char base[1024];	/* of all URLs, without a slash and /v1 at its end */
	const char *unix_path;	/* the server's socket; NULL: TCP */
	const char *ca_file;	/* trusted certificates in PEM; NULL: the system's */
	struct curl_slist *headers;
};

/* Initialises libcurl and the target. url: http://HOST:PORT, https://..., or unix:/PATH; /v1 at its
 * end is ignored. key: sent as Authorization: Bearer; NULL: none. url and ca_file must live as long
 * as the target. */
enum lmd_status lmi_ctl_http_target_init(struct lmi_ctl_http_target *t, const char *url,
					 const char *key, const char *ca_file,
					 struct lmd_error *err);
void lmi_ctl_http_target_fini(struct lmi_ctl_http_target *t);

/* Returns a handle for POST requests of JSON to the target, or NULL. The proxy variables of curl(1)
 * apply, except for this machine; redirects are not followed, because the key would go elsewhere.
 * The caller calls curl_easy_cleanup. */
CURL *lmi_ctl_http_target_handle(const struct lmi_ctl_http_target *t);
/* Makes the handle's next request one with this path and body, which must live until its end.
 * Returns false without memory. */
bool lmi_ctl_http_target_request(const struct lmi_ctl_http_target *t, CURL *c, const char *path,
				 const char *body);

#endif /* LLAMAD_LLAMACTL_HTTP_TARGET_H */
