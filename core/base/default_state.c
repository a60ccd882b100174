/* SPDX-License-Identifier: MIT */
#include "core/base/default_state.h"

#include <stdio.h>
#include <string.h>

int lmi_default_state_dir(char *out, size_t size, uint32_t uid,
			  const char *(*get)(void *arg, const char *name), void *arg)
{
	static const struct {
		const char *variable, *below;
	} places[] = {{"STATE_DIRECTORY", ""},
		      {NULL, "/var/lib/llamad"},
		      {"XDG_STATE_HOME", "/llamad"},
		      {"HOME", "/.local/state/llamad"}};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *v = places[i].variable ? get(arg, places[i].variable) : "";

		if (places[i].variable ? v && *v == '/' : !uid)
			return snprintf(out, size, "%.*s%s", (int)strcspn(v, ":"), v, places[i].below);
	}
	if (size)
		*out = 0;
	return 0;
}
