/* SPDX-License-Identifier: MIT
 *
 * http_url.h - where the daemon of this machine serves HTTP. */
#ifndef LLAMAD_LLAMACTL_HTTP_URL_H
#define LLAMAD_LLAMACTL_HTTP_URL_H

#include <stddef.h>

/* What is used if the configuration names no address; also the port of `llamactl serve`. */
#define LMI_CTL_HTTP_URL "http://127.0.0.1:8080"

/* Writes the URL of the first address that the configuration of llamad names, or else the default.
 * Runs `llamad --check-config`. */
void lmi_ctl_http_url(char *out, size_t size);

/* Writes the URL for an address as the configuration has it: ADDR:PORT, tls:ADDR:PORT or unix:/PATH,
 * which stays as it is. An address that means all of the machine's becomes the loopback address. */
void lmi_ctl_http_url_of(char *out, size_t size, const char *address);

#endif /* LLAMAD_LLAMACTL_HTTP_URL_H */
