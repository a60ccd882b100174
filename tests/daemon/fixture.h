/* SPDX-License-Identifier: MIT
 *
 * fixture.h - a private daemon in a temporary folder, and clients for it.
 *
 * The daemon is the program of this build with the plugins of this build.  Nothing here sleeps: the
 * start is complete when the daemon notifies its service manager (which is the fixture), the end
 * when the process has exited.  Anything that takes longer than LMT_PATIENCE_MS fails the test.
 *
 * The folder contains the model "tiny" (LMT_FULL); with the backend null a greedy answer counts
 * tokens upwards: t + 1, t + 2, ... */
#ifndef LLAMAD_TESTS_DAEMON_FIXTURE_H
#define LLAMAD_TESTS_DAEMON_FIXTURE_H

#include <nng/nng.h>
#include <stdbool.h>
#include <sys/types.h>

#include "proto/proto.h"

#define LMT_PATIENCE_MS 60000

struct lmt_daemon {
	char dir[64]; /* the temporary folder */
	char socket[100], url[128], state[128], config[128], model[128], plugins[128], log[128];
	pid_t pid; /* 0: none */
	int notify;
	/* Makes generations last until they are cancelled, however fast the machine is: steps take
	 * time, the context is long, and streams can hold its text.  Applies to the next config and
	 * start. */
	bool endless;
};

/* Creates the folder with the model and an empty configuration; does not start the daemon. */
void lmt_daemon_init(struct lmt_daemon *d);
/* Kills the daemon if it runs, and removes the folder. */
void lmt_daemon_fini(struct lmt_daemon *d);

/* Writes the configuration file: common settings (backend null), then the text. */
void lmt_daemon_config(struct lmt_daemon *d, const char *text);

/* Starts the daemon and waits until it is ready.  extra: more arguments, NULL-terminated; NULL =
 * none. */
void lmt_daemon_start(struct lmt_daemon *d, const char *const *extra);
/* Starts a daemon that fails to start; returns its exit status, and the last line of standard error
 * in text. */
int lmt_daemon_refused(struct lmt_daemon *d, const char *const *extra, char *text, size_t n);
/* Waits for a message of the daemon to its service manager that contains `what`. */
void lmt_daemon_wait(struct lmt_daemon *d, const char *what);
/* Waits for the end; returns the exit status, or 256 + the signal. */
int lmt_daemon_exit(struct lmt_daemon *d);
/* Sends SIGTERM and checks that the daemon exits with status 0. */
void lmt_daemon_stop(struct lmt_daemon *d);
/* Returns everything that the daemon wrote to standard error; valid until the next call. */
const char *lmt_daemon_log(struct lmt_daemon *d);
uint32_t lmt_daemon_n_fd(const struct lmt_daemon *d);

/* ---- clients ---- */

struct lmt_client {
	nng_socket sock;
	struct lmd_arena *arena; /* memory of the last reply */
	nng_msg *reply;
	struct lmi_wire_reply r;
};

void lmt_client_open(struct lmt_client *c, const struct lmt_daemon *d);
/* Connects to another address; ca: file of trusted certificates (NULL: no TLS).  Returns the status
 * of nng. */
int lmt_client_dial(struct lmt_client *c, const char *url, const char *ca);
void lmt_client_close(struct lmt_client *c);

/* Sends a request and waits; the reply is valid until the next call. */
const struct lmi_wire_reply *lmt_ask(struct lmt_client *c, const struct lmi_wire_request *req);
/* Like lmt_ask, for an encoded request. */
const struct lmi_wire_reply *lmt_ask_bytes(struct lmt_client *c, enum lmi_wire_op op,
					   const void *bytes, size_t n);
/* Like lmt_ask, for an op without required fields. */
const struct lmi_wire_reply *lmt_ask_op(struct lmt_client *c, enum lmi_wire_op op);

/* Sets a new request id. */
void lmt_new_rid(struct lmi_wire_request *req);
/* Adds the model of the folder to the registry as "tiny" and waits for the end of the job. */
void lmt_add(struct lmt_client *c, const struct lmt_daemon *d);
/* Adds it under another name. */
void lmt_add_as(struct lmt_client *c, const struct lmt_daemon *d, const char *name);
/* Starts a greedy generation of n tokens (-1: until it is cancelled); fails the test on an
 * error. */
void lmt_generate(struct lmt_client *c, const char *model, int64_t n, struct lmi_wire_id *id);
/* Fetches the items after *after, waiting at most wait_ms; advances *after. */
const struct lmi_wire_rep_next *lmt_next(struct lmt_client *c, const struct lmi_wire_id *id,
					 int64_t *after, int64_t wait_ms);

/* ---- bytes on the socket ---- */

/* Opens a connection without a library; with `hello`, does the handshake of a REQ socket. */
int lmt_raw_open(const struct lmt_daemon *d, bool hello);
/* Sends a message like a REQ socket, with any claimed length. */
void lmt_raw_send(int fd, uint64_t claimed, const void *body, size_t n);
/* Waits until the daemon closes the connection; returns false if it sends something. */
bool lmt_raw_closed(int fd);

#endif /* LLAMAD_TESTS_DAEMON_FIXTURE_H */
