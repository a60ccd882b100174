/* SPDX-License-Identifier: MIT
 *
 * Findings about the daemon: whether it answers, its version, its configuration, its models and
 * keys, and the port that a new one would listen at. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "client/llamactl/health.h"
#include "client/llamactl/llamad_program.h"
#include "client/llamactl/remote.h"
#include "core/base/default_socket.h"
#include "core/base/default_state.h"
#include "core/base/printable.h"
#include "llamad/version.h"

#define CONFIG	   LMI_DEFAULT_CONFIG_FILE
#define HTTP_PORT  8080 /* the default of `llamactl serve` */
#define CONFIG_SECONDS 20
#define KEY_HOURS  (7 * 24) /* before a key expires: time to replace it */
#define IS_SYSTEMD "/run/systemd/system"

static const char *restart_command(void)
{
	return access(IS_SYSTEMD, F_OK) ? "llamactl shutdown, then start llamad again"
					: "sudo systemctl restart llamad";
}

static void check_version(struct lmi_ctl_health *h, struct lmd_client *c)
{
	struct lmd_server server = {.struct_size = sizeof(server)};
	struct lmi_ctl_finding *f;

	lmd_client_server(c, &server);
	if (!strcmp(server.version, LMD_VERSION)) {
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "daemon", "llamad %s answers at %s",
				   server.version, server.url);
		return;
	}
	f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "daemon",
			       "llamad %s answers at %s, and this is llamactl %s: after an upgrade the "
			       "old program runs until it is restarted",
			       server.version, server.url, LMD_VERSION);
	lmi_ctl_health_type(f, "%s", restart_command());
}

/* The socket for HTTP may have another place, or HTTP may be off: only the default one is looked for. */
static void check_http(struct lmi_ctl_health *h, struct lmd_client *c)
{
	struct lmd_server server = {.struct_size = sizeof(server)};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char shown[160];
	int fd;

	lmd_client_server(c, &server);
	if (strncmp(server.url, "ipc://", 6) != 0 ||
	    lmi_default_socket_http(a.sun_path, sizeof(a.sun_path), server.url + 6) >=
		    (int)sizeof(a.sun_path))
		return;
	/* EAGAIN in place of a wait for a daemon that accepts no connections */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (!connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "http",
				   "answers at unix:%s; for TCP: llamad --http ADDR:PORT",
				   lmi_printable_path(shown, sizeof(shown), a.sun_path));
	else if (errno == EAGAIN)
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "http",
				   "unix:%s has so many waiting connections that it takes no more",
				   lmi_printable_path(shown, sizeof(shown), a.sun_path));
	else
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_NOTE, "http",
				   "not at unix:%s (%s), which is where it is by default",
				   lmi_printable_path(shown, sizeof(shown), a.sun_path), strerror(errno));
	(void)close(fd);
}

/* The daemon may run elsewhere, and its files may be in folders that this user cannot read: only a
 * missing file counts. */
static void check_models(struct lmi_ctl_health *h)
{
	const char *socket = lmi_ctl_socket(h->ctl);
	json_t *reply, *m;
	unsigned n_missing = 0;
	size_t i;

	if (socket && strncmp(socket, "ipc://", 6) != 0)
		return;
	if (lmi_ctl_remote_call(h->ctl, "models", NULL, &reply, NULL) != LMD_OK)
		return;
	json_array_foreach(json_object_get(reply, "models"), i, m)
	{
		const char *name = json_string_value(json_object_get(m, "name"));
		const char *path = json_string_value(json_object_get(m, "path"));
		char shown[160];

		if (!name || !path || !access(path, F_OK) || errno != ENOENT)
			continue;
		if (++n_missing > 8)
			break;
		lmi_ctl_health_type(lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "models",
						       "the file of model '%s' is gone: %s", name,
						       lmi_printable_path(shown, sizeof(shown), path)),
				    "llamactl rm %s", name);
	}
	if (!n_missing)
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "models", "%zu registered",
				   json_array_size(json_object_get(reply, "models")));
	json_decref(reply);
}

/* Keys that clients can no longer use, or not for long.  Only administrators may list them, over the
 * unix socket; for others the audit log would note a refused request. */
static void check_keys(struct lmi_ctl_health *h, struct lmd_client *c)
{
	struct lmd_server server = {.struct_size = sizeof(server)};
	int64_t now_ms = (int64_t)time(NULL) * 1000;
	unsigned n_found = 0;
	json_t *reply, *key;
	size_t i;

	lmd_client_server(c, &server);
	if (!server.admin || strncmp(server.url, "ipc://", 6) != 0 ||
	    lmi_ctl_remote_call(h->ctl, "keys", NULL, &reply, NULL) != LMD_OK)
		return;
	json_array_foreach(json_object_get(reply, "keys"), i, key)
	{
		const char *label = json_string_value(json_object_get(key, "label"));
		int64_t left_ms = json_integer_value(json_object_get(key, "expires_ms")) - now_ms;
		struct lmi_ctl_finding *f;

		if (!label || left_ms == -now_ms || left_ms > KEY_HOURS * INT64_C(3600000))
			continue;
		if (++n_found > 8)
			break;
		if (left_ms > 0) {
			f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "keys",
					       "the key '%.100s' expires in %s%d hours", label,
					       left_ms < 7200000 ? "less than " : "",
					       left_ms < 7200000 ? 2 : (int)(left_ms / 3600000));
			lmi_ctl_health_type(f, "llamactl key add NAME, for its client");
		} else {
			f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "keys",
					       "the key '%.100s' has expired", label);
			lmi_ctl_health_type(f, "llamactl key rm %.100s", label);
		}
	}
	if (!n_found)
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "keys", "none expires within %d days",
				   KEY_HOURS / 24);
	json_decref(reply);
}

static void check_connection(struct lmi_ctl_health *h, bool *answers)
{
	struct lmi_ctl_finding *f;
	struct lmd_client *c;
	struct lmd_error err = {0};
	enum lmd_status st;

	*answers = false;
	if (!lmi_ctl_has_daemon(h->ctl)) {
		f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_NOTE, "daemon",
				       "none runs; `llamactl run` and `llamactl chat` need none");
		lmi_ctl_health_type(f, lmi_ctl_has_llamad() ? "llamactl serve MODEL" : "sudo apt install llamad");
		return;
	}
	st = lmi_ctl_client(h->ctl, &c, &err);
	if (st == LMD_OK) {
		*answers = true;
		check_version(h, c);
		check_http(h, c);
		check_models(h);
		check_keys(h, c);
		return;
	}
	f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_FAIL, "daemon", "%.390s", err.text);
	if (st == LMD_DENIED && !lmi_ctl_socket(h->ctl))
		lmi_ctl_health_type(f, "sudo usermod -aG llamad $USER, then log in again");
	else if (st == LMD_DENIED)
		lmi_ctl_health_type(f, "llamactl key add NAME, on the machine of the daemon");
	else
		lmi_ctl_health_type(f, "%s", access(IS_SYSTEMD, F_OK)
						     ? "llamad"
						     : "sudo systemctl start llamad, or llamad");
}

/* Returns the last line of a text, without its newline. */
static const char *last_line(char *text)
{
	size_t n = strlen(text);
	char *at;

	while (n && text[n - 1] == '\n')
		text[--n] = 0;
	at = strrchr(text, '\n');
	return at ? at + 1 : text;
}

static void check_config(struct lmi_ctl_health *h)
{
	char llamad[PATH_MAX], text[4096];
	const char *argv[] = {llamad, "--check-config", NULL};
	struct lmi_ctl_finding *f;
	int status;

	if (access(CONFIG, F_OK)) {
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "config",
				   CONFIG " does not exist: the defaults apply");
		return;
	}
	if (access(CONFIG, R_OK)) {
		f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_NOTE, "config", CONFIG ": %s",
				       strerror(errno));
		lmi_ctl_health_type(f, "sudo llamad --check-config");
		return;
	}
	lmi_ctl_find_llamad(llamad, sizeof(llamad));
	status = lmi_ctl_capture(argv, text, sizeof(text), CONFIG_SECONDS * 1000);
	if (!status) {
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "config", CONFIG " is valid");
		return;
	}
	if (status < 0 && errno == ETIMEDOUT) {
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "config",
				   "llamad --check-config gave no answer within %d s",
				   CONFIG_SECONDS);
		return;
	}
	f = lmi_ctl_health_add(h, status < 0 ? LMI_CTL_HEALTH_WARN : LMI_CTL_HEALTH_FAIL, "config",
			       "%.390s",
			       status < 0 ? CONFIG " exists, but llamad is not installed"
					  : last_line(text));
	lmi_ctl_health_type(f, status < 0 ? "sudo apt install llamad" : "sudoedit " CONFIG);
}

/* A port that another program holds only matters to a daemon that is to be started. */
static void check_port(struct lmi_ctl_health *h)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(HTTP_PORT),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct lmi_ctl_finding *f;

	if (fd < 0)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (const struct sockaddr *)&a, sizeof(a)) && !listen(fd, 1)) {
		lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "port",
				   "%d, the default of `llamactl serve`, is free", HTTP_PORT);
	} else {
		f = lmi_ctl_health_add(h, LMI_CTL_HEALTH_WARN, "port",
				       "%d, the default of `llamactl serve`: %s", HTTP_PORT,
				       strerror(errno));
		lmi_ctl_health_type(f, "llamactl serve MODEL --port %d", HTTP_PORT + 1);
	}
	(void)close(fd);
}

void lmi_ctl_health_daemon(struct lmi_ctl_health *h)
{
	bool answers;

	lmi_ctl_health_add(h, LMI_CTL_HEALTH_OK, "llamactl", "%s, plugin ABI %d.%d", LMD_VERSION,
			   LMD_ABI_MAJOR, LMD_ABI_MINOR);
	check_connection(h, &answers);
	check_config(h);
	if (!answers)
		check_port(h);
}
