/* SPDX-License-Identifier: MIT
 *
 * An example of the library: loads a model, shows its metadata, tokens and logits, and streams an
 * answer.  The engine runs in this process, or in a server if a URL is given.
 *
 *     ./generate MODEL PROMPT [N [URL]]
 *
 * MODEL is the path of a file or, with a URL, the name of a model of the server.  If the environment
 * variable PLUGIN_DIR is set, plugins in that folder are used before the installed ones. */
#include <stdio.h>
#include <stdlib.h>

#include <llamad/llamad.h>

/* Loads the model and waits until it is ready. */
static enum lmd_status load(struct lmd_client *c, const char *model, struct lmd_error *err)
{
	char members[1024];
	struct lmd_stream *s = NULL;
	struct lmd_item it = {0};
	enum lmd_status st;

	snprintf(members, sizeof(members), "{\"model\": \"%s\"}", model);
	st = lmd_client_start(c, "load", members, &s, err);
	while (st == LMD_OK && it.kind != LMD_ITEM_DONE) {
		st = lmd_stream_next(s, &it, -1, err);
		if (st == LMD_OK && it.kind == LMD_ITEM_PROGRESS && it.total)
			fprintf(stderr, "%s: %llu of %llu bytes\n", it.phase,
				(unsigned long long)it.done, (unsigned long long)it.total);
	}
	lmd_stream_close(s);
	return st;
}

/* Sends a request and shows the reply, both as JSON. */
static enum lmd_status show_reply(struct lmd_client *c, const char *op, const char *members,
				  struct lmd_error *err)
{
	char *reply;
	enum lmd_status st = lmd_client_call(c, op, members, &reply, err);

	if (st != LMD_OK)
		return st;
	fprintf(stderr, "%s: %.200s\n", op, reply);
	lmd_client_free(reply);
	return LMD_OK;
}

/* Shows the most likely token after the first one of the vocabulary: only in the process. */
static enum lmd_status show_next(struct lmd_client *c, const char *model, struct lmd_error *err)
{
	const lmd_token first = 0;
	struct lmd_rows logits = {.struct_size = sizeof(logits)};
	lmd_token next;
	enum lmd_status st = lmd_client_forward(c, model, &first, 1, LMD_FORWARD_LAST, &logits, err);

	if (st == LMD_UNSUPPORTED) {
		fprintf(stderr, "%s\n", err->text);
		return LMD_OK;
	}
	if (st != LMD_OK)
		return st;
	st = lmd_client_sample(c, NULL, logits.v, logits.width, &next, err);
	if (st == LMD_OK)
		fprintf(stderr, "forward: token %d of %u\n", (int)next, (unsigned)logits.width);
	lmd_client_free(logits.v);
	return st;
}

static enum lmd_status answer(struct lmd_client *c, const struct lmd_generate *g,
			      struct lmd_error *err)
{
	struct lmd_stream *s = NULL;
	struct lmd_item it = {0};
	enum lmd_status st = lmd_client_generate(c, g, &s, err);

	while (st == LMD_OK && it.kind != LMD_ITEM_DONE) {
		st = lmd_stream_next(s, &it, -1, err);
		if (st == LMD_OK && it.kind != LMD_ITEM_DONE)
			fwrite(it.text, 1, it.n_text, stdout);
	}
	lmd_stream_close(s);
	return st;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("PLUGIN_DIR");
	struct lmd_engine_opts engine = {
		.struct_size = sizeof(engine), .plugin_dirs = &dir, .n_plugin_dirs = dir != NULL};
	struct lmd_client_opts opts = {
		.struct_size = sizeof(opts), .name = "generate", .engine = &engine};
	struct lmd_generate g = {.struct_size = sizeof(g), .flags = LMD_GEN_GREEDY};
	struct lmd_error err = {0};
	struct lmd_client *c = NULL;
	char members[1024];
	enum lmd_status st;

	if (argc < 3) {
		fprintf(stderr, "usage: generate MODEL PROMPT [N [URL]]\n");
		return 2;
	}
	g.model = argv[1];
	g.prompt = argv[2];
	g.n_predict = argc > 3 ? atoi(argv[3]) : 32;
	opts.url = argc > 4 ? argv[4] : "embedded:";

	st = lmd_client_open(&c, &opts, &err);
	if (st == LMD_OK)
		st = load(c, g.model, &err);
	snprintf(members, sizeof(members), "{\"model\": \"%s\"}", g.model);
	if (st == LMD_OK)
		st = show_reply(c, "info", members, &err);
	snprintf(members, sizeof(members), "{\"model\": \"%s\", \"text\": \"Once\"}", g.model);
	if (st == LMD_OK)
		st = show_reply(c, "tokenize", members, &err);
	if (st == LMD_OK)
		st = show_next(c, g.model, &err);
	if (st == LMD_OK)
		st = answer(c, &g, &err);
	if (st != LMD_OK)
		fprintf(stderr, "generate: %s\n", err.text);
	lmd_client_close(c);
	return st != LMD_OK;
}
