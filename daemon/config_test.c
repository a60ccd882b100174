/* SPDX-License-Identifier: MIT
 *
 * Configuration files: parsing, errors, precedence, changes by a reload, and the texts that are
 * generated from the table. */
#include "daemon/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/cli/conf_file.h"
#include "llamad/host.h"
#include "tests/lmd_check.h"

static char folder[64], path[96];

/* The environment of a test, as strings "NAME=value". */
static const char *const *vars;

static const char *get(void *arg, const char *name)
{
	size_t n = strlen(name);

	(void)arg;
	for (const char *const *v = vars; v && *v; v++)
		if (!strncmp(*v, name, n) && (*v)[n] == '=')
			return *v + n + 1;
	return NULL;
}

static const char *const user_vars[] = {"XDG_RUNTIME_DIR=/run/user/7", "HOME=/home/me", NULL};

static void set_up(void)
{
	snprintf(folder, sizeof(folder), "/tmp/llamad-config-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/llamad.conf", folder);
	vars = user_vars;
}

static void tear_down(void)
{
	unlink(path);
	rmdir(folder);
}

static void put_file(const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

static enum lmd_status read_text(struct lmi_config **c, const char *text,
				 const struct lmi_args *args, struct lmd_error *err)
{
	const struct lmi_config_env env = {.get = get, .uid = 7};

	put_file(text, strlen(text));
	*err = (struct lmd_error){0};
	return lmi_config_read(c, path, args, &env, err);
}

static struct lmi_config *good(const char *text)
{
	struct lmi_config *c = NULL;
	struct lmd_error err;

	ck_assert_msg(read_text(&c, text, NULL, &err) == LMD_OK, "%s: %.200s", err.text, text);
	return c;
}

START_TEST(rows_are_valid)
{
	struct lmi_config_table t;
	struct lmi_daemon_options o;

	lmi_config_table_init(&t);
	for (uint32_t i = 0; i < t.n; i++) {
		const struct lmi_config_row *a = &t.row[i];

		ck_assert_ptr_nonnull(a->opt.doc);
		ck_assert_ptr_nonnull(a->opt.value);
		ck_assert_uint_lt(strlen(a->opt.name), LMI_CONFIG_KEY_BYTES);
		ck_assert_uint_lt(a->at, sizeof(struct lmi_config));
		/* sections are contiguous; keys and offsets are unique */
		for (uint32_t k = 0; k < i; k++) {
			const struct lmi_config_row *b = &t.row[k];

			ck_assert(strcmp(a->opt.name, b->opt.name) != 0);
			ck_assert_uint_ne(a->at, b->at);
			if (!strcmp(a->section, b->section))
				ck_assert_str_eq(a->section, t.row[i - 1].section);
		}
	}
	lmi_daemon_options_init(&o);
	ck_assert_uint_gt(o.prog.n_opts, 7);
}
END_TEST

/* file < environment < options; a variable for each key */
START_TEST(environment)
{
	static const char *const some[] = {"HOME=/home/me", "LLAMAD_LOG=debug", "LLAMAD_CTX=4k",
					   "LLAMAD_MODEL_DIR=/a, /b", "LLAMAD_KV_TYPE=", "LLAMAD_MAX_RUNNING=3",
					   "LLAMAD_DRAIN=5s", NULL};
	struct lmi_config *c;
	struct lmi_daemon_options o;
	struct lmi_args args;
	struct lmd_error err;
	char *argv[] = {(char[]){"llamad"}, (char[]){"--log"}, (char[]){"warn"}};

	vars = some;
	c = good("[daemon]\nlog = error\n[models]\nmodel_dir = /c\n[engine]\nkv_type = f16\nctx = 7\n");
	ck_assert_int_eq(c->log, LMD_LOG_DEBUG);
	ck_assert_int_eq(c->ctx, 4096);
	ck_assert_int_eq(c->drain_ms, 5000);
	ck_assert_str_eq(c->kv_type, "f16");
	ck_assert_uint_eq(c->model_dirs.n, 2);
	ck_assert_str_eq(c->model_dirs.item[0], "/a");
	ck_assert_str_eq(c->model_dirs.item[1], "/b");
	ck_assert_int_eq(c->service.max_running, 3);
	lmi_config_destroy(c);
	lmi_daemon_options_init(&o);
	ck_assert_int_eq(lmi_args_parse(&args, &o.prog, 3, argv, &err), LMD_OK);
	ck_assert_int_eq(read_text(&c, "", &args, &err), LMD_OK);
	ck_assert_int_eq(c->log, LMD_LOG_WARN);
	lmi_config_destroy(c);
	lmi_args_fini(&args);
}
END_TEST

/* What is wrong in the environment is an error that names the variable, for every key with a range. */
START_TEST(environment_refused)
{
	struct lmi_config *c = NULL;
	struct lmi_config_table t;
	struct lmd_error err;
	uint32_t n = 0;

	lmi_config_table_init(&t);
	for (uint32_t i = 0; i < t.n; i++) {
		char name[LMI_CONFIG_VARIABLE_BYTES], var[LMI_CONFIG_VARIABLE_BYTES + 8];
		const char *const one[] = {"HOME=/home/me", var, NULL};

		if (t.row[i].opt.type == LMI_OPT_STR || t.row[i].opt.type == LMI_OPT_LIST)
			continue;
		snprintf(var, sizeof(var), "%s=never", lmi_config_variable(&t.row[i], name, sizeof(name)));
		vars = one;
		ck_assert_int_eq(read_text(&c, "", NULL, &err), LMD_INVALID);
		ck_assert_msg(!strncmp(err.text, name, strlen(name)), "%s: %s", name, err.text);
		n++;
	}
	ck_assert_uint_gt(n, 40);
}
END_TEST

START_TEST(defaults)
{
	struct lmi_service_limits limits;
	struct lmi_config *c = good("");

	ck_assert_str_eq(c->socket, "ipc:///run/user/7/llamad/llamad.sock");
	ck_assert_str_eq(c->state_dir, "/home/me/.local/state/llamad");
	ck_assert_int_eq(c->log, LMD_LOG_INFO);
	ck_assert_int_eq(c->drain_ms, 20000);
	ck_assert_uint_eq(c->plugin_dirs.n, 0);
	ck_assert_int_eq(c->connections, 256);
	ck_assert_int_eq(c->connections_per_user, 32);
	ck_assert_int_eq(c->message_bytes, 16 << 20);
	ck_assert_str_eq(c->backend, "auto");
	ck_assert(!c->kv_type && !c->kv_type_k && !c->kv_type_v);
	ck_assert_int_eq(c->device_sampling, 0);
	ck_assert_int_eq(c->prefix_cache, 0);
	ck_assert_int_eq(c->ctx, 0);
	lmi_service_limits_default(&limits);
	ck_assert_int_eq(memcmp(&c->service, &limits, sizeof(limits)), 0);
	lmi_config_destroy(c);
}
END_TEST

START_TEST(default_folders)
{
	static const char *const systemd[] = {"RUNTIME_DIRECTORY=/run/llamad",
					      "STATE_DIRECTORY=/var/lib/llamad:/var/lib/more",
					      "XDG_RUNTIME_DIR=/run/user/7", "HOME=/", NULL};
	static const char *const xdg[] = {"XDG_RUNTIME_DIR=/r", "XDG_STATE_HOME=/s", "HOME=/h",
					  NULL};
	static const char *const bare[] = {"HOME=/h", NULL}, *const bad[] = {
								     "XDG_RUNTIME_DIR=relative",
								     "HOME=/h", NULL};
	static const struct {
		const char *const *vars;
		uint32_t uid;
		const char *socket, *state;
	} cases[] = {
		{systemd, 7, "ipc:///run/llamad/llamad.sock", "/var/lib/llamad"},
		{systemd, 0, "ipc:///run/llamad/llamad.sock", "/var/lib/llamad"},
		{xdg, 0, "ipc:///run/llamad/llamad.sock", "/var/lib/llamad"},
		{xdg, 7, "ipc:///r/llamad/llamad.sock", "/s/llamad"},
		{bare, 7, "ipc:///tmp/llamad-7/llamad.sock", "/h/.local/state/llamad"},
		{bad, 7, "ipc:///tmp/llamad-7/llamad.sock", "/h/.local/state/llamad"},
	};

	put_file("", 0);
	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		const struct lmi_config_env env = {.get = get, .uid = cases[i].uid};
		struct lmd_error err = {0};
		struct lmi_config *c = NULL;
		enum lmd_status st;

		vars = cases[i].vars;
		st = lmi_config_read(&c, path, NULL, &env, &err);
		ck_assert_int_eq(st, LMD_OK);
		ck_assert_str_eq(c->socket, cases[i].socket);
		ck_assert_int_eq(c->socket_in_tmp, strstr(c->socket, "/tmp/") != NULL);
		ck_assert_str_eq(c->state_dir, cases[i].state);
		lmi_config_destroy(c);
	}
}
END_TEST

START_TEST(values)
{
	int32_t k_dtype, v_dtype;
	struct lmi_config *c = good(
		"# comment\n; comment\n\n"
		"  [daemon]  \r\n"
		"socket=ipc:///tmp/a = b.sock \t\n"
		"\tstate_dir = /tmp/st\xC3\xA4te\n"
		"log = trace\ndrain=1500ms\n"
		"[plugins]\nplugin_dir = /a b\nplugin_dir = /c\n"
		"plugin_trust = system\n"
		"[limits]\nmessage_bytes = 128k\n[daemon]\n[limits]\nconnections = 8\n"
		"fail = 2m\nstream_bytes = 64k\nqueue = 0\n[engine]\n"
		"[limits]\nidle = 0s\nmessage_time = 1s\n[daemon]\nlisten = tcp://127.255.0.1:0\n"
		"listen = tcp://[::1]:65535\nlisten = tls+tcp://[2001:db8::7]:4433\n"
		"tls_cert = /c\ntls_key = /k\n[engine]\n"
		"kv_type = q8_0\nkv_type_v = q5_1\nctx = 8k\n[models]\nmodel_dir = /srv/models");

	ck_assert_str_eq(c->socket, "ipc:///tmp/a = b.sock");
	ck_assert_str_eq(c->state_dir, "/tmp/st\xC3\xA4te");
	ck_assert_int_eq(c->log, LMD_LOG_TRACE);
	ck_assert_int_eq(c->drain_ms, 1500);
	ck_assert_uint_eq(c->plugin_dirs.n, 2);
	ck_assert_str_eq(c->plugin_dirs.item[0], "/a b");
	ck_assert_str_eq(c->plugin_dirs.item[1], "/c");
	ck_assert_int_eq(c->plugin_trust, 1);
	ck_assert_int_eq(c->message_bytes, 131072);
	ck_assert_int_eq(c->connections, 8);
	ck_assert_uint_eq(c->service.fail_ms, 120000);
	ck_assert_uint_eq(c->service.stream_bytes, 65536);
	ck_assert_uint_eq(c->service.queue, 0);
	ck_assert_uint_eq(c->listen.n, 3);
	ck_assert_str_eq(c->listen.item[2], "tls+tcp://[2001:db8::7]:4433");
	ck_assert(c->idle_ms == 0 && c->message_ms == 1000 && c->plain_tcp == 0);
	ck_assert_str_eq(c->kv_type, "q8_0");
	ck_assert_int_eq(lmi_config_kv_types(c, &k_dtype, &v_dtype, NULL), LMD_OK);
	ck_assert(k_dtype == LMD_DTYPE_Q8_0 && v_dtype == LMD_DTYPE_Q5_1);
	ck_assert_int_eq(c->ctx, 8192);
	ck_assert_uint_eq(c->model_dirs.n, 1);
	lmi_config_destroy(c);
}
END_TEST

/* A list of 120 bytes behind another. */
#define TEN  ",1,1,1,1,1,1,1,1,1,1"
#define ONES TEN TEN TEN TEN TEN TEN

static const struct {
	const char *text, *says;
} refused[] = {
	{"[model m]\nadapters_dir = lora\n", "key 'adapters_dir': 'lora' is not an absolute path"},
	{"x\n", "llamad.conf:1: 'x' is neither a comment, a [section] nor key = value"},
	{"\n\nlog = info\n", "llamad.conf:3: the key 'log' is outside any [section]"},
	{"[daemon\n", "llamad.conf:1: '[daemon' does not end in ']'"},
	{"[\n", "'[' does not end in ']'"},
	{"[]\n", "there is no section []"},
	{"[deamon]\n", "there is no section [deamon] (did you mean [daemon]?)"},
	{"[what]\n", "there is no section [what]"},
	{"[daemon]\nlgo = info\n",
	 "llamad.conf:2: [daemon] has no key 'lgo' (did you mean 'log'?)"},
	{"[daemon]\nstatedir = /x\n", "(did you mean 'state_dir'?)"},
	{"[daemon]\nstate-dir = /x\n", "(did you mean 'state_dir'?)"},
	{"[daemon]\nsomething = x\n", "[daemon] has no key 'something'"},
	{"[daemon]\nconnections = 3\n",
	 "the key 'connections' belongs to [limits], not to [daemon]"},
	{"[daemon]\n= 3\n", "[daemon] has no key ''"},
	{"[daemon]\nlog =\n", "the key 'log' needs a value: error|warn|info|debug|trace"},
	{"[daemon]\nlog = loud\n", "llamad.conf:2: key 'log': 'loud' is not one of error|warn"},
	{"[daemon]\nlog = info\nlog = warn\n", "llamad.conf:3: the key 'log' is already set in line 2"},
	{"[daemon]\ndrain = 20\n", "key 'drain': '20' is not a whole number with a unit ms"},
	{"[daemon]\ndrain = 2h\n", "key 'drain': 2h is above 3600000 ms"},
	{"[daemon]\ndrain = -1s\n", "key 'drain': -1s is below 0 ms"},
	{"[limits]\nconnections = 0\n", "key 'connections': 0 is below 1"},
	{"[limits]\nmessage_bytes = 2G\n", "key 'message_bytes': 2G is above 1073741824"},
	{"[limits]\nmessage_bytes = 99999999999999999999\n", "does not fit in 64 bits"},
	{"[daemon]\nsocket = /run/x.sock\n", "socket: '/run/x.sock' is not ipc://"},
	{"[daemon]\nlisten = ipc:///x\n", "listen: 'ipc:///x' is not tls+tcp://ADDR:PORT"},
	{"[daemon]\nlisten = tcp://127.0.0.1\n", "'tcp://127.0.0.1' is not tls+tcp://"},
	{"[daemon]\nlisten = tcp://127.0.0.1:\n", "is not tls+tcp://"},
	{"[daemon]\nlisten = tcp://127.0.0.1:65536\n", "a port of at most 65535"},
	{"[daemon]\nlisten = tcp://127.0.0.1:8x\n", "is not tls+tcp://"},
	{"[daemon]\nlisten = tcp://localhost:80\n", "with a numeric address"},
	{"[daemon]\nlisten = tcp://::1:80\n", "is not tls+tcp://"},
	{"[daemon]\nlisten = tcp://[127.0.0.1]:80\n", "is not tls+tcp://"},
	{"[daemon]\nlisten = tcp://127.0.0.256:80\n", "is not tls+tcp://"},
	{"[daemon]\nlisten = tcp://:80\n", "is not tls+tcp://"},
	{"[daemon]\nlisten = tcp://0.0.0.0:80\n", "tcp://0.0.0.0:80 sends keys and texts without"},
	{"[daemon]\nlisten = tcp://[::]:80\n", "use tls+tcp, or set plain_tcp = yes"},
	{"[daemon]\nhttp = localhost:80\n", "http: 'localhost:80' is not ADDR:PORT"},
	{"[daemon]\nhttp = unix:x\n", "http: 'unix:x' is not unix: and an absolute path"},
	{"[daemon]\nhttp = off\nhttp = 127.0.0.1:80\n", "http: 'off' and an address are both set"},
	{"[daemon]\nhttp = 0.0.0.0:80\n", "use tls:0.0.0.0:80, or 127.0.0.1 behind a proxy"},
	{"[daemon]\nhttp = tls:127.0.0.1:80\n", "requires tls_cert, a PEM file, to be set"},
	{"[daemon]\nhttp_origin = example.org\n", "is not an origin such as"},
	{"[daemon]\nhttp_origin = https://example.org/\n", "is not an origin such as"},
	{"[daemon]\nlisten = tls+tcp://0.0.0.0:80\n", "requires tls_cert, a PEM file, to be set"},
	{"[daemon]\nlisten = tls+tcp://[::1]:80\ntls_cert = /c\n", "requires tls_key, a PEM file"},
	{"[daemon]\ntls_key = /k\n", "tls_key is set and tls_cert is not: set both or neither"},
	{"[daemon]\ntls_cert = c\n", "tls_cert: 'c' is not an absolute path"},
	{"[daemon]\nsocket = ipc://relative\n", "'ipc://relative' is not ipc:// and an absolute"},
	{"[daemon]\nsocket = tcp://127.0.0.1:80\n", "is not ipc://"},
	{"[daemon]\nstate_dir = here\n", "state_dir: 'here' is not an absolute path"},
	{"[models]\nhf_token = hf_abc\n", "hf_token: the value is not an absolute path"},
	{"[limits]\nfail = 10\n", "key 'fail': '10' is not a whole number with a unit"},
	{"[limits]\nfail_ms = 10s\n", "[limits] has no key 'fail_ms' (did you mean 'fail"},
	{"[limits]\nmax_running = 1000000\n", "key 'max_running': 1000000 is above "},
	{"[limits]\nsessions = 1000000\n", "key 'sessions': 1000000 is above "},
	{"[limits]\nmax_running = 5\nsessions = 6\n",
	 "llamad.conf:3: the key 'sessions' is already set in line 2"},
	{"[engine]\nkv_type = q17\n", "kv_type: 'q17' is not a data type for a KV cache"},
	{"[engine]\nkv_type_k = q8_1\n", "kv_type_k: 'q8_1' is not a data type for a KV cache"},
	{"[engine]\ncpus = 3-1\n", "cpus: '3-1' is not a set of processors, such as 0-7,16 or 0xff"},
	{"[engine]\nthreads_batch = 1025\n", "key 'threads_batch': 1025 is above 1024"},
	{"[model m]\ncpus = x\n", "key 'cpus': 'x' is not a set of processors"},
	{"[model m]\ncpus = 0" ONES ONES ONES ONES ONES ONES ONES ONES ONES "\n",
	 "key 'cpus': the list has 1081 bytes, more than the limit of 1024"},
	{"[model m]\nthreads_batch = 0\n", "key 'threads_batch': 0 is below 1"},
	{"[model m]\nisolation = thread\n", "key 'isolation': 'thread' is none of auto, off and process"},
	{"[model m]\ndraft_model = x.gguf\n", "key 'draft_model': 'x.gguf' is not an absolute path"},
	{"[model m]\ndraft_lookup = x.txt\n", "key 'draft_lookup': 'x.txt' is not an absolute path"},
	{"[model m]\ndraft_lookahead = yes\n", "key 'draft_lookahead': 'yes' is neither on nor off"},
	{"[model m]\npreload = yes\n", "key 'preload': 'yes' is neither on nor off"},
	{"[model m]\ngroup = a\ngroup = b\n", "key 'group': the text is already set"},
	{"[model m]\nkv_type_v = q17\n", "kv_type_v: 'q17' is not a data type for a KV cache"},
	{"[models]\nmodel_dir = models\n", "model_dir: 'models' is not an absolute path"},
	{"[plugins]\nplugin_dir = plugins\n", "plugin_dir: 'plugins' is not an absolute path"},
	{"[daemon]\nlog = in\x1b[31mfo\n", "control byte 0x1b at column 9"},
	{"\xEF\xBB\xBF[daemon]\n", "'\\xef\\xbb\\xbf[daemon]' is neither"},
};

START_TEST(errors_name_the_cause)
{
	struct lmi_config *c = NULL;
	struct lmd_error err;

	ck_assert_msg(read_text(&c, refused[_i].text, NULL, &err) == LMD_INVALID, "%s",
		      refused[_i].text);
	ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "'%s' is not in: %s",
		      refused[_i].says, err.text);
	ck_assert_ptr_null(c);
}
END_TEST

START_TEST(old_keys_warn)
{
	struct lmi_config *c = good("[limits]\nmax_running = 5\n");

	ck_assert_uint_eq(c->service.max_running, 5);
	ck_assert_uint_eq(c->warnings.n, 0);
	lmi_config_destroy(c);
	c = good("[limits]\nsessions = 5\n");
	ck_assert_uint_eq(c->service.max_running, 5);
	ck_assert_uint_eq(c->warnings.n, 1);
	ck_assert_msg(strstr(c->warnings.item[0], "llamad.conf:2: the key 'sessions' in [limits] "
						  "is deprecated: use 'max_running'") != NULL,
		      "%s", c->warnings.item[0]);
	lmi_config_destroy(c);
}
END_TEST

START_TEST(odd_files)
{
	const struct lmi_config_env env = {.get = get, .uid = 7};
	static char big[LMI_CLI_CONF_BYTES + 2];
	struct lmi_config *c = NULL;
	struct lmd_error err = {0};

	ck_assert_int_eq(lmi_config_read(&c, path, NULL, &env, &err), LMD_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_int_eq(lmi_config_read(&c, folder, NULL, &env, &err), LMD_INVALID);
	put_file("[daemon]\nlog\0= info\n", 21);
	ck_assert_int_eq(lmi_config_read(&c, path, NULL, &env, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "control byte 0x00 at column 4"));
	memset(big, '#', sizeof(big));
	put_file(big, LMI_CLI_CONF_LINE + 1);
	ck_assert_int_eq(lmi_config_read(&c, path, NULL, &env, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "the line has 4097 bytes, the maximum is 4096"));
	put_file(big, sizeof(big));
	ck_assert_int_eq(lmi_config_read(&c, path, NULL, &env, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "bytes, the maximum is 1048576"));
	/* the maximum size */
	memset(big, '\n', LMI_CLI_CONF_BYTES);
	put_file(big, LMI_CLI_CONF_BYTES);
	ck_assert_int_eq(lmi_config_read(&c, path, NULL, &env, &err), LMD_OK);
	lmi_config_destroy(c);
}
END_TEST

START_TEST(random_bytes_never_crash)
{
	static const char *const pieces[] = {"[daemon]", "[limits]", "log",  " = ",       "=",
					     "\n",       "\r\n",     "info", "8G",        "20s",
					     "#",        "[",        "]",    "plugin_dir"};
	uint64_t seed = lmd_seed("random_bytes_never_crash", 11);
	uint32_t n_good = 0;

	for (int i = 0; i < 1000; i++) {
		const struct lmi_config_env env = {.get = get, .uid = 7};
		struct lmi_config *c = NULL;
		struct lmd_error err = {0};
		char text[256];
		size_t n = 0;

		while (n < 200 && lmd_rand(&seed) % 24) {
			const char *p = pieces[lmd_rand(&seed) % LMD_LEN(pieces)];

			if (lmd_rand(&seed) % 32)
				n += (size_t)snprintf(text + n, 32, "%s", p);
			else
				text[n++] = (char)lmd_rand(&seed);
		}
		put_file(text, n);
		if (lmi_config_read(&c, path, NULL, &env, &err) == LMD_OK)
			n_good++;
		else
			ck_assert(*err.text);
		lmi_config_destroy(c);
	}
	ck_assert_uint_gt(n_good, 0);
}
END_TEST

START_TEST(options_take_precedence)
{
	char *argv[] = {(char *)"llamad",       (char *)"--socket=ipc:///o",
			(char *)"--plugin-dir", (char *)"/p",
			(char *)"--log",        (char *)"error"};
	struct lmi_daemon_options o;
	struct lmi_args args;
	struct lmi_config *c = NULL;
	struct lmd_error err = {0};

	lmi_daemon_options_init(&o);
	ck_assert_int_eq(lmi_args_parse(&args, &o.prog, (int)LMD_LEN(argv), argv, &err), LMD_OK);
	ck_assert_int_eq(read_text(&c,
				   "[daemon]\nsocket = ipc:///f\nstate_dir = /f\nlog = debug\n"
				   "[plugins]\nplugin_dir = /x\nplugin_dir = /y\n",
				   &args, &err),
			 LMD_OK);
	lmi_args_fini(&args);
	ck_assert_str_eq(c->socket, "ipc:///o");
	ck_assert_str_eq(c->state_dir, "/f");
	ck_assert_int_eq(c->log, LMD_LOG_ERROR);
	ck_assert_uint_eq(c->plugin_dirs.n, 1);
	ck_assert_str_eq(c->plugin_dirs.item[0], "/p");
	lmi_config_destroy(c);
}
END_TEST

/* Paths on the command line are relative to the current folder; those in the file are absolute. */
START_TEST(relative_options)
{
	char *argv[] = {(char *)"llamad",       (char *)"--socket=ipc://s",
			(char *)"--state-dir",  (char *)"a/b",
			(char *)"--plugin-dir", (char *)"p",
			(char *)"--plugin-dir", (char *)"/q"};
	struct lmi_daemon_options o;
	struct lmi_args args;
	struct lmi_config *c = NULL;
	struct lmd_error err = {0};
	char want[128];

	ck_assert_int_eq(chdir(folder), 0);
	lmi_daemon_options_init(&o);
	ck_assert_int_eq(lmi_args_parse(&args, &o.prog, (int)LMD_LEN(argv), argv, &err), LMD_OK);
	ck_assert_msg(read_text(&c, "", &args, &err) == LMD_OK, "%s", err.text);
	lmi_args_fini(&args);
	snprintf(want, sizeof(want), "ipc://%s/s", folder);
	ck_assert_str_eq(c->socket, want);
	snprintf(want, sizeof(want), "%s/a/b", folder);
	ck_assert_str_eq(c->state_dir, want);
	snprintf(want, sizeof(want), "%s/p", folder);
	ck_assert_str_eq(c->plugin_dirs.item[0], want);
	ck_assert_str_eq(c->plugin_dirs.item[1], "/q");
	lmi_config_destroy(c);
}
END_TEST

START_TEST(what_may_change)
{
	static const struct {
		const char *to;
		const char *says; /* NULL: allowed */
	} cases[] = {
		{"[daemon]\nlog = debug\ndrain = 1s\n[limits]\nconnections = 3\n", NULL},
		{"", NULL},
		{"[daemon]\nsocket = ipc:///other\n", "'socket' in [daemon] has changed"},
		{"[limits]\nmessage_bytes = 1M\n", "'message_bytes' in [limits] has changed"},
		{"[plugins]\nplugin_dir = /x\n", "'plugin_dir' in [plugins] has changed"},
		{"[engine]\nkv_type = f16\nprefix_cache = off\nthreads = 3\nthreads_batch = 4\ncpus = 0-1\ncpu_strict = on\ndevice_sampling = off\nisolation = process\n", NULL},
		{"[limits]\nmax_running = 3\nfail = 1s\n", NULL},
	};
	struct lmi_config *from = good("");

	for (size_t i = 0; i < LMD_LEN(cases); i++) {
		struct lmi_config *to = good(cases[i].to);
		struct lmd_error err = {0};
		enum lmd_status st = lmi_config_may_replace(from, to, &err);

		ck_assert_int_eq(st, cases[i].says ? LMD_UNSUPPORTED : LMD_OK);
		if (cases[i].says)
			ck_assert_msg(strstr(err.text, cases[i].says) != NULL, "%s", err.text);
		lmi_config_destroy(to);
	}
	lmi_config_destroy(from);
}
END_TEST

/* Returns what `write` writes; free() it. */
static char *written(void (*write)(FILE *), size_t *n)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, n);

	ck_assert_ptr_nonnull(f);
	write(f);
	ck_assert_int_eq(fclose(f), 0);
	return text;
}

static char *printed(const struct lmi_config *c)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(f);
	lmi_config_print(f, c);
	ck_assert_int_eq(fclose(f), 0);
	return text;
}

START_TEST(print_and_example_read_back)
{
	struct lmi_config *c = good("[daemon]\ndrain = 2m\nlog = warn\n[plugins]\n"
				    "plugin_dir = /a\nplugin_dir = /b\n"),
			  *again, *fresh = good("");
	struct lmd_error err = {0};
	char *text = printed(c), *to;
	size_t n = 0;

	again = good(text);
	ck_assert_int_eq(again->drain_ms, 120000);
	ck_assert_int_eq(lmi_config_may_replace(c, again, &err), LMD_OK);
	free(text);
	lmi_config_destroy(again);
	lmi_config_destroy(c);
	/* uncommenting every key of the example that has a default results in the defaults */
	text = to = written(lmi_config_example, &n);
	for (char *p = text; *p; p++) {
		const char *eq = strchr(p, '=');
		bool key = *p == '#' && p[1] != ' ' && (p == text || p[-1] == '\n') && eq &&
			   (eq[2] < 'A' || eq[2] > 'Z'); /* N, URL: without a default */

		if (!key)
			*to++ = *p;
	}
	*to = 0;
	ck_assert_ptr_nonnull(strstr(text, "\nconnections = 256\n"));
	again = good(text);
	ck_assert_int_eq(lmi_config_may_replace(fresh, again, &err), LMD_OK);
	ck_assert_int_eq(again->drain_ms, fresh->drain_ms);
	lmi_config_destroy(again);
	lmi_config_destroy(fresh);
	free(text);
}
END_TEST

START_TEST(texts_match_the_tree)
{
	static const struct {
		const char *file;
		void (*write)(FILE *);
	} texts[] = {{"docs/man/llamad.8", lmi_daemon_man},
		     {"docs/man/llamad.conf.5", lmi_config_man},
		     {"docs/llamad.conf", lmi_config_example}};

	for (size_t i = 0; i < LMD_LEN(texts); i++) {
		char name[4096], *want, *have;
		size_t n = 0, got;
		FILE *f;

		want = written(texts[i].write, &n);
		have = calloc(1, n + 2);
		snprintf(name, sizeof(name), "%s/%s", lmd_source_dir(), texts[i].file);
		f = fopen(name, "r");
		ck_assert_msg(f != NULL && have != NULL, "%s: %s", name, strerror(errno));
		got = fread(have, 1, n + 1, f);
		fclose(f);
		ck_assert_msg(got == n && !memcmp(want, have, n),
			      "%s does not match the table; run: make update-daemon-texts",
			      texts[i].file);
		free(want);
		free(have);
	}
}
END_TEST

START_TEST(out_of_memory)
{
	const struct lmi_config_env env = {.get = get, .uid = 7};
	struct lmi_alloc_stats before, after;
	uint64_t nth = 1;

	static const char text[] = "[plugins]\nplugin_dir = /a\nplugin_dir = /b\n"
				   "[limits]\nsessions = 5\n";

	put_file(text, sizeof(text) - 1);
	lmi_alloc_stats(&before);
	for (bool failed = true; failed; nth++) {
		struct lmi_config *c = NULL;
		struct lmd_error err = {0};
		enum lmd_status st;

		lmi_alloc_fail_nth(nth, false);
		st = lmi_config_read(&c, path, NULL, &env, &err);
		failed = lmi_alloc_did_fail();
		lmi_alloc_fail_nth(0, false);
		ck_assert_int_eq(st, failed ? LMD_NOMEM : LMD_OK);
		lmi_config_destroy(c);
	}
	lmi_alloc_stats(&after);
	ck_assert_uint_gt(nth, 4);
	ck_assert_uint_eq(before.n_live, after.n_live);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("config");
	TCase *t = tcase_create("config");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, rows_are_valid);
	tcase_add_test(t, defaults);
	tcase_add_test(t, environment);
	tcase_add_test(t, environment_refused);
	tcase_add_test(t, default_folders);
	tcase_add_test(t, values);
	tcase_add_loop_test(t, errors_name_the_cause, 0, (int)LMD_LEN(refused));
	tcase_add_test(t, old_keys_warn);
	tcase_add_test(t, odd_files);
	tcase_add_test(t, random_bytes_never_crash);
	tcase_add_test(t, options_take_precedence);
	tcase_add_test(t, relative_options);
	tcase_add_test(t, what_may_change);
	tcase_add_test(t, print_and_example_read_back);
	tcase_add_test(t, texts_match_the_tree);
	tcase_add_test(t, out_of_memory);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
