/* SPDX-License-Identifier: MIT
 *
 * tower.h - the vision tower of a language model: an instance of its own (the file mmproj), which turns
 * the patches of pictures into rows for the model.
 *
 * It runs on the engine's thread between the steps of the model, one picture at a time, so that
 * generations wait for one picture at most. The rows of the last pictures are kept, because the next turn
 * of a conversation has the same ones. */
#ifndef LLAMAD_CORE_ENGINE_TOWER_H
#define LLAMAD_CORE_ENGINE_TOWER_H

#include "core/engine/picture.h"
#include "core/engine/step.h"

struct lmi_engine_tower;
struct lmi_engine_second_opts;

/* Derives the options of a tower on the devices of a model from those of the model. */
void lmi_engine_tower_opts(struct lmi_engine_second_opts *out, const struct lmi_engine_model_opts *opts,
			   struct lmi_engine_devices *set);
/* Measures what the tower will take beside a model whose devices are open, so that the model leaves it on
 * each device. A tower that cannot be measured takes nothing: opening it will tell why; but that fails here
 * if the model is only estimated and the tower is not optional. */
enum lmd_status lmi_engine_tower_measure(struct lmi_inst *target, const struct lmi_engine_model_opts *opts,
					 struct lmd_error *err);
/* Opens the tower of a model; the options are the model's, of which mmproj_path is read. LMD_UNSUPPORTED: it
 * makes rows that the model does not take, or is no tower. */
enum lmd_status lmi_engine_tower_open(struct lmi_engine_tower **out, struct lmi_inst *target,
				      const struct lmi_engine_model_opts *opts, struct lmd_error *err);
/* t may be NULL. */
void lmi_engine_tower_close(struct lmi_engine_tower *t);
struct lmi_inst *lmi_engine_tower_inst(const struct lmi_engine_tower *t);
/* Returns what it expects of pictures, valid as long as it is open. */
const struct lmd_picture *lmi_engine_tower_picture(const struct lmi_engine_tower *t);
/* Returns what digests of pictures depend on besides their pixels. Any thread. */
const uint8_t *lmi_engine_tower_digest(const struct lmi_engine_tower *t);

/* Returns the number of rows that a picture of so many patches becomes; 0: none that the tower computes. Any
 * thread. */
uint32_t lmi_engine_tower_rows(const struct lmi_engine_tower *t, uint32_t patches_w, uint32_t patches_h);

/* Computes the rows of a picture from its patches, which are freed, or copies kept ones of the same tenant: the
 * time it takes tells nothing of others. No step of the model may be submitted. w may be NULL. LMD_CANCELLED: stopped through w->cancel. */
enum lmd_status lmi_engine_tower_run(struct lmi_engine_tower *t, uint64_t tenant,
				     struct lmi_engine_seq_picture *p,
				     const struct lmi_engine_step_watch *w, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_TOWER_H */
