/* SPDX-License-Identifier: MIT
 *
 * mktiny KIND SEED PATH: creates one of the small models of tiny_model.h, or with KIND tower:PROJECTOR one of
 * the vision towers of tiny_tower.h, for shell tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tiny_model.h"
#include "tests/tiny_tower.h"

int main(int argc, char **argv)
{
	for (int k = 0; argc == 4 && k < LMT_N_KIND; k++) {
		if (strcmp(argv[1], lmt_tiny_name((enum lmt_tiny)k)) != 0)
			continue;
		lmt_tiny_write((enum lmt_tiny)k, strtoull(argv[2], NULL, 0), argv[3]);
		return 0;
	}
	for (int k = 0; argc == 4 && !strncmp(argv[1], "tower:", 6) && k < LMT_N_TOWER; k++) {
		if (strcmp(argv[1] + 6, lmt_tower_name((enum lmt_tower)k)) != 0)
			continue;
		lmt_tower_write((enum lmt_tower)k, argv[3]);
		return 0;
	}
	fprintf(stderr, "usage: mktiny full|window|state|hybrid|sandwich|words|suppress|rank|greedy|tall|nextn|eagle3|eagle3-map|dflash|tower:mlp SEED PATH\n");
	return 2;
}
