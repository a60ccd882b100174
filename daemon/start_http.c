/* SPDX-License-Identifier: MIT
 *
 * Starts the listener for HTTP: on configured addresses, and on sockets that systemd has opened. */
#include <inttypes.h>

#include "core/base/arena.h"
#include "daemon/daemon_impl.h"
#include "daemon/state_dir.h"
#include "llamad/version.h"

struct lmi_http_limits lmi_daemon_http_limits(const struct lmi_config *c)
{
	const struct lmi_front_limits f = lmi_daemon_front_limits(c);

	return (struct lmi_http_limits){.idle_ms = f.idle_ms, .head_ms = f.message_ms};
}

static bool has_key(void *arg)
{
	return ((const struct lmi_daemon *)arg)->has_key;
}

/* Inherited sockets obey the rules that check_http of listen_url.c has for configured addresses. */
static enum lmd_status check_inherited(struct lmi_daemon *d, struct lmd_error *err)
{
	const struct lmi_config *c = d->config;

	for (uint32_t i = 0; i < d->inherited.n; i++) {
		const struct lmi_http_address *a = &d->inherited.v[i].addr;

		if (a->tls && (!c->tls_cert || !c->tls_key))
			return lmd_fail(err, LMD_INVALID,
					"http: the inherited socket https requires tls_cert and "
					"tls_key, PEM files, to be set");
		if (!a->path && !a->tls && !a->loopback && !c->plain_tcp)
			return lmd_fail(err, LMD_INVALID,
					"http: the inherited socket sends keys and texts without "
					"encryption: name it https, let it listen on 127.0.0.1 "
					"behind a proxy that adds TLS, or set plain_tcp = yes");
	}
	return LMD_OK;
}

enum lmd_status lmi_daemon_find_inherited(struct lmi_daemon *d, struct lmd_error *err)
{
	const struct lmi_config_env *e = d->env;
	enum lmd_status st = lmi_http_inherited_find(
		&d->inherited, e->get(e->arg, "LISTEN_PID"), e->get(e->arg, "LISTEN_FDS"),
		e->get(e->arg, "LISTEN_FDNAMES"), err);

	if (st == LMD_OK && d->inherited.n_ignored)
		LMI_DAEMON_LOG(d, LMD_LOG_WARN,
			       "http: inherited sockets ignored: %" PRIu64 ", the first has the name '%s'; "
			       "FileDescriptorName= must be http or https",
			       d->inherited.n_ignored, d->inherited.ignored);
	return st == LMD_OK ? check_inherited(d, err) : st;
}

enum lmd_status lmi_daemon_start_http(struct lmi_daemon *d, struct lmd_error *err)
{
	const struct lmi_config *c = d->config;
	const struct lmi_http_opts opts = {
		.host = d->host,
		.base = lmi_loop_base(d->loop),
		.service = d->service,
		.apis = lmi_daemon_http_apis,
		.addresses = c->http.item,
		.n_address = c->http.n,
		.inherited = &d->inherited,
		.tls_cert = c->tls_cert,
		.tls_key = c->tls_key,
		.origins = c->http_origins.item,
		.n_origin = c->http_origins.n,
		.model = c->http_model,
		.version = LMD_VERSION,
		.body_bytes = (uint64_t)c->http_body,
		.store_folder = lmi_arena_printf(c->arena, "%s/http", c->state_dir),
		.store_bytes = (uint64_t)c->http_store,
		.store_number = (uint32_t)c->http_store_number,
		.store_age_s = (uint64_t)c->http_store_ms / 1000,
		.resume_bytes = (uint64_t)c->http_resume,
		.resume_number = (uint32_t)c->http_resume_number,
		.resume_ms = (uint64_t)c->http_resume_ms,
		.durable_ms = c->service.durable_age_ms,
		.limiter = &d->connections,
		.limits = lmi_daemon_http_limits(c),
		.ops = {.login = lmi_daemon_login,
			.refused = lmi_daemon_refused,
			.has_key = has_key,
			.wall_ns = lmi_daemon_wall_ns,
			.generated = d->traces ? lmi_daemon_trace : NULL},
		.arg = d,
	};
	struct lmi_http_address a;

	if (!c->http.n && !d->inherited.n)
		return LMD_OK;
	if (!opts.store_folder)
		return lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
	for (uint32_t i = 0; i < c->http.n; i++) {
		enum lmd_status st = lmi_http_address_parse(&a, c->http.item[i], err);

		if (st == LMD_OK && a.path)
			st = lmi_daemon_socket_claim(a.path, err);
		if (st != LMD_OK)
			return st;
	}
	return lmi_http_open(&d->http, &opts, err);
}
