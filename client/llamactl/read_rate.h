/* SPDX-License-Identifier: MIT
 *
 * read_rate.h - measures how fast this machine reads its memory, which bounds how fast a model
 * generates. */
#ifndef LLAMAD_CLIENT_LLAMACTL_READ_RATE_H
#define LLAMAD_CLIENT_LLAMACTL_READ_RATE_H

#include <stdint.h>

/* Reads memory with n threads (0 = one per processor) for about a quarter of a second and returns
 * the best rate in bytes per second, or 0 if there is no memory or thread for it. */
double lmi_ctl_read_rate(uint32_t n_thread);

#endif /* LLAMAD_CLIENT_LLAMACTL_READ_RATE_H */
