/* SPDX-License-Identifier: MIT
 *
 * The sockets may be blocking: nothing is read or written before poll says that it can be, and never more
 * than there is. */
#include "core/worker/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC 0x776b7231u /* of this version: both sides are the same program */

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Waits until the socket can be read or written. */
static enum lmd_status wait_for(int sock, short events, lmi_worker_tick_fn tick, void *arg)
{
	for (;;) {
		struct pollfd p = {.fd = sock, .events = events};
		int n = poll(&p, 1, tick ? LMI_WORKER_TICK_MS : -1);

		if (n > 0)
			return p.revents & (POLLERR | POLLNVAL) ||
					       (p.revents & POLLHUP && !(p.revents & POLLIN))
				       ? LMD_IO
				       : LMD_OK;
		if (n < 0 && errno != EINTR)
			return LMD_IO;
		if (tick && !tick(arg))
			return LMD_TIMEOUT;
	}
}

static bool may_retry(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Leaves out the first k bytes of two pieces. */
static void advance(struct iovec v[2], size_t k)
{
	for (int i = 0; i < 2; i++) {
		size_t n = k < v[i].iov_len ? k : v[i].iov_len;

		if (n) /* otherwise there may be no memory */
			v[i].iov_base = (char *)v[i].iov_base + n;
		v[i].iov_len -= n;
		k -= n;
	}
}

/* Writes two pieces, by one call if there is room, so that the reader wakes up once. */
static enum lmd_status write_all(int sock, struct iovec v[2], int fd, lmi_worker_tick_fn tick, void *arg)
{
	while (v[0].iov_len || v[1].iov_len) {
		union control c = {.room = {0}};
		struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
		enum lmd_status st;
		ssize_t k;

		if (fd >= 0) {
			m.msg_control = c.room;
			m.msg_controllen = sizeof(c.room);
			c.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
			memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
		}
		k = sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (k < 0 && !may_retry())
			return LMD_IO;
		if (k > 0) {
			advance(v, (size_t)k);
			fd = -1; /* it went with the first byte */
			continue;
		}
		st = wait_for(sock, POLLOUT, tick, arg);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

/* Takes the descriptors that came with some bytes; keeps the first one. There may be two of them, since
 * the room for one is rounded up. */
static void take_fds(struct msghdr *m, int *fd)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
			int got;

			memcpy(&got, CMSG_DATA(c) + at, sizeof(got));
			if (*fd < 0)
				*fd = got;
			else
				(void)close(got);
		}
	}
}

static enum lmd_status read_all(int sock, void *p, size_t n, int *fd, lmi_worker_tick_fn tick,
				void *arg)
{
	char *at = p;

	while (n) {
		union control c;
		struct iovec v = {.iov_base = at, .iov_len = n};
		struct msghdr m = {.msg_iov = &v,
				   .msg_iovlen = 1,
				   .msg_control = c.room,
				   .msg_controllen = sizeof(c.room)};
		ssize_t k = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		enum lmd_status st;

		if (!k || (k < 0 && !may_retry()))
			return LMD_IO;
		if (k > 0) {
			take_fds(&m, fd);
			at += k;
			n -= (size_t)k;
			continue;
		}
		st = wait_for(sock, POLLIN, tick, arg);
		if (st != LMD_OK)
			return st;
	}
	return LMD_OK;
}

enum lmd_status lmi_worker_send(int sock, const struct lmi_worker_head *head, const void *payload, int fd,
				lmi_worker_tick_fn tick, void *arg)
{
	struct lmi_worker_head h = *head;
	struct iovec v[2] = {{.iov_base = &h, .iov_len = sizeof(h)},
			     {.iov_base = (void *)(uintptr_t)payload, .iov_len = (size_t)h.bytes}};

	h.magic = MAGIC;
	h.n_fd = fd >= 0;
	return h.bytes > LMI_WORKER_PAYLOAD_MAX ? LMD_CORRUPT : write_all(sock, v, fd, tick, arg);
}

enum lmd_status lmi_worker_receive(int sock, struct lmi_worker_head *head,
				   struct lmi_worker_out *payload, int *fd,
				   lmi_worker_tick_fn tick, void *arg)
{
	void *to;
	enum lmd_status st;

	*fd = -1;
	lmi_worker_out_reset(payload);
	st = read_all(sock, head, sizeof(*head), fd, tick, arg);
	if (st == LMD_OK && (head->magic != MAGIC || head->bytes > LMI_WORKER_PAYLOAD_MAX ||
			     head->n_fd != (uint32_t)(*fd >= 0)))
		st = LMD_CORRUPT;
	if (st == LMD_OK && head->bytes) {
		to = lmi_worker_out_put(payload, NULL, (size_t)head->bytes);
		st = to ? read_all(sock, to, (size_t)head->bytes, fd, tick, arg) : LMD_NOMEM;
	}
	if (st != LMD_OK && *fd >= 0) {
		(void)close(*fd);
		*fd = -1;
	}
	return st;
}
