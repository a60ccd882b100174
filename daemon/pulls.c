/* SPDX-License-Identifier: MIT
 *
 * What op pull needs of the process: threads, the catalogue, an access token. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "daemon/daemon_impl.h"
#include "hub/hub.h"

#define THREADS         2
#define TOKEN_BYTES_MAX 1024

struct lmi_daemon_pulls {
	struct lmi_hub_opts o;
	char *token;
	char catalogue[PATH_MAX];
};

/* Reads the first word of the file. */
static enum lmd_status read_token(char **out, const char *path, struct lmd_error *err)
{
	struct stat sb;
	char *text;
	size_t n;
	enum lmd_status st;

	if (stat(path, &sb) == 0 && (sb.st_mode & 077))
		return lmd_fail(err, LMD_INVALID,
				"hf_token: %.300s can be accessed by other users: chmod 600", path);
	st = lmi_file_read_all(path, TOKEN_BYTES_MAX, &text, &n, err);
	if (st != LMD_OK)
		return st;
	text[strcspn(text, " \t\r\n")] = 0;
	if (*text) {
		*out = text;
		return LMD_OK;
	}
	lmi_free(text);
	return lmd_fail(err, LMD_INVALID, "hf_token: %.300s is empty", path);
}

enum lmd_status lmi_daemon_start_pulls(struct lmi_daemon *d, uint32_t n_max, struct lmd_error *err)
{
	const struct lmi_jobs_opts jobs = {
		.mailbox = &d->mailbox, .name = "pull", .n_thread = THREADS, .n_max = n_max};
	const struct lmi_config *c = d->config;
	struct lmi_daemon_pulls *p;

	if (!c->pull)
		return LMD_OK;
	d->pull_opts = p = lmi_alloc(1, sizeof(*p));
	if (!p)
		return lmd_fail(err, LMD_NOMEM, "no memory for downloads");
	p->o = (struct lmi_hub_opts){.hf_url = c->hf_url,
				     .ollama_url = c->ollama_url,
				     .catalogue = c->catalogue,
				     .rate = (uint64_t)c->pull_rate};
	if (!c->catalogue && lmi_hub_default_catalogue(p->catalogue, sizeof(p->catalogue)))
		p->o.catalogue = p->catalogue;
	if (c->hf_token && read_token(&p->token, c->hf_token, err) != LMD_OK)
		return err->status;
	p->o.hf_token = p->token;
	return lmi_jobs_create(&d->pulls, &jobs, err);
}

const struct lmi_hub_opts *lmi_daemon_hub_opts(const struct lmi_daemon *d)
{
	return d->pull_opts ? &d->pull_opts->o : NULL;
}

void lmi_daemon_stop_pulls(struct lmi_daemon *d)
{
	lmi_jobs_destroy(d->pulls);
	if (d->pull_opts)
		lmi_free(d->pull_opts->token);
	lmi_free(d->pull_opts);
}
