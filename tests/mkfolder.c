/* SPDX-License-Identifier: MIT
 *
 * mkfolder DIR: creates a folder with the smallest LLaMA model. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/st_file.h"

static int write_file(const char *dir, const char *name, const char *p, size_t n)
{
	char path[4096];
	FILE *f;
	int bad;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	bad = fwrite(p, 1, n, f) != n;
	return fclose(f) || bad;
}

int main(int argc, char **argv)
{
	struct st_file f = st_build_llama(0, ST_LLAMA_N);
	int bad;

	if (argc != 2 || (mkdir(argv[1], 0700) && errno != EEXIST)) {
		fprintf(stderr, "usage: mkfolder DIR\n");
		return 2;
	}
	/* numbers near 1, since the default bytes are unsuitable as floats */
	for (size_t i = f.n - 1856; i + 4 <= f.n; i += 4) {
		float v = 0.25f * (float)((i / 4 * 37) % 17) - 2.0f;

		memcpy(f.p + i, &v, 4);
	}
	bad = write_file(argv[1], "config.json", ST_LLAMA_CONFIG, strlen(ST_LLAMA_CONFIG)) ||
	      write_file(argv[1], "model.safetensors", f.p, f.n);
	free(f.p);
	return bad;
}
