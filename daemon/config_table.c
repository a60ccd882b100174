/* SPDX-License-Identifier: MIT
 *
 * All keys of the configuration, in the order of the manual, and the options of llamad.  The
 * limits of the service are described by its own table. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/cli/texts.h"
#include "daemon/config.h"
#include "llamad/attr.h"

#define AT(member) (uint32_t) offsetof(struct lmi_config, member)

static const struct lmi_config_row before[] = {
	{.section = "daemon",
	 .opt = {.name = "socket",
		 .type = LMI_OPT_STR,
		 .value = "URL",
		 .doc = "Where clients connect: ipc:// and an absolute path of at most 107 bytes. "
			"The file gets mode 0660: root and the daemon's own user may do "
			"everything, its group may use models."},
	 .at = AT(socket),
	 .option = true,
	 .path = true,
	 .unset = "$RUNTIME_DIRECTORY/llamad.sock under systemd, /run/llamad/llamad.sock for "
		  "root, else $XDG_RUNTIME_DIR/llamad/llamad.sock, else (where that variable is not "
		  "set) /tmp/llamad-UID/llamad.sock"},
	{.section = "daemon",
	 .opt = {.name = "listen",
		 .type = LMI_OPT_LIST,
		 .value = "URL",
		 .doc = "Where clients of other machines connect besides: tls+tcp://ADDR:PORT, or "
			"tcp://ADDR:PORT in clear; ADDR is a number, as 192.0.2.7, [2001:db8::7], "
			"0.0.0.0 or [::] for all of this machine. Clients need a key, so one must "
			"have been made before: `llamactl key add`."},
	 .at = AT(listen),
	 .option = true},
	{.section = "daemon",
	 .opt = {.name = "tls-cert",
		 .type = LMI_OPT_STR,
		 .value = "FILE",
		 .doc = "Certificate for tls+tcp in PEM, with those between it and the authority "
			"that clients trust behind it. Read again at a reload."},
	 .at = AT(tls_cert),
	 .option = true,
	 .path = true,
	 .unset = "needed for tls+tcp"},
	{.section = "daemon",
	 .opt = {.name = "tls-key",
		 .type = LMI_OPT_STR,
		 .value = "FILE",
		 .doc = "Private key of that certificate in PEM; a file that others may read is "
			"refused. Read again at a reload."},
	 .at = AT(tls_key),
	 .option = true,
	 .path = true,
	 .unset = "needed for tls+tcp"},
	{.section = "daemon",
	 .opt = {.name = "plain-tcp",
		 .type = LMI_OPT_CHOICE,
		 .value = "no|yes",
		 .def = "no",
		 .doc = "Allow tcp:// on addresses beyond the loopback ones, where who listens on "
			"the way reads keys, prompts and answers."},
	 .at = AT(plain_tcp)},
	{.section = "daemon",
	 .opt = {.name = "state-dir",
		 .type = LMI_OPT_STR,
		 .value = "DIR",
		 .doc = "Folder of what outlives the daemon: the registry of models. Made with "
			"mode 0700 if it is not there; used by one daemon at a time."},
	 .at = AT(state_dir),
	 .option = true,
	 .path = true,
	 .unset = "$STATE_DIRECTORY under systemd, /var/lib/llamad for root, else "
		  "$XDG_STATE_HOME/llamad or ~/.local/state/llamad"},
	{.section = "daemon",
	 .opt = {.name = "log",
		 .type = LMI_OPT_CHOICE,
		 .value = "error|warn|info|debug|trace",
		 .def = "info",
		 .doc = "Least important kind of message to print on standard error."},
	 .at = AT(log),
	 .option = true,
	 .live = true},
	{.section = "daemon",
	 .opt = {.name = "drain",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "20s",
		 .min = 0,
		 .max = 3600000,
		 .doc = "How long running generations may go on after SIGTERM or SIGINT; what is "
			"left then is ended. A second signal ends it at once."},
	 .at = AT(drain_ms),
	 .live = true},
	{.section = "plugins",
	 .opt = {.name = "plugin-dir",
		 .type = LMI_OPT_LIST,
		 .value = "DIR",
		 .doc = "Look for plugins in DIR before the default folders."},
	 .at = AT(plugin_dirs),
	 .option = true,
	 .path = true},
	{.section = "plugins",
	 .opt = {.name = "default-plugins",
		 .type = LMI_OPT_CHOICE,
		 .value = "no|yes",
		 .def = "yes",
		 .doc = "Look for plugins in the default folders as well."},
	 .at = AT(default_plugins)},
	{.section = "plugins",
	 .opt = {.name = "plugin-trust",
		 .type = LMI_OPT_CHOICE,
		 .value = "owner|system",
		 .def = "owner",
		 .doc = "Whose plugins are loaded: of the daemon's user or root, or of root alone "
			"and not writable by the daemon."},
	 .at = AT(plugin_trust),
	 .option = true},
	{.section = "models",
	 .opt = {.name = "model-dir",
		 .type = LMI_OPT_LIST,
		 .value = "DIR",
		 .doc = "Folder below which the paths lie that administrators add or load. "
			"Without any, a path may be anywhere."},
	 .at = AT(model_dirs),
	 .option = true,
	 .path = true},
	{.section = "engine",
	 .opt = {.name = "backend",
		 .type = LMI_OPT_STR,
		 .value = "NAME",
		 .def = "auto",
		 .doc = "What computes: the name of a backend, or auto for the best there is."},
	 .at = AT(backend),
	 .option = true},
	{.section = "engine",
	 .opt = {.name = "device",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .def = "0",
		 .min = 0,
		 .max = 1023,
		 .doc = "Number of the backend's device."},
	 .at = AT(device)},
	{.section = "engine",
	 .opt = {.name = "threads",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .min = 1,
		 .max = 1024,
		 .doc = "Threads of a model to compute with."},
	 .at = AT(threads),
	 .option = true,
	 .unset = "one for each processor"},
	{.section = "engine",
	 .opt = {.name = "ctx",
		 .type = LMI_OPT_SIZE,
		 .value = "N",
		 .min = 1,
		 .max = 1 << 30,
		 .doc = "Context length of a session in tokens."},
	 .at = AT(ctx),
	 .option = true,
	 .unset = "what the model was made for, or what memory holds"},
	{.section = "engine",
	 .opt = {.name = "kv-tokens",
		 .type = LMI_OPT_SIZE,
		 .value = "N",
		 .min = 1,
		 .max = 1099511627776.0,
		 .doc = "Tokens that the sessions of a model may keep together."},
	 .at = AT(kv_tokens),
	 .unset = "sessions times ctx, or what memory holds"},
	{.section = "engine",
	 .opt = {.name = "kv-type",
		 .type = LMI_OPT_STR,
		 .value = "TYPE",
		 .doc = "Type of stored keys and values, as f32, f16, q8_0."},
	 .at = AT(kv_type),
	 .unset = "what the backend likes"},
	{.section = "engine",
	 .opt = {.name = "activations",
		 .type = LMI_OPT_CHOICE,
		 .value = "default|f32|int8",
		 .def = "default",
		 .doc = "Arithmetic in front of quantised weights: float throughout, rounded to 8 "
			"bits, or as the backend does it."},
	 .at = AT(activations)},
	{.section = "engine",
	 .opt = {.name = "attention",
		 .type = LMI_OPT_CHOICE,
		 .value = "default|half",
		 .def = "default",
		 .doc = "Arithmetic of attention: the backend's own, or every sum in half "
			"precision."},
	 .at = AT(attention)},
	{.section = "engine",
	 .opt = {.name = "memory",
		 .type = LMI_OPT_SIZE,
		 .value = "BYTES",
		 .min = 1048576,
		 .max = 1099511627776.0 * 1024,
		 .doc = "Memory that one model may take."},
	 .at = AT(memory),
	 .unset = "what the machine says is available"},
	{.section = "engine",
	 .opt = {.name = "files",
		 .type = LMI_OPT_CHOICE,
		 .value = "mapped|read|direct",
		 .def = "mapped",
		 .doc = "How model files come into memory: mapped where they lie, read into memory "
			"of the daemon's own, or read past the page cache."},
	 .at = AT(files)},
	{.section = "engine",
	 .opt = {.name = "lock",
		 .type = LMI_OPT_CHOICE,
		 .value = "no|yes",
		 .def = "no",
		 .doc = "Keep the files of loaded models in memory; goes on without it when the "
			"system refuses (see LimitMEMLOCK in systemd.exec(5))."},
	 .at = AT(lock)},
};

static const struct lmi_config_row limits[] = {
	{.section = "limits",
	 .opt = {.name = "connections",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .def = "256",
		 .min = 1,
		 .max = 65536,
		 .doc = "Connections at a time; further ones are refused. Eight more are "
			"kept for root and the daemon's own user."},
	 .at = AT(connections),
	 .live = true},
	{.section = "limits",
	 .opt = {.name = "connections-per-user",
		 .type = LMI_OPT_INT,
		 .value = "N",
		 .def = "32",
		 .min = 1,
		 .max = 65536,
		 .doc = "Connections of one user, or of one address, at a time."},
	 .at = AT(connections_per_user),
	 .live = true},
	{.section = "limits",
	 .opt = {.name = "message-bytes",
		 .type = LMI_OPT_SIZE,
		 .value = "BYTES",
		 .def = "16M",
		 .min = 65536,
		 .max = 1073741824.0,
		 .doc = "Longest message of a client; a longer one is refused."},
	 .at = AT(message_bytes)},
	{.section = "limits",
	 .opt = {.name = "message-time",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "10s",
		 .min = 100,
		 .max = 3600000,
		 .doc = "How long a client may take for its first bytes, and for each 10 KiB of a "
			"message; a slower one is disconnected."},
	 .at = AT(message_ms),
	 .live = true},
	{.section = "limits",
	 .opt = {.name = "idle",
		 .type = LMI_OPT_TIME,
		 .value = "TIME",
		 .def = "60s",
		 .min = 0,
		 .max = 86400000,
		 .doc = "A connection is closed after that time without work: no request waits for "
			"its answer, and no stream of it runs. Clients connect again when they "
			"need to. 0 is never."},
	 .at = AT(idle_ms),
	 .live = true},
};

/* Options that are no keys. */
static const struct lmi_opt own[] = {
	{.name = "config",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .doc = "Read FILE; without it " LMI_CONFIG_FILE " if there is one."},
	{.name = "check-config",
	 .type = LMI_OPT_FLAG,
	 .doc = "Read the configuration, print what holds, and exit: with status 0 if it is good, "
		"1 if not."},
	{.name = "help", .letter = 'h', .type = LMI_OPT_FLAG, .doc = "Print this help and exit."},
	{.name = "version", .type = LMI_OPT_FLAG, .doc = "Print the version and exit."},
	{.name = "emit-completion", .type = LMI_OPT_CHOICE, .value = "bash|zsh|fish"},
	{.name = "emit-man", .type = LMI_OPT_FLAG},
	{.name = "emit-config-man", .type = LMI_OPT_FLAG},
	{.name = "emit-config", .type = LMI_OPT_FLAG},
};

/* A limit of the service as a row: "lease_ms", 10000 becomes lease = 10s. */
static void add_limit(struct lmi_config_table *t, const struct lmi_limit *l)
{
	bool ms = !strcmp(l->unit, "ms"), bytes = !strcmp(l->unit, "bytes");
	char *name = t->name[t->n], *def = t->def[t->n];
	size_t n = strlen(l->name);

	/* "lease_ms" */
	if (ms && n > 3 && !strcmp(l->name + n - 3, "_ms"))
		n -= 3;
	snprintf(name, sizeof(t->name[0]), "%.*s", (int)n, l->name);
	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	t->row[t->n] = (struct lmi_config_row){
		.section = "limits",
		.opt = {.name = name,
			.type = ms      ? LMI_OPT_TIME
				: bytes ? LMI_OPT_SIZE
					: LMI_OPT_INT,
			.value = ms      ? "TIME"
				 : bytes ? "BYTES"
					 : "N",
			.def = def,
			.min = (double)l->min,
			.max = (double)l->max,
			.doc = l->doc},
		.at = AT(service) + (uint32_t)l->offset,
		.live = true,
	};
	lmi_opt_number(&t->row[t->n].opt, (double)l->def, def, sizeof(t->def[0]));
	t->n++;
}

void lmi_config_table_init(struct lmi_config_table *t)
{
	t->n = 0;
	assert(LMD_LEN(before) + LMD_LEN(limits) + lmi_n_limits <= LMI_CONFIG_ROWS_MAX);
	for (uint32_t i = 0; i < LMD_LEN(before); i++)
		t->row[t->n++] = before[i];
	for (uint32_t i = 0; i < LMD_LEN(limits); i++)
		t->row[t->n++] = limits[i];
	for (uint32_t i = 0; i < lmi_n_limits; i++)
		add_limit(t, &lmi_limits[i]);
}

void lmi_options_init(struct lmi_options *o)
{
	uint32_t n = 0;

	assert(LMD_LEN(before) + LMD_LEN(own) <= LMI_OPTIONS_MAX);
	*o = (struct lmi_options){.prog = {.name = "llamad", .opts = o->opt}};
	for (uint32_t i = 0; i < 2; i++)
		o->opt[n++] = own[i];
	for (uint32_t i = 0; i < LMD_LEN(before); i++)
		if (before[i].option)
			o->opt[n++] = before[i].opt;
	for (uint32_t i = 2; i < LMD_LEN(own); i++)
		o->opt[n++] = own[i];
	o->prog.n_opts = n;
}

const char *lmi_config_key(const struct lmi_config_row *row, char *buf, size_t n)
{
	snprintf(buf, n, "%s", row->opt.name);
	for (char *p = buf; *p; p++)
		if (*p == '-')
			*p = '_';
	return buf;
}
