/* SPDX-License-Identifier: MIT
 *
 * The upper bound of requests per second on a machine: a server of one thread that reads nothing in a
 * request but where its header ends, and answers each with the same bytes.
 *
 *     http_fixed PORT BYTES
 *
 * It listens on 127.0.0.1:PORT.  For each request it makes the calls that no server can do without,
 * one to receive, one to send and a share of one epoll_wait; bench/peers/requests measures it beside
 * llamad and llama-server.  It serves trusted load generators only. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 64

static char answer[1 << 17];
static size_t n_answer;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int listen_at(const char *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr = {htonl(INADDR_LOOPBACK)},
				 .sin_port = htons((uint16_t)atoi(port))};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 128))
		die(port);
	return fd;
}

static void watch(int poll, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.fd = fd}};

	if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e))
		die("epoll_ctl");
}

/* Answers the requests that have arrived; closes the connection at its end. */
static void serve(int fd)
{
	char in[1 << 16];
	ssize_t n = recv(fd, in, sizeof(in), 0);

	if (n <= 0) {
		close(fd);
		return;
	}
	for (const char *p = in; (p = memmem(p, (size_t)(in + n - p), "\r\n\r\n", 4)); p += 4)
		if (send(fd, answer, n_answer, MSG_NOSIGNAL) != (ssize_t)n_answer) {
			close(fd);
			return;
		}
}

int main(int argc, char **argv)
{
	size_t n_body = argc == 3 ? strtoul(argv[2], NULL, 10) : sizeof(answer);
	struct epoll_event e[EVENTS_MAX];
	int fd, poll, one = 1;

	if (n_body > sizeof(answer) - 256) {
		fputs("usage: http_fixed PORT BYTES, at most 130816 bytes\n", stderr);
		return 2;
	}
	n_answer = (size_t)snprintf(answer, 256,
				    "HTTP/1.1 200 OK\r\nDate: Sat, 28 Nov 2026 12:00:00 GMT\r\n"
				    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
				    n_body);
	memset(answer + n_answer, 'x', n_body);
	n_answer += n_body;
	fd = listen_at(argv[1]);
	poll = epoll_create1(0);
	watch(poll, fd);
	for (;;) {
		int n = epoll_wait(poll, e, EVENTS_MAX, -1);

		for (int i = 0; i < n; i++) {
			if (e[i].data.fd != fd) {
				serve(e[i].data.fd);
				continue;
			}
			int c = accept(fd, NULL, NULL);

			if (c < 0)
				continue;
			setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			watch(poll, c);
		}
	}
}
