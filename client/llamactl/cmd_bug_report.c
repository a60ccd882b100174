/* SPDX-License-Identifier: MIT
 *
 * llamactl bug-report: an archive of what helps to understand a fault, without secrets. Each text in
 * it is made by a command or is a file of the system; all pass lmi_ctl_redact. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/llamad_program.h"
#include "client/llamactl/redact.h"
#include "client/llamactl/remote.h"
#include "client/llamactl/tar_output.h"
#include "core/base/alloc.h"
#include "core/base/printable.h"

#define TEXT_BYTES (1u << 20) /* of each text; the last ones are kept */
#define PART_SECONDS 20

struct report {
	FILE *f;
	char folder[64]; /* in the archive */
	int64_t now;
	char *text; /* [TEXT_BYTES] */
	const char *self, *llamad, *socket;
};

/* A text: the output of a command, or a file if there is no command. */
struct part {
	const char *name;
	const char *words[8]; /* "@" is llamactl, "&" llamad */
};

static const struct part parts[] = {
	{"doctor.txt", {"@", "doctor"}},
	{"version.txt", {"@", "version"}},
	{"llamad-version.txt", {"&", "--version"}},
	{"llamad.conf", {"/etc/llamad/llamad.conf"}},
	{"settings.txt", {"&", "--check-config"}},
	{"status.txt", {"@", "status"}},
	{"devices.txt", {"@", "devices"}},
	{"models.txt", {"@", "list", "--json"}},
	{"running.txt", {"@", "ps", "--json"}},
	{"stats.txt", {"@", "stats"}},
	{"plugins.txt", {"@", "plugins", "--factories"}},
	{"journal.txt", {"journalctl", "--unit=llamad", "--lines=2000", "--no-pager", "--output=short-iso"}},
	{"unit.txt", {"systemctl", "cat", "--no-pager", "llamad"}},
	{"kernel.txt", {"uname", "-srvm"}},
	{"os-release.txt", {"/etc/os-release"}},
	{"cpuinfo.txt", {"lscpu"}},
	{"meminfo.txt", {"/proc/meminfo"}},
	{"nvidia.txt", {"nvidia-smi"}},
};

static void read_text_file(struct report *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		(void)snprintf(r->text, TEXT_BYTES, "%s: %s\n", path, strerror(errno));
		return;
	}
	(void)lmi_ctl_read_last(fd, r->text, TEXT_BYTES, PART_SECONDS * 1000);
	(void)close(fd);
}

static void run_part(struct report *r, const struct part *p)
{
	const char *argv[12];
	unsigned n = 0;
	int status, e;

	argv[n++] = *p->words[0] == '@' ? r->self : *p->words[0] == '&' ? r->llamad : p->words[0];
	if (*p->words[0] == '@' && r->socket) {
		argv[n++] = "--socket";
		argv[n++] = r->socket;
	}
	for (unsigned i = 1; i < LMD_LEN(p->words) && p->words[i]; i++)
		argv[n++] = p->words[i];
	argv[n] = NULL;
	status = lmi_ctl_capture(argv, r->text, TEXT_BYTES - 128, PART_SECONDS * 1000);
	e = errno;
	n = (unsigned)strlen(r->text);
	if (status < 0 && e == ETIMEDOUT)
		(void)snprintf(r->text + n, 128, "%.60s: no answer within %d s\n", argv[0],
			       PART_SECONDS);
	else if (status < 0)
		(void)snprintf(r->text + n, 128, "%.60s cannot be run: %s\n", argv[0], strerror(e));
	else if (status)
		(void)snprintf(r->text + n, 128, "exit status %d\n", status);
}

static enum lmd_status put_part(struct report *r, const struct part *p, struct lmd_error *err)
{
	char name[128], *clean;

	if (*p->words[0] == '/')
		read_text_file(r, p->words[0]);
	else
		run_part(r, p);
	clean = lmi_ctl_redact(r->text, getenv("HOME"));
	if (!clean)
		return lmd_fail(err, LMD_NOMEM, "no memory for %s", p->name);
	(void)snprintf(name, sizeof(name), "%s/%s", r->folder, p->name);
	lmi_ctl_tar_put(r->f, name, clean, strlen(clean), r->now);
	free(clean);
	return LMD_OK;
}

static enum lmd_status put_parts(struct report *r, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (size_t i = 0; i < LMD_LEN(parts) && st == LMD_OK; i++)
		st = put_part(r, &parts[i], err);
	lmi_ctl_tar_end(r->f);
	return st;
}

/* Creates the archive; a file of that name is an error, and is left alone. */
static enum lmd_status write_archive(struct report *r, const char *path, struct lmd_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	enum lmd_status st;
	char shown[160];
	bool bad;

	lmi_printable_path(shown, sizeof(shown), path);
	r->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!r->f) {
		st = lmd_fail(err, LMD_IO, "%s: %s", shown, strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return st;
	}
	st = put_parts(r, err);
	bad = ferror(r->f) != 0;
	bad = fclose(r->f) || bad;
	if (st == LMD_OK && bad)
		st = lmd_fail(err, LMD_IO, "%s: cannot be written: %s", shown, strerror(errno));
	if (st != LMD_OK)
		(void)unlink(path);
	return st;
}

static void print_result(const struct lmi_ctl *ctl, const char *path)
{
	struct lmi_ctl_json j;

	if (!lmi_arg_flag(&ctl->args, "json")) {
		printf("%s has %zu texts. Read them before you send it: tar xf %s\n", path,
		       LMD_LEN(parts), path);
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "path", path);
	lmi_ctl_json_array(&j, "texts");
	for (size_t i = 0; i < LMD_LEN(parts); i++)
		lmi_ctl_json_str(&j, NULL, parts[i].name);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *output = lmi_arg_str(&ctl->args, "output");
	char path[PATH_MAX], self[PATH_MAX], llamad[PATH_MAX], stamp[32];
	struct report r = {.self = self,
			   .llamad = llamad,
			   .socket = lmi_ctl_socket(ctl),
			   .now = (int64_t)time(NULL),
			   .text = lmi_alloc(1, TEXT_BYTES)};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	time_t now = (time_t)r.now;
	struct tm tm;
	enum lmd_status st;

	if (!r.text)
		return lmd_fail(err, LMD_NOMEM, "no memory for a report");
	self[n > 0 ? n : 0] = 0;
	lmi_ctl_find_llamad(llamad, sizeof(llamad));
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
	(void)snprintf(r.folder, sizeof(r.folder), "llamad-bug-report-%s", stamp);
	if (!output)
		(void)snprintf(path, sizeof(path), "%s.tar", r.folder);
	output = output ? output : path;
	st = write_archive(&r, output, err);
	lmi_free(r.text);
	if (st == LMD_OK)
		print_result(ctl, output);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "output",
	 .letter = 'o',
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .def_text = "llamad-bug-report-TIME.tar",
	 .doc = "Write the archive to FILE, which must not exist."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_bug_report = {
	.name = "bug-report",
	.brief = "Collect what a bug report needs, without secrets",
	.doc = "Writes a tar archive with the findings of `llamactl doctor`, versions, the "
	       "configuration, status, counters, models, plugins, the unit and the journal of the "
	       "service, and a description of the machine. Nothing is sent anywhere. Prompts and "
	       "answers are never logged, and so are not in it. Keys, tokens, passwords, system "
	       "prompts, templates, every run of 24 or more letters and digits (also one with + / _ "
	       "or - in it if it looks random), and the names of home folders are removed; names of "
	       "models stay unless they look so.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
