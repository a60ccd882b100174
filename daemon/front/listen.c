/* SPDX-License-Identifier: MIT
 *
 * Accepts connections, one at a time.  Connections over the limits are also accepted, so that they
 * get an error reply before they are closed.  If descriptors or memory run out, accepting pauses
 * for PAUSE_MS. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "daemon/front/front_impl.h"

#define PAUSE_MS      100u
#define TLS_BYTES_MAX (1u << 20)

static enum lmd_status failed(struct lmd_error *err, int rv, const char *what)
{
	return lmd_fail(err,
			rv == NNG_ENOMEM       ? LMD_NOMEM
			: rv == NNG_EADDRINUSE ? LMD_BUSY
					       : LMD_IO,
			"%s: %s", what, nng_strerror(rv));
}

/* ---- operations ---- */

static void on_aio(void *arg)
{
	struct lmi_front_aio *op = arg;

	lmi_mailbox_post(&op->f->mailbox, &op->message);
}

enum lmd_status lmi_front_aio_init(struct lmi_front_aio *op, struct lmi_front_listener *f,
				   void *owner, void (*done)(struct lmi_mailbox_message *m))
{
	op->f = f;
	op->owner = owner;
	op->message.deliver = done;
	return nng_aio_alloc(&op->aio, on_aio, op) ? LMD_NOMEM : LMD_OK;
}

void lmi_front_aio_fini(struct lmi_front_aio *op)
{
	if (op->aio)
		nng_aio_free(op->aio);
	op->aio = NULL;
}

/* ---- accepting ---- */

static void accept_one(struct lmi_front_listen_socket *l)
{
	l->resume_ns = 0;
	l->accept.runs = true;
	nng_stream_listener_accept(l->l, l->accept.aio);
}

static void on_accept(struct lmi_mailbox_message *m)
{
	struct lmi_front_aio *op = (struct lmi_front_aio *)m;
	struct lmi_front_listen_socket *l = op->owner;
	struct lmi_front_listener *f = l->f;
	int rv = nng_aio_result(op->aio);
	nng_stream *stream = rv ? NULL : nng_aio_get_output(op->aio, 0);

	op->runs = false;
	if (!f->open) {
		nng_stream_free(stream);
		return;
	}
	if (rv == NNG_ECANCELED) {
		accept_one(l);
		return;
	}
	if (rv) {
		l->resume_ns = f->now + PAUSE_MS * LMI_NS_PER_MS;
		lmi_front_check_by(f, l->resume_ns);
		return;
	}
	accept_one(l);
	lmi_conn_begin(f, l, stream);
}

void lmi_front_listen_socket_tick(struct lmi_front_listen_socket *l, uint64_t now)
{
	if (l->resume_ns && now >= l->resume_ns)
		accept_one(l);
	else if (l->resume_ns)
		lmi_front_check_by(l->f, l->resume_ns);
}

/* ---- opening ---- */

static int listen_ipc(struct lmi_front_listen_socket *l)
{
	int rv = nng_stream_listener_set_int(l->l, NNG_OPT_IPC_PERMISSIONS, 0660);
	mode_t mask;

	if (rv)
		return rv;
	/* so that nobody can connect before the mode of the file is set */
	mask = umask(0177);
	rv = nng_stream_listener_listen(l->l);
	umask(mask);
	return rv;
}

static int listen_tcp(struct lmi_front_listen_socket *l)
{
	int rv = nng_stream_listener_set_bool(l->l, NNG_OPT_TCP_NODELAY, true);

	if (!rv)
		rv = nng_stream_listener_set_bool(l->l, NNG_OPT_TCP_KEEPALIVE, true);
	if (!rv && l->tls)
		rv = nng_stream_listener_set_ptr(l->l, NNG_OPT_TLS_CONFIG, l->f->tls);
	return rv ? rv : nng_stream_listener_listen(l->l);
}

/* With port 0 the system chooses a free port; writes it into the URL. */
static void note_port(struct lmi_front_listen_socket *l)
{
	char *colon = strrchr(l->url, ':');
	int port = 0;

	if (l->ipc || !colon || strcmp(colon, ":0") ||
	    nng_stream_listener_get_int(l->l, NNG_OPT_TCP_BOUND_PORT, &port))
		return;
	(void)snprintf(colon, sizeof(l->url) - (size_t)(colon - l->url), ":%d", port);
}

enum lmd_status lmi_front_listener_open(struct lmi_front_listener *f, const char *url,
					struct lmd_error *err)
{
	struct lmi_front_listen_socket *l = lmi_alloc(1, sizeof(*l));
	enum lmd_status st;
	int rv;

	if (!l)
		return lmd_fail(err, LMD_NOMEM, "no memory for a listener");
	l->f = f;
	l->ipc = !strncmp(url, "ipc://", 6);
	l->tls = !strncmp(url, "tls+", 4);
	(void)snprintf(l->url, sizeof(l->url), "%s", url);
	st = lmi_front_aio_init(&l->accept, f, l, on_accept);
	if (st != LMD_OK) {
		lmi_free(l);
		return lmd_fail(err, st, "no memory for a listener");
	}
	rv = nng_stream_listener_alloc(&l->l, url);
	if (!rv)
		rv = l->ipc ? listen_ipc(l) : listen_tcp(l);
	if (rv) {
		lmi_front_listener_free(l);
		return rv == NNG_EADDRINUSE
			       ? lmd_fail(err, LMD_BUSY, "another process is listening on %s", url)
			       : failed(err, rv, url);
	}
	note_port(l);
	l->next = f->listeners;
	f->listeners = l;
	accept_one(l);
	return LMD_OK;
}

void lmi_front_listener_set_tls(struct lmi_front_listen_socket *l, nng_tls_config *tls)
{
	if (!l->tls)
		return;
	(void)nng_stream_listener_set_ptr(l->l, NNG_OPT_TLS_CONFIG, tls);
	/* the pending accept uses the old files: cancel it to start another */
	if (l->accept.runs)
		nng_aio_cancel(l->accept.aio);
}

void lmi_front_listener_stop(struct lmi_front_listen_socket *l)
{
	nng_stream_listener_close(l->l);
}

void lmi_front_listener_free(struct lmi_front_listen_socket *l)
{
	if (l->l)
		nng_stream_listener_free(l->l);
	lmi_front_aio_fini(&l->accept);
	lmi_free(l);
}

/* ---- TLS ---- */

/* Reads a file as text.  If it is secret, it must not be accessible by others than its owner and
 * group. */
static enum lmd_status read_pem(char **out, const char *key, const char *path, bool secret,
				struct lmd_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	size_t n = 0;
	struct stat sb;
	ssize_t got = 1;

	if (fd < 0 || fstat(fd, &sb)) {
		enum lmd_status st =
			lmd_fail(err, LMD_IO, "%s: %.200s: %s", key, path, strerror(errno));

		if (fd >= 0)
			close(fd);
		return st;
	}
	if (!S_ISREG(sb.st_mode) || sb.st_size > TLS_BYTES_MAX) {
		close(fd);
		return lmd_fail(err, LMD_INVALID, "%s: %.200s: is not a file of at most %u bytes",
				key, path, TLS_BYTES_MAX);
	}
	if (secret && (sb.st_mode & 07)) {
		close(fd);
		return lmd_fail(
			err, LMD_INVALID,
			"%s: %.200s: mode %04o lets other users access the key: use at most 0640",
			key, path, (unsigned)sb.st_mode & 07777);
	}
	text = lmi_alloc((size_t)sb.st_size + 1, 1);
	while (text && n < (size_t)sb.st_size && got > 0) {
		got = read(fd, text + n, (size_t)sb.st_size - n);
		n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (!text)
		return lmd_fail(err, LMD_NOMEM, "no memory for %s", key);
	*out = text;
	return LMD_OK;
}

enum lmd_status lmi_front_tls_read(nng_tls_config **out, const struct lmi_front_opts *o,
				   struct lmd_error *err)
{
	char *cert = NULL, *key = NULL;
	nng_tls_config *config = NULL;
	enum lmd_status st = read_pem(&cert, "tls_cert", o->tls_cert, false, err);
	int rv;

	if (st == LMD_OK)
		st = read_pem(&key, "tls_key", o->tls_key, true, err);
	if (st == LMD_OK) {
		rv = nng_tls_config_alloc(&config, NNG_TLS_MODE_SERVER);
		if (!rv)
			rv = nng_tls_config_own_cert(config, cert, key, NULL);
		if (rv == NNG_ENOMEM)
			st = lmd_fail(err, LMD_NOMEM, "no memory for TLS");
		else if (rv)
			st = lmd_fail(err, LMD_INVALID,
				      "tls_cert %.160s, tls_key %.160s: not a certificate and its "
				      "private key in PEM (%s)",
				      o->tls_cert, o->tls_key, nng_strerror(rv));
	}
	if (key)
		explicit_bzero(key, strlen(key));
	lmi_free(key);
	lmi_free(cert);
	if (st == LMD_OK)
		*out = config;
	else if (config)
		nng_tls_config_free(config);
	return st;
}
