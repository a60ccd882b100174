/* SPDX-License-Identifier: MIT
 *
 * echo_model.h - writes a model that repeats the user's message, for tests of clients. */
#ifndef LLAMAD_LLAMACTL_ECHO_MODEL_H
#define LLAMAD_LLAMACTL_ECHO_MODEL_H

#include "llamad/status.h"

/* Maximum number of bytes of a message; what does not fit is left out. */
#define LMI_CTL_ECHO_BYTES 1000

/* Writes the file; it appears under its path only when it is complete. */
enum lmd_status lmi_ctl_echo_model_write(const char *path, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_ECHO_MODEL_H */
