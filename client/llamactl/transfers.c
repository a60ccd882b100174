/* SPDX-License-Identifier: MIT
 *
 * Transfers of one thread that run at the same time. */
#include "client/llamactl/transfers.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "client/llamactl/interrupt.h"

enum lmd_status lmi_ctl_transfers_init(struct lmi_ctl_transfers *t, struct lmd_error *err)
{
	t->multi = curl_multi_init();
	t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!t->multi || t->wake < 0)
		return lmd_fail(err, LMD_NOMEM, "no memory or descriptor for transfers");
	lmi_ctl_interrupt_wake(t->wake);
	lmi_ctl_interrupt_install();
	return LMD_OK;
}

void lmi_ctl_transfers_fini(struct lmi_ctl_transfers *t)
{
	lmi_ctl_interrupt_wake(-1);
	(void)curl_multi_cleanup(t->multi);
	if (t->wake >= 0)
		(void)close(t->wake);
}

enum lmd_status lmi_ctl_transfers_start(struct lmi_ctl_transfers *t, CURL *c, struct lmd_error *err)
{
	return curl_multi_add_handle(t->multi, c) == CURLM_OK
		       ? LMD_OK
		       : lmd_fail(err, LMD_NOMEM, "no memory for a transfer");
}

void lmi_ctl_transfers_stop(struct lmi_ctl_transfers *t, CURL *c)
{
	(void)curl_multi_remove_handle(t->multi, c);
}

void lmi_ctl_transfers_wait(struct lmi_ctl_transfers *t, int ms)
{
	struct curl_waitfd wake = {.fd = t->wake, .events = CURL_WAIT_POLLIN};

	(void)curl_multi_poll(t->multi, &wake, 1, ms, NULL);
}

enum lmd_status lmi_ctl_transfers_perform(struct lmi_ctl_transfers *t,
					  lmi_ctl_transfer_end_fn *ended, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	const CURLMsg *m;
	int n;

	if (curl_multi_perform(t->multi, &n) != CURLM_OK)
		return lmd_fail(err, LMD_NOMEM, "no memory for transfers");
	while (st == LMD_OK && (m = curl_multi_info_read(t->multi, &n))) {
		CURL *c = m->easy_handle;
		CURLcode code = m->data.result;
		void *transfer = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(c, CURLINFO_PRIVATE, (char **)&transfer);
		(void)curl_multi_remove_handle(t->multi, c); /* which frees m */
		st = ended(transfer, code, err);
	}
	return st;
}

bool lmi_ctl_transfer_unreachable(CURLcode code)
{
	return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
	       code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}
