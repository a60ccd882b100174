/* SPDX-License-Identifier: MIT
 *
 * llamactl batch: sends the requests of a file to an HTTP server and writes their results to
 * another. The work is divided: batch_lines.h reads the requests, batch_http.h sends them, and
 * batch_output.h keeps the results. */
#include <stdio.h>
#include <string.h>

#include "client/llamactl/batch_http.h"
#include "client/llamactl/http_url.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/remote.h"

struct batch {
	struct lmi_ctl_batch_lines lines;
	struct lmi_ctl_batch_output output;
	struct lmi_ctl_batch_http http;
	struct lmi_ctl_progress bar;
	uint32_t at;	 /* the next line */
	uint32_t n_kept; /* lines whose results were there */
	uint32_t n_done;
};

/* ---- for the transport ---- */

static enum lmd_status next(void *arg, struct lmi_ctl_batch_request *out, uint32_t *number,
			    struct lmd_error *err)
{
	struct batch *b = arg;

	while (b->at < b->lines.n && b->lines.line[b->at].state != LMI_CTL_BATCH_OPEN)
		b->at++;
	if (b->at == b->lines.n)
		return LMD_NOTFOUND;
	*number = b->at++;
	return lmi_ctl_batch_lines_read(&b->lines, *number, out, err);
}

static enum lmd_status done(void *arg, uint32_t number, const struct lmi_ctl_batch_result *r,
			    struct lmd_error *err)
{
	struct batch *b = arg;

	lmi_ctl_progress_show(&b->bar, "batch", b->n_kept + ++b->n_done, b->lines.n);
	return lmi_ctl_batch_output_add(&b->output, &b->lines.line[number], r, err);
}

/* ---- the summary ---- */

static uint32_t count(const struct batch *b, enum lmi_ctl_batch_state state)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->lines.n; i++)
		n += b->lines.line[i].state == state;
	return n;
}

static void print_summary(const struct batch *b, bool json)
{
	uint32_t answered = count(b, LMI_CTL_BATCH_ANSWERED), failed = count(b, LMI_CTL_BATCH_FAILED);
	struct lmi_ctl_json j;

	if (!json) {
		printf("%u requests: %u answered, %u failed", b->lines.n, answered, failed);
		if (b->n_kept)
			printf("; %u of them in an earlier run", b->n_kept);
		if (b->http.n_retry)
			printf("; %u sent again", b->http.n_retry);
		putchar('\n');
		return;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_uint(&j, "requests", b->lines.n);
	lmi_ctl_json_uint(&j, "answered", answered);
	lmi_ctl_json_uint(&j, "failed", failed);
	lmi_ctl_json_uint(&j, "kept", b->n_kept);
	lmi_ctl_json_uint(&j, "retries", b->http.n_retry);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

/* ---- the command ---- */

static enum lmd_status send_all(struct lmi_ctl *ctl, struct batch *b, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	char secret[LMI_CTL_SECRET_BYTES] = "", url[1024];
	enum lmd_status st = LMD_OK;

	b->http = (struct lmi_ctl_batch_http){.url = lmi_arg_str(a, "url"),
					      .key = lmi_arg_str(a, "key"),
					      .ca_file = lmi_arg_str(a, "ca"),
					      .parallel = (uint32_t)lmi_arg_int(a, "parallel"),
					      .retries = (uint32_t)lmi_arg_int(a, "retries"),
					      .timeout_ms = lmi_arg_int(a, "timeout"),
					      .next = next,
					      .done = done,
					      .arg = b};
	if (!b->http.url) {
		lmi_ctl_http_url(url, sizeof(url));
		b->http.url = url;
	}
	if (!b->http.key)
		st = lmi_ctl_secret(ctl, secret, &b->http.key, err);
	lmi_ctl_progress_init(&b->bar);
	if (st == LMD_OK)
		st = lmi_ctl_batch_http_run(&b->http, err);
	lmi_ctl_progress_end(&b->bar);
	explicit_bzero(secret, sizeof(secret));
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *out = lmi_arg_str(a, "output"), *endpoint = lmi_arg_str(a, "endpoint");
	struct batch b = {.lines = {.path = lmi_arg_pos(a, 0),
				    .endpoint = endpoint,
				    .model = lmi_arg_str(a, "model")}};
	uint32_t failed;
	enum lmd_status st;

	if (!out)
		return lmi_ctl_usage(ctl, err, "-o OUT is missing: the file for the results");
	if (endpoint && *endpoint != '/')
		return lmi_ctl_usage(ctl, err, "--endpoint: '%.60s' does not begin with /", endpoint);
	st = lmi_ctl_batch_lines_open(&b.lines, err);
	if (st == LMD_OK)
		st = lmi_ctl_batch_output_open(&b.output, out, &b.lines,
					       lmi_arg_flag(a, "retry-errors"), err);
	if (st == LMD_OK) {
		b.n_kept = b.lines.n - count(&b, LMI_CTL_BATCH_OPEN);
		if (b.n_kept < b.lines.n)
			st = send_all(ctl, &b, err);
		lmi_ctl_batch_output_close(&b.output);
	}
	failed = count(&b, LMI_CTL_BATCH_FAILED);
	if (st == LMD_OK) {
		print_summary(&b, lmi_arg_flag(a, "json"));
		if (failed)
			st = lmd_fail(err, LMD_IO,
				      "%u of %u requests failed; --retry-errors sends them again",
				      failed, b.lines.n);
	}
	lmi_ctl_batch_lines_fini(&b.lines);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "output",
	 .letter = 'o',
	 .type = LMI_OPT_STR,
	 .value = "OUT",
	 .doc = "File for the results. What it already has is kept, and its requests are not sent "
		"again."},
	{.name = "url",
	 .type = LMI_OPT_STR,
	 .value = "URL",
	 .def_text = "the first address of HTTP in llamad's configuration, or else " LMI_CTL_HTTP_URL,
	 .doc = "Server: http://HOST:PORT, https://HOST, with or without /v1, or unix:/PATH. Any that "
		"has OpenAI's API will do."},
	{.name = "key",
	 .type = LMI_OPT_STR,
	 .value = "KEY",
	 .def_text = "that of --key-file or of the environment variable LLAMAD_KEY, if there is one",
	 .doc = "API key of the server. Other users of this machine can see the command line."},
	{.name = "model",
	 .letter = 'm',
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .doc = "Model for requests that name none."},
	{.name = "endpoint",
	 .type = LMI_OPT_STR,
	 .value = "PATH",
	 .doc = "Path for lines without url, such as /v1/chat/completions; a line may then be the "
		"body of a request alone."},
	{.name = "parallel",
	 .letter = 'n',
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "8",
	 .min = 1,
	 .max = LMI_CTL_BATCH_PARALLEL,
	 .doc = "Requests at a time."},
	{.name = "retries",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "5",
	 .min = 0,
	 .max = LMI_CTL_BATCH_RETRIES,
	 .doc = "How often a request is sent again after a lost connection, a time-out, or the codes "
		"408, 429 and 500 to 599."},
	{.name = "retry-errors",
	 .type = LMI_OPT_FLAG,
	 .doc = "Remove the failed requests from OUT and send them again."},
	{.name = "timeout",
	 .type = LMI_OPT_TIME,
	 .value = "TIME",
	 .def = "10m",
	 .min = 1,
	 .max = 86400000,
	 .doc = "Longest time of a request; it may be sent again after that."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_batch = {
	.name = "batch",
	.args = "FILE",
	.brief = "Send the requests of a file over HTTP",
	.doc = "Each line of FILE is a request in the form of OpenAI's batches:\n\n"
	       "    {\"custom_id\": \"a\", \"method\": \"POST\", \"url\": \"/v1/chat/completions\", "
	       "\"body\": {\"messages\": ...}}\n\n"
	       "or, with --endpoint, its body alone; without a custom_id it is called line-NUMBER. All "
	       "lines are checked before the first one is sent. OUT gets a line for each request as "
	       "soon as it has ended, in the form of OpenAI's results, in any order. After an "
	       "interruption the same command sends the requests that have no result yet.\n\n"
	       "When the server is busy (429, 503), all requests wait as long as it says. A request "
	       "that is sent again waits half a second, and then twice as long each time, up to a "
	       "minute. If the server cannot be reached or refuses the key, the command ends, and the "
	       "requests that are left have no result.\n\nThe exit status is 1 if a request failed, now "
	       "or in an earlier run. The proxy variables of curl(1) apply, except for this machine. "
	       "--socket is not used. With --json: an object with the numbers of requests, of those "
	       "answered and failed, of those whose result was there before (kept), and of retries.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
