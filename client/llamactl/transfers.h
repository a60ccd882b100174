/* SPDX-License-Identifier: MIT
 *
 * transfers.h - HTTP transfers of one thread that run at the same time, by the multi interface of
 * libcurl. SIGINT and SIGTERM end a wait (interrupt.h). */
#ifndef LLAMAD_LLAMACTL_TRANSFERS_H
#define LLAMAD_LLAMACTL_TRANSFERS_H

#include <curl/curl.h>
#include <stdbool.h>

#include "llamad/status.h"

struct lmi_ctl_transfers {
	CURLM *multi;
	int wake; /* eventfd of the signals */
};

/* Called when a transfer has ended, with the pointer that the handle has as CURLOPT_PRIVATE; the handle
 * no longer runs and may be added again. What it returns ends lmi_ctl_transfers_perform unless it is
 * LMD_OK. */
typedef enum lmd_status lmi_ctl_transfer_end_fn(void *transfer, CURLcode code,
						struct lmd_error *err);

/* Prepares for transfers. Without memory or descriptors it fails with LMD_NOMEM. Call
 * lmi_ctl_transfers_fini in either case. */
enum lmd_status lmi_ctl_transfers_init(struct lmi_ctl_transfers *t, struct lmd_error *err);
/* Call it after the handles that still run were removed, by lmi_ctl_transfers_stop. */
void lmi_ctl_transfers_fini(struct lmi_ctl_transfers *t);

/* Starts the transfer of a handle. The handle must live until it has ended or was stopped. */
enum lmd_status lmi_ctl_transfers_start(struct lmi_ctl_transfers *t, CURL *c,
					struct lmd_error *err);
/* Stops the transfer of a handle that runs; `ended` is not called for it. */
void lmi_ctl_transfers_stop(struct lmi_ctl_transfers *t, CURL *c);

/* Waits until a transfer can go on or a signal comes, ms milliseconds at most. */
void lmi_ctl_transfers_wait(struct lmi_ctl_transfers *t, int ms);
/* Does what the transfers can do without waiting. */
enum lmd_status lmi_ctl_transfers_perform(struct lmi_ctl_transfers *t,
					  lmi_ctl_transfer_end_fn *ended, struct lmd_error *err);

/* True if no request can have reached the server: the next one would fail alike. */
bool lmi_ctl_transfer_unreachable(CURLcode code);

#endif /* LLAMAD_LLAMACTL_TRANSFERS_H */
