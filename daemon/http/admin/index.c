/* SPDX-License-Identifier: MIT
 *
 * The description of the endpoints, for people and for programs. */
#include <stdio.h>
#include <string.h>

#include "daemon/http/admin/admin.h"
#include "daemon/http/http_impl.h"
#include "proto/buf.h"

static bool add(struct lmi_wire_buf *b, const char *text)
{
	return lmi_wire_buf_add(b, text, strlen(text));
}

void lmi_http_admin_index(struct lmi_http_exchange *x)
{
	struct lmi_wire_buf b = {0};
	char line[256];
	bool good;

	snprintf(line, sizeof(line), "llamad %s\n", x->h->o.version);
	good = add(&b, line);
	for (const struct lmi_http_routes *const *a = x->h->o.apis; *a && good; a++) {
		snprintf(line, sizeof(line), "\n%s:\n", (*a)->api->title);
		good = add(&b, line);
		for (uint32_t i = 0; i < (*a)->n && good; i++) {
			const struct lmi_http_route *r = &(*a)->v[i];

			snprintf(line, sizeof(line), "  %-7s %-32s %s\n",
				 lmi_http_method_names[r->method], r->path, r->summary);
			good = add(&b, line);
		}
	}
	if (good)
		lmi_http_reply_text(x, 200, "text/plain; charset=utf-8", b.p, b.n);
	else
		lmi_http_respond_text(x, 503, "", "out of memory");
	lmi_wire_buf_fini(&b);
}

void lmi_http_admin_description(struct lmi_http_exchange *x)
{
	struct lmi_http_server *h = x->h;

	if (!h->openapi)
		h->openapi = lmi_http_openapi(h->o.apis, h->o.version);
	if (h->openapi)
		lmi_http_reply_text(x, 200, "application/json", h->openapi, strlen(h->openapi));
	else
		lmi_http_respond_text(x, 503, "", "out of memory");
}
