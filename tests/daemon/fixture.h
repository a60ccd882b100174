/* SPDX-License-Identifier: MIT
 *
 * fixture.h - a private daemon in a folder of its own, and clients of it.
 *
 * The daemon is the program of the build with the plugins of the build.  Nothing here sleeps:
 * a start is over when the daemon says so to its service manager (which is the fixture), an end
 * when the process ends.  Whatever takes longer than LMT_PATIENCE_MS fails the test.
 *
 * The model "tiny" (LMT_FULL) lies in the folder; with the backend null a greedy answer counts
 * tokens: t + 1, t + 2, ... */
#ifndef LLAMAD_TESTS_DAEMON_FIXTURE_H
#define LLAMAD_TESTS_DAEMON_FIXTURE_H

#include <nng/nng.h>
#include <stdbool.h>
#include <sys/types.h>

#include "proto/proto.h"

#define LMT_PATIENCE_MS 60000

struct lmt_daemon {
	char dir[64]; /* of everything */
	char socket[100], url[128], state[128], config[128], model[128], plugins[128], log[128];
	pid_t pid; /* 0: none */
	int notify;
	/* Generations end only when they are ended, on a machine of any speed: steps that take
	 * time, a long context, streams that hold it.  For the next config and start. */
	bool endless;
};

/* Makes the folder with the model and an empty configuration; no daemon yet. */
void lmt_daemon_init(struct lmt_daemon *d);
/* Kills what is left and removes the folder. */
void lmt_daemon_fini(struct lmt_daemon *d);

/* Writes the configuration file: the text behind what every test wants (backend null). */
void lmt_daemon_config(struct lmt_daemon *d, const char *text);

/* Starts and waits until it is ready.  extra: further words of the command line, NULL at the
 * end; NULL = none. */
void lmt_daemon_start(struct lmt_daemon *d, const char *const *extra);
/* Starts one that ends by itself: its exit status; the last line of standard error in text. */
int lmt_daemon_refused(struct lmt_daemon *d, const char *const *extra, char *text, size_t n);
/* Waits for a message of the daemon to its service manager that contains `what`. */
void lmt_daemon_wait(struct lmt_daemon *d, const char *what);
/* Waits for the end: the exit status, or 256 + the signal. */
int lmt_daemon_exit(struct lmt_daemon *d);
/* SIGTERM, and an exit with 0. */
void lmt_daemon_stop(struct lmt_daemon *d);
/* Everything it has written to standard error; lives until the next call. */
const char *lmt_daemon_log(struct lmt_daemon *d);
uint32_t lmt_daemon_n_fd(const struct lmt_daemon *d);

/* ---- clients ---- */

struct lmt_client {
	nng_socket sock;
	struct lmd_arena *arena; /* of the last reply */
	nng_msg *reply;
	struct lmi_reply r;
};

void lmt_client_open(struct lmt_client *c, const struct lmt_daemon *d);
/* Another address; ca: file of who is trusted (NULL: no TLS).  The status of nng. */
int lmt_client_dial(struct lmt_client *c, const char *url, const char *ca);
void lmt_client_close(struct lmt_client *c);

/* Asks and waits; the reply lives until the next call. */
const struct lmi_reply *lmt_ask(struct lmt_client *c, const struct lmi_request *req);
/* The same, the request is sent as those bytes. */
const struct lmi_reply *lmt_ask_bytes(struct lmt_client *c, enum lmi_wire_op op, const void *bytes,
				      size_t n);
/* An op without required fields. */
const struct lmi_reply *lmt_ask_op(struct lmt_client *c, enum lmi_wire_op op);

/* Gives the request an id that was never used before. */
void lmt_new_rid(struct lmi_request *req);
/* Adds the model of the folder to the registry as "tiny" and waits until it is there. */
void lmt_add(struct lmt_client *c, const struct lmt_daemon *d);
/* A greedy generation of n tokens (-1: until it is ended); fails the test when refused. */
void lmt_generate(struct lmt_client *c, const char *model, int64_t n, struct lmi_wire_id *id);
/* What lies behind *after, waiting at most wait_ms for it; moves *after. */
const struct lmi_rep_next *lmt_next(struct lmt_client *c, const struct lmi_wire_id *id,
				    int64_t *after, int64_t wait_ms);

/* ---- bytes on the socket ---- */

/* A connection without any library; after the handshake of a REQ socket when `hello`. */
int lmt_raw_open(const struct lmt_daemon *d, bool hello);
/* A message as REQ sends it, with a length that may be a lie. */
void lmt_raw_send(int fd, uint64_t claimed, const void *body, size_t n);
/* Waits until the daemon closes the connection; false: it sent something. */
bool lmt_raw_closed(int fd);

#endif /* LLAMAD_TESTS_DAEMON_FIXTURE_H */
