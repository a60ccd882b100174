/* SPDX-License-Identifier: MIT
 *
 * devices_impl.h - the devices of a process, shared by devices.c (opening, loss) and device_ledger.c
 * (memory, lists). `lock` guards the lists and everything in them. */
#ifndef LLAMAD_CORE_ENGINE_DEVICES_IMPL_H
#define LLAMAD_CORE_ENGINE_DEVICES_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/engine/device_holdoff.h"
#include "core/engine/devices.h"

/* A device of a name. */
struct lmi_engine_device_entry {
	struct lmi_engine_device device;
	struct lmi_engine_device_entry *base; /* of a device in a worker: the device itself; otherwise NULL */
	uint64_t claimed, loading; /* bytes of all models, and of those being loaded */
	struct lmi_device_holdoff holdoff;
	uint32_t n_loss;
	bool used, lost; /* lost: and not opened since */
	bool has_workers; /* a model has had it in a process of its own */
};

/* A device that was opened with certain parameters. */
struct lmi_engine_device_state {
	struct lmi_engine_open_device open;
	struct lmi_engine_device_entry *entry;
	uint32_t activations, attention, deterministic;
	char *cpus; /* of open.threads, or NULL */
	bool own_n_thread; /* nobody asked for a number of threads */
	bool alone;
	bool lost;	 /* this state was reported as lost */
	uint32_t n_loss; /* how often the device had been lost when this was opened */
	uint32_t n_user;
	struct lmi_engine_device_state *next;
};

struct lmi_engine_devices {
	struct lmi_plugin_registry *registry;
	const struct lmd_host *host;
	pthread_mutex_t opening, lock;
	struct lmi_engine_device_entry entries[LMI_ENGINE_DEVICES_MAX];
	struct lmi_engine_device_state *states;
	uint64_t n_opened;
	_Atomic uint32_t n_loss; /* of all devices */
};

uint64_t lmi_engine_devices_now(const struct lmi_engine_devices *set);
/* Was the state lost? A loss of a device is that of all its states; a worker is lost alone, while the next
 * one of the same name may be at work. Called with the lock held. */
bool lmi_engine_device_state_is_lost(const struct lmi_engine_device_state *s);
/* Lists the devices of a backend. *out: [*n], to be freed with lmi_free; why: why there is none. */
enum lmd_status lmi_engine_devices_enumerate(const struct lmd_host *host, const struct lmi_factory *f,
					     struct lmd_device_info **out, uint32_t *n, char *why,
					     size_t why_n);

#endif /* LLAMAD_CORE_ENGINE_DEVICES_IMPL_H */
