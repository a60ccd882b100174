/* SPDX-License-Identifier: MIT */
#include "client/llamactl/http_url.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "client/llamactl/llamad_program.h"

#define KEY	   "\nhttp = "
#define TIMEOUT_MS 20000

void lmi_ctl_http_url_of(char *out, size_t size, const char *address)
{
	static const char *const any[][2] = {{"0.0.0.0:", "127.0.0.1:"}, {"[::]:", "[::1]:"}};
	const char *scheme = "http", *host = "";

	if (!strncmp(address, "unix:", 5)) {
		(void)snprintf(out, size, "%s", address);
		return;
	}
	if (!strncmp(address, "tls:", 4)) {
		scheme = "https";
		address += 4;
	}
	for (size_t i = 0; i < sizeof(any) / sizeof(*any); i++)
		if (!strncmp(address, any[i][0], strlen(any[i][0]))) {
			address += strlen(any[i][0]);
			host = any[i][1];
			break;
		}
	(void)snprintf(out, size, "%s://%s%s", scheme, host, address);
}

void lmi_ctl_http_url(char *out, size_t size)
{
	char llamad[PATH_MAX], text[32768] = "\n", *address;
	const char *argv[] = {llamad, "--check-config", NULL};

	(void)snprintf(out, size, LMI_CTL_HTTP_URL);
	lmi_ctl_find_llamad(llamad, sizeof(llamad));
	if (lmi_ctl_capture(argv, text + 1, sizeof(text) - 1, TIMEOUT_MS))
		return;
	address = strstr(text, KEY);
	if (!address)
		return;
	address += strlen(KEY);
	address[strcspn(address, "\n")] = 0;
	lmi_ctl_http_url_of(out, size, address);
}
