/* SPDX-License-Identifier: MIT
 *
 * Starts the listener for HTTP: on configured addresses, on sockets that systemd has opened, and, unless
 * one of these is a unix socket, on a unix socket beside the daemon's own. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "core/base/arena.h"
#include "core/base/default_socket.h"
#include "core/base/printable.h"
#include "daemon/daemon_impl.h"
#include "daemon/listen_url.h"
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

/* ---- addresses ---- */

static bool has_unix_socket(const struct lmi_daemon *d, const struct lmi_config_list *addresses)
{
	struct lmi_http_address a;

	for (uint32_t i = 0; i < d->inherited.n; i++)
		if (d->inherited.v[i].addr.path)
			return true;
	for (uint32_t i = 0; i < addresses->n; i++)
		if (lmi_http_address_parse(&a, addresses->item[i], NULL) == LMD_OK && a.path)
			return true;
	return false;
}

/* Appends the default unix socket, unless its path would be too long. */
static enum lmd_status add_default(struct lmi_daemon *d, struct lmi_config_list *addresses,
				   struct lmd_error *err)
{
	const char *own = d->config->socket + strlen("ipc://");
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)], shown[120];
	int n = lmi_default_socket_http(path, sizeof(path), own);
	const char **item;

	if (n >= (int)sizeof(path)) {
		LMI_DAEMON_LOG(d, LMD_LOG_WARN,
			       "http: there is no unix socket beside %s: its path would have %d bytes, the "
			       "maximum is %zu; set http to another unix:/PATH, or to off",
			       lmi_printable_path(shown, sizeof(shown), own), n, sizeof(path) - 1);
		return LMD_OK;
	}
	item = lmi_arena_array(d->config->arena, addresses->n + 1, sizeof(*item));
	if (item)
		item[addresses->n] = lmi_arena_printf(d->config->arena, "unix:%s", path);
	if (!item || !item[addresses->n])
		return lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
	for (uint32_t i = 0; i < addresses->n; i++)
		item[i] = addresses->item[i];
	addresses->item = item;
	addresses->n++;
	return LMD_OK;
}

static enum lmd_status find_addresses(struct lmi_daemon *d, struct lmi_config_list *out,
				      struct lmd_error *err)
{
	*out = (struct lmi_config_list){0};
	if (lmi_daemon_http_is_off(d->config))
		return LMD_OK;
	*out = d->config->http;
	return has_unix_socket(d, out) ? LMD_OK : add_default(d, out, err);
}

static enum lmd_status claim_sockets(const struct lmi_config_list *addresses, struct lmd_error *err)
{
	struct lmi_http_address a;

	for (uint32_t i = 0; i < addresses->n; i++) {
		enum lmd_status st = lmi_http_address_parse(&a, addresses->item[i], err);

		if (st == LMD_OK && a.path)
			st = lmi_daemon_socket_claim(a.path, err);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

enum lmd_status lmi_daemon_start_http(struct lmi_daemon *d, struct lmd_error *err)
{
	const struct lmi_config *c = d->config;
	struct lmi_config_list addresses;
	enum lmd_status st = find_addresses(d, &addresses, err);
	const struct lmi_http_opts opts = {
		.host = d->host,
		.base = lmi_loop_base(d->loop),
		.service = d->service,
		.apis = lmi_daemon_http_apis,
		.addresses = addresses.item,
		.n_address = addresses.n,
		.inherited = &d->inherited,
		.tls_cert = c->tls_cert,
		.tls_key = c->tls_key,
		.origins = c->http_origins.item,
		.n_origin = c->http_origins.n,
		.model = c->http_model,
		.refuse_unknown = c->http_unknown_model == 1,
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

	if (st != LMD_OK || (!addresses.n && !d->inherited.n))
		return st;
	if (!opts.store_folder)
		return lmd_fail(err, LMD_NOMEM, "no memory for the configuration");
	st = claim_sockets(&addresses, err);
	return st == LMD_OK ? lmi_http_open(&d->http, &opts, err) : st;
}
