/* SPDX-License-Identifier: MIT
 *
 * second_instance.h - the options of an instance that works for another one: a draft model or a vision
 * tower.
 *
 * A second instance has the devices of the first one, in the same processes, under the same limits. An option
 * that is not named in second_instance.c is therefore inherited, so that a new one about devices or processes
 * holds for both instances; a new one about the model itself has to be named there. */
#ifndef LLAMAD_CORE_ENGINE_SECOND_INSTANCE_H
#define LLAMAD_CORE_ENGINE_SECOND_INSTANCE_H

#include "core/engine/instance.h"

struct lmi_engine_second_opts {
	struct lmi_engine_model_opts opts;
	char label[112]; /* opts.label, if it has one */
};

/* Derives the options of a second instance, which reads `path`, from those of the first one, whose devices
 * are `set`. what: "draft" or "mmproj", a part of the name of its worker. *out must not be moved. */
void lmi_engine_second_opts_init(struct lmi_engine_second_opts *out,
				 const struct lmi_engine_model_opts *first,
				 struct lmi_engine_devices *set, const char *path, const char *what);

/* Estimates what a second instance of inst will take, and notes it there as the need of `which`; nothing after an
 * error. o: as it will be opened; label: of the first one, whose processes are used for this. Blocks on the disk. */
enum lmd_status lmi_engine_second_measure(struct lmi_inst *inst, enum lmi_inst_second which,
					  const struct lmi_engine_second_opts *o, const char *label,
					  struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SECOND_INSTANCE_H */
