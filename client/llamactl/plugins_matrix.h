/* SPDX-License-Identifier: MIT
 *
 * plugins_matrix.h - llamactl plugins --matrix: a table of operations and types by backend. */
#ifndef LLAMAD_LLAMACTL_PLUGINS_MATRIX_H
#define LLAMAD_LLAMACTL_PLUGINS_MATRIX_H

#include "client/llamactl/ctl.h"

/* Asks every backend of the registry that can run here, and prints the table. */
enum lmd_status lmi_plugins_matrix(struct lmi_ctl *ctl, struct lmi_registry *r,
				   struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_PLUGINS_MATRIX_H */
