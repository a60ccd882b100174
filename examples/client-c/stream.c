/* SPDX-License-Identifier: MIT
 *
 * An example client in C: streams a continuation and, if N is given, cancels it after N tokens.
 *
 *     ./stream MODEL PROMPT [N [URL]] */
#include <stdio.h>
#include <stdlib.h>

#include <llamad/client.h>

static enum lmd_status show(struct lmd_stream *s, struct lmd_error *err)
{
	struct lmd_item it;
	enum lmd_status st;

	while ((st = lmd_stream_next(s, &it, -1, err)) == LMD_OK) {
		if (it.kind == LMD_ITEM_DONE) {
			fprintf(stderr, "\n%llu tokens, %s\n", (unsigned long long)it.n_out,
				it.finish);
			break;
		}
		fwrite(it.text, 1, it.n_text, stdout);
		fflush(stdout);
	}
	return st;
}

int main(int argc, char **argv)
{
	struct lmd_client_opts opts = {.struct_size = sizeof(opts), .name = "stream"};
	struct lmd_generate g = {.struct_size = sizeof(g), .flags = LMD_GEN_GREEDY};
	struct lmd_error err = {0};
	struct lmd_client *c = NULL;
	struct lmd_stream *s = NULL;
	enum lmd_status st;

	if (argc < 3) {
		fprintf(stderr, "usage: stream MODEL PROMPT [N [URL]]\n");
		return 2;
	}
	g.model = argv[1];
	g.prompt = argv[2];
	g.n_predict = argc > 3 ? atoi(argv[3]) : 32;
	opts.url = argc > 4 ? argv[4] : NULL;

	st = lmd_client_open(&c, &opts, &err);
	if (st == LMD_OK)
		st = lmd_client_generate(c, &g, &s, &err);
	if (st == LMD_OK)
		st = show(s, &err);
	if (st != LMD_OK)
		fprintf(stderr, "stream: %s\n", err.text);
	lmd_stream_close(s);
	lmd_client_close(c);
	return st != LMD_OK;
}
