/* SPDX-License-Identifier: MIT
 *
 * Streams of a running daemon over HTTP beside streams over its socket.
 *
 *     http_stream SOCKET-URL HTTP-ADDRESS:PORT MODEL [CLIENTS [REQUESTS [TOKENS [ROUNDS [PID]]]]]
 *
 * A round lets CLIENTS threads send REQUESTS requests each, one after the other, first over the
 * socket and then over HTTP (completions with keep-alive); every second round the other way round.
 * Prompts are of the same form in both and differ from request to request.  Printed are the load of
 * the machine, tokens per second of each round with the ratio, and over all rounds the median and the
 * 99th percentile of the time to the first token.  With the PID of the daemon, the ratio of its
 * processor time per token is printed as well, which depends less on what else the machine does. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "llamad/client.h"

#define CLIENTS_MAX 256
#define ROUNDS_MAX  64

enum { SOCKET, HTTP };

static const char *url, *address, *model;
static int n_client = 1, n_request = 32, n_token = 64, n_round = 5;

static int pid;

struct worker {
	pthread_t thread;
	int number, over, round;
	double *first_ms; /* [n_request] */
	uint64_t n_out;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "http_stream: %s: %s\n", what, why);
	exit(1);
}

/* The prompt differs near its beginning, so that no request finds it in the prefix cache. */
static void make_prompt(char *out, size_t n, const struct worker *w, int i)
{
	snprintf(out, n, "%d %d %d %d times: the old man and the sea", w->over, w->round,
		 w->number, i);
}

/* ---- over the socket ---- */

static void run_socket(struct worker *w)
{
	const struct lmd_client_opts o = {.struct_size = sizeof(o), .url = url};
	struct lmd_error err = {0};
	struct lmd_client *c;
	char prompt[80];

	if (lmd_client_open(&c, &o, &err) != LMD_OK)
		die(url, err.text);
	for (int i = 0; i < n_request; i++) {
		struct lmd_generate g = {.struct_size = sizeof(g),
					 .model = model,
					 .prompt = prompt,
					 .flags = LMD_GEN_RAW | LMD_GEN_GREEDY | LMD_GEN_IGNORE_EOG,
					 .n_predict = n_token};
		struct lmd_stream *s;
		struct lmd_item it;
		double from = now_ms();

		make_prompt(prompt, sizeof(prompt), w, i);
		w->first_ms[i] = 0;
		if (lmd_client_generate(c, &g, &s, &err) != LMD_OK)
			die("generate", err.text);
		do {
			if (lmd_stream_next(s, &it, -1, &err) != LMD_OK)
				die("next", err.text);
			if (it.kind == LMD_ITEM_TOKEN && !w->first_ms[i])
				w->first_ms[i] = now_ms() - from;
			w->n_out += it.kind == LMD_ITEM_TOKEN;
		} while (it.kind != LMD_ITEM_DONE);
		lmd_stream_close(s);
	}
	lmd_client_close(c);
}

/* ---- over HTTP ---- */

static int connect_http(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char host[64];
	const char *colon = strrchr(address, ':');
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - address) : 0, address);
	if (!colon || inet_pton(AF_INET, host, &to.sin_addr) != 1)
		die(address, "is not ADDRESS:PORT");
	to.sin_port = htons((uint16_t)atoi(colon + 1));
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die(address, "cannot connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* Counts the events with text in n bytes; a part of a line stays in *tail. */
static uint64_t count_events(const char *p, size_t n, char *tail, size_t max)
{
	static const char mark[] = "\"text\":";
	size_t kept = strlen(tail), at = 0;
	uint64_t found = 0;

	/* the mark may be split between two reads */
	for (size_t i = 0; i < n; i++) {
		if (kept == max - 1) {
			memmove(tail, tail + 1, kept--);
			tail[kept] = 0;
		}
		tail[kept++] = p[i] ? p[i] : ' ';
		tail[kept] = 0;
		at = kept >= sizeof(mark) - 1 ? kept - (sizeof(mark) - 1) : 0;
		found += kept >= sizeof(mark) - 1 && !strcmp(tail + at, mark);
	}
	return found;
}

static void run_http(struct worker *w)
{
	char prompt[80], body[512], request[1024], in[65536], tail[16];
	int fd = connect_http();

	for (int i = 0; i < n_request; i++) {
		double from = now_ms();
		bool done = false, begun = false;
		uint64_t n = 0;

		make_prompt(prompt, sizeof(prompt), w, i);
		snprintf(body, sizeof(body),
			 "{\"model\":\"%s\",\"prompt\":\"%s\",\"max_tokens\":%d,\"temperature\":0,"
			 "\"ignore_eos\":true,\"stream\":true}",
			 model, prompt, n_token);
		snprintf(request, sizeof(request),
			 "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
			 "application/json\r\nContent-Length: %zu\r\n\r\n%s",
			 strlen(body), body);
		if (write(fd, request, strlen(request)) != (ssize_t)strlen(request))
			die("HTTP", "cannot send a request");
		tail[0] = 0;
		w->first_ms[i] = 0;
		while (!done) {
			ssize_t k = read(fd, in, sizeof(in) - 1);

			if (k <= 0)
				die("HTTP", "the connection was closed");
			in[k] = 0;
			if (!i && !begun && !strstr(in, "HTTP/1.1 200"))
				die("HTTP", "the status is not 200");
			begun = true;
			n += count_events(in, (size_t)k, tail, sizeof(tail));
			if (n && !w->first_ms[i])
				w->first_ms[i] = now_ms() - from;
			done = k >= 5 && !memcmp(in + k - 5, "0\r\n\r\n", 5);
		}
		w->n_out += (uint64_t)n_token;
	}
	close(fd);
}

/* ---- both ---- */

static void *work(void *arg)
{
	struct worker *w = arg;

	if (w->over == HTTP)
		run_http(w);
	else
		run_socket(w);
	return NULL;
}

/* Returns the processor time of the daemon in ms, or 0 if its PID is not known. */
static double daemon_ms(void)
{
	char path[40], line[1024] = "";
	unsigned long user = 0, system = 0;
	const char *at;
	FILE *f;

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof(line), f))
		die(path, "cannot be read");
	fclose(f);
	at = strrchr(line, ')');
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			  &system) != 2)
		die(path, "has another form");
	return (double)(user + system) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

/* Returns tokens per second, sets first_ms to the times to the first token, and *ms to the daemon's
 * processor time for 1000 tokens. */
static double measure(int over, int round, double *first_ms, double *ms)
{
	static struct worker w[CLIENTS_MAX];
	double used = daemon_ms(), from = now_ms(), took;
	uint64_t n = 0;

	for (int i = 0; i < n_client; i++) {
		w[i] = (struct worker){.number = i, .over = over, .round = round,
				       .first_ms = first_ms + (size_t)i * (size_t)n_request};
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (int i = 0; i < n_client; i++) {
		pthread_join(w[i].thread, NULL);
		n += w[i].n_out;
	}
	took = now_ms() - from;
	*ms = (daemon_ms() - used) * 1e3 / (double)n;
	return (double)n * 1e3 / took;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print_first(const char *what, double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_size);
	printf("%s: first token after %.3f ms (median), %.3f ms (99 %%)\n", what, v[n / 2],
	       v[n * 99 / 100]);
}

static void print_load(void)
{
	double load[3] = {0};

	(void)getloadavg(load, 3);
	printf("load %.2f %.2f %.2f\n", load[0], load[1], load[2]);
}

static int number(char **argv, int argc, int i, int otherwise, int max)
{
	int n = argc > i ? atoi(argv[i]) : otherwise;

	if (n < 1 || n > max)
		die(argv[i], "is not a number in its range");
	return n;
}

int main(int argc, char **argv)
{
	double rate[2][ROUNDS_MAX], ms[2][ROUNDS_MAX], ratio[ROUNDS_MAX], of_ms[ROUNDS_MAX];
	double *first[2];
	size_t per_round;

	if (argc < 4) {
		fprintf(stderr, "usage: http_stream SOCKET-URL ADDRESS:PORT MODEL [CLIENTS [REQUESTS "
				"[TOKENS [ROUNDS [PID]]]]]\n");
		return 2;
	}
	url = argv[1];
	address = argv[2];
	model = argv[3];
	n_client = number(argv, argc, 4, n_client, CLIENTS_MAX);
	n_request = number(argv, argc, 5, n_request, 100000);
	n_token = number(argv, argc, 6, n_token, 100000);
	n_round = number(argv, argc, 7, n_round, ROUNDS_MAX);
	pid = argc > 8 ? number(argv, argc, 8, 0, 1 << 22) : 0;
	per_round = (size_t)n_client * (size_t)n_request;
	for (int k = 0; k < 2; k++) {
		first[k] = calloc(per_round * (size_t)n_round, sizeof(double));
		if (!first[k])
			die("memory", "there is none");
		(void)measure(k, n_round, first[k], ms[k]); /* warms up; its times are overwritten */
	}
	print_load();
	for (int r = 0; r < n_round; r++) {
		for (int k = 0; k < 2; k++) {
			int over = (k + r) % 2;

			rate[over][r] = measure(over, r, first[over] + per_round * (size_t)r,
						&ms[over][r]);
		}
		ratio[r] = rate[HTTP][r] / rate[SOCKET][r];
		of_ms[r] = pid && ms[SOCKET][r] > 0 ? ms[HTTP][r] / ms[SOCKET][r] : 0;
		printf("round %d: socket %.1f tokens/s, http %.1f tokens/s, ratio %.3f\n", r + 1,
		       rate[SOCKET][r], rate[HTTP][r], ratio[r]);
	}
	print_load();
	qsort(ratio, (size_t)n_round, sizeof(*ratio), by_size);
	printf("ratio %.3f (median)\n", ratio[n_round / 2]);
	qsort(of_ms, (size_t)n_round, sizeof(*of_ms), by_size);
	if (pid)
		printf("daemon's processor time for a token, http / socket: %.3f (median)\n",
		       of_ms[n_round / 2]);
	print_first("socket", first[SOCKET], per_round * (size_t)n_round);
	print_first("http", first[HTTP], per_round * (size_t)n_round);
	free(first[0]);
	free(first[1]);
	return 0;
}
