/* SPDX-License-Identifier: MIT
 *
 * device_fixture.h - tiny models, and their logits on chosen devices, for the tests of devices. */
#ifndef LLAMAD_CORE_ENGINE_DEVICE_FIXTURE_H
#define LLAMAD_CORE_ENGINE_DEVICE_FIXTURE_H

#include "tests/engine_fixture.h"
#include "tests/tiny_model.h"

#define LMT_N_HELLO 5
extern const lmd_token lmt_hello[LMT_N_HELLO];
extern struct lmt_env lmt_device_env;
extern char lmt_paths[LMT_N_TINY][256]; /* of the models, by enum lmt_tiny */

/* Unchecked fixture: write and remove the models. */
void lmt_device_setup(void);
void lmt_device_teardown(void);

/* Gets the logits of lmt_hello on a backend.  settings: of the emulated devices. */
enum lmd_status lmt_logits(int kind, const char *backend, uint32_t device, const char *settings,
			   struct lmt_rows *rows, struct lmd_error *err);
/* Gets them with the given options for devices. */
enum lmd_status lmt_placed(int kind, const char *list, const char *layers, const char *split,
			   const char *override, const char *settings, struct lmt_rows *rows,
			   struct lmd_error *err);
/* Fails if the bits differ. */
void lmt_check_same(const struct lmt_rows *want, const struct lmt_rows *have, const char *what);
/* Finds where the layers of a model would be. */
void lmt_place(struct lmi_engine_opts *o, struct lmi_engine_placement *where);

#endif /* LLAMAD_CORE_ENGINE_DEVICE_FIXTURE_H */
