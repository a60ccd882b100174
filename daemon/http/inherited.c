/* SPDX-License-Identifier: MIT
 *
 * Reads which sockets the process inherited, and where they listen. */
#include "daemon/http/inherited.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/printable.h"

#define FIRST_FD 3

static bool is(const char *name, size_t n, const char *word)
{
	return n == strlen(word) && !memcmp(name, word, n);
}

static enum lmd_status check(int fd, struct lmd_error *err)
{
	int type = 0, listens = 0;
	socklen_t n = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n))
		return lmd_fail(err, LMD_INVALID, "http: the inherited descriptor %d: %s", fd,
				strerror(errno));
	if (type != SOCK_STREAM || !listens)
		return lmd_fail(err, LMD_INVALID,
				"http: the inherited descriptor %d is not a listening stream socket: "
				"its unit needs ListenStream= and Accept=no",
				fd);
	return LMD_OK;
}

static enum lmd_status take(struct lmi_http_inherited_socket *s, int fd, bool tls,
			    struct lmd_error *err)
{
	enum lmd_status st = check(fd, err);
	int flags;

	if (st != LMD_OK)
		return st;
	*s = (struct lmi_http_inherited_socket){.fd = fd};
	st = lmi_http_address_of(&s->addr, fd, err);
	s->addr.tls = tls;
	if (st != LMD_OK)
		return st;
	if (tls && s->addr.path)
		return lmd_fail(err, LMD_INVALID,
				"http: the inherited descriptor %d is a unix socket: name it http", fd);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return lmd_fail(err, LMD_IO, "http: the inherited descriptor %d: %s", fd,
				strerror(errno));
	return LMD_OK;
}

static void ignore(struct lmi_http_inherited *out, const char *name, size_t n)
{
	if (!out->n_ignored++)
		lmi_printable(out->ignored, sizeof(out->ignored), name, n);
}

enum lmd_status lmi_http_inherited_find(struct lmi_http_inherited *out, const char *listen_pid,
					const char *listen_fds, const char *listen_fdnames,
					struct lmd_error *err)
{
	const char *name = listen_fdnames ? listen_fdnames : "";
	long n = listen_fds ? strtol(listen_fds, NULL, 10) : 0;

	*out = (struct lmi_http_inherited){0};
	if (!listen_pid || strtol(listen_pid, NULL, 10) != (long)getpid())
		return LMD_OK;
	for (int fd = FIRST_FD; n > 0 && *name; fd++, n--) {
		size_t len = strcspn(name, ":");
		bool tls = is(name, len, "https");
		enum lmd_status st;

		if (tls || is(name, len, "http")) {
			if (out->n == LMI_HTTP_INHERITED_MAX)
				return lmd_fail(err, LMD_INVALID,
						"http: more than %d sockets are inherited",
						LMI_HTTP_INHERITED_MAX);
			st = take(&out->v[out->n], fd, tls, err);
			if (st != LMD_OK)
				return st;
			out->n++;
		} else {
			ignore(out, name, len);
		}
		name += len + (name[len] == ':');
	}
	if (n > 0) { /* more descriptors than names */
		ignore(out, "", 0);
		out->n_ignored += (uint64_t)n - 1;
	}
	return LMD_OK;
}
