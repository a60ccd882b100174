/* SPDX-License-Identifier: MIT
 *
 * lmd_client_open, compiled once for each of the two client libraries: with an engine for
 * libllamad, and without one for libllamad-client. */
#include <string.h>

#include "client/lib/client.h"
#ifdef LMI_LLAMAD_ENGINE
#include "client/embedded/embedded.h"
#include "client/llamad/engine.h"

#else
#define LMI_EMBEDDED_URL "embedded:"

static enum lmd_status lmi_llamad_open_engine(struct lmd_client **out,
					      const struct lmd_engine_opts *opts,
					      struct lmd_error *err)
{
	(void)out;
	(void)opts;
	return lmd_fail(err, LMD_UNSUPPORTED,
			"\"" LMI_EMBEDDED_URL "\": this program is linked with libllamad-client, "
			"which has no engine; link libllamad instead (pkg-config libllamad)");
}
#endif

LMD_EXPORT enum lmd_status lmd_client_open(struct lmd_client **out,
					   const struct lmd_client_opts *opts,
					   struct lmd_error *err)
{
	struct lmd_client_opts o = {.struct_size = sizeof(o)};

	lmi_client_struct_take(&o, sizeof(o), opts);
	o.struct_size = sizeof(o);
	if (o.url && !strcmp(o.url, LMI_EMBEDDED_URL))
		return lmi_llamad_open_engine(out, o.engine, err);
	return lmi_client_open_url(out, &o, err);
}
