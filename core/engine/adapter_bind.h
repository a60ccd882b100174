/* SPDX-License-Identifier: MIT
 *
 * adapter_bind.h - adapters of an engine that runs: read on any thread, then put into a slot by a
 * command.
 *
 * The engine binds a few MiB at a time between its steps, so that generations go on meanwhile. The model
 * must have been opened with adapters (struct lmi_engine_model_opts). */
#ifndef LLAMAD_CORE_ENGINE_ADAPTER_BIND_H
#define LLAMAD_CORE_ENGINE_ADAPTER_BIND_H

#include "core/engine/engine.h"

/* Files in memory, merged when they are bound. */
struct lmi_engine_adapter_data;

/* Reads adapters that apply together. Blocks on the disk; any thread. Error messages name the file, the
 * tensor and the limit. */
LMD_NODISCARD enum lmd_status lmi_engine_adapter_read(struct lmi_engine_adapter_data **out,
						      const struct lmi_engine *e,
						      const struct lmi_engine_adapter_ref *refs,
						      uint32_t n, struct lmd_error *err);
/* d may be NULL. */
void lmi_engine_adapter_data_destroy(struct lmi_engine_adapter_data *d);
/* Returns what each device of the model stores for it. */
uint64_t lmi_engine_adapter_data_bytes(const struct lmi_engine_adapter_data *d);

/* Puts the data into a slot in place of what is there, or empties the slot if own_data is NULL. Takes
 * own_data, on success and failure alike. Ends in one event: LMI_ENGINE_EV_BOUND, LMI_ENGINE_EV_FAILED or
 * LMI_ENGINE_EV_CANCELLED; unless it is BOUND, the slot is empty afterwards, except in the case of
 * LMD_BUSY: a sequence uses the slot. LMD_NOMEM: the memory of the model or of a device does not
 * suffice. id: unique among the unfinished commands; slot: LMI_ENGINE_FIRST_ADAPTER_SLOT to
 * LMI_ENGINE_N_ADAPTER_SLOT - 1. Any thread. */
LMD_NODISCARD enum lmd_status lmi_engine_adapter_bind(struct lmi_engine *e, uint64_t id,
						      uint32_t slot,
						      struct lmi_engine_adapter_data *own_data,
						      struct lmd_error *err);

/* ---- inside the engine ---- */

struct lmi_inst;
struct lmi_engine_adapter_binding;

/* Like lmi_engine_adapter_read. */
LMD_NODISCARD enum lmd_status lmi_inst_read_adapters(struct lmi_engine_adapter_data **out,
						     const struct lmi_inst *inst,
						     const struct lmi_engine_adapter_ref *refs,
						     uint32_t n, struct lmd_error *err);
uint64_t lmi_engine_adapter_data_key(const struct lmi_engine_adapter_data *d);
/* Binds the next pairs of the data, at least one and at most one beyond `bytes`; *done: all are bound. No
 * step may be running. */
LMD_NODISCARD enum lmd_status lmi_inst_bind_some(struct lmi_inst *inst,
						 struct lmi_engine_adapter_data *d, uint32_t slot,
						 uint64_t bytes, bool *done, struct lmd_error *err);
/* Unbinds all pairs of a slot. No step may be running. */
LMD_NODISCARD enum lmd_status lmi_inst_empty_slot(struct lmi_inst *inst, uint32_t slot,
						  struct lmd_error *err);

/* On the engine's thread: takes a command; binds a piece of the oldest one, and returns whether there is
 * more to do; cancels one (id 0: all); ends all with this error. */
void lmi_engine_adapter_begin(struct lmi_engine *e, struct lmi_engine_adapter_binding *own_b);
bool lmi_engine_adapter_step(struct lmi_engine *e);
void lmi_engine_adapter_cancel(struct lmi_engine *e, uint64_t id);
void lmi_engine_adapter_fail(struct lmi_engine *e, const struct lmd_error *err);
/* Frees a command that was not taken; b may be NULL. */
void lmi_engine_adapter_binding_destroy(struct lmi_engine_adapter_binding *b);

#endif /* LLAMAD_CORE_ENGINE_ADAPTER_BIND_H */
