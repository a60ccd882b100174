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

#include "core/engine/engine.h"

struct lmi_engine_second_opts {
	struct lmi_engine_model_opts opts;
	char label[112]; /* opts.label, if it has one */
};

/* Derives the options of a second instance, which reads `path`, from those of the first one, whose devices
 * are `set`. what: "draft" or "mmproj", a part of the name of its worker. *out must not be moved. */
void lmi_engine_second_opts_init(struct lmi_engine_second_opts *out,
				 const struct lmi_engine_model_opts *first,
				 struct lmi_engine_devices *set, const char *path, const char *what);

#endif /* LLAMAD_CORE_ENGINE_SECOND_INSTANCE_H */
