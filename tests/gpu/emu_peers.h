/* SPDX-License-Identifier: MIT
 *
 * emu_peers.h - memory of several emulated devices: which device may reach it, and a check that a device
 * reads what another one has shown only after it knows of it, and that none writes over what another
 * one may still read.  Devices are 0 .. EMU_MOST_DEVICES-1. */
#ifndef LLAMAD_TESTS_GPU_EMU_PEERS_H
#define LLAMAD_TESTS_GPU_EMU_PEERS_H

#include <stddef.h>
#include <stdint.h>

#define EMU_MOST_DEVICES 8u

/* The device whose kernel runs from now on. */
void emu_peers_run(unsigned device);
/* Memory of a device comes and goes.  Memory of the host belongs to none.  fine: kernels of other devices see what
 * a kernel writes there while it runs; AMD's devices have memory of both kinds. */
void emu_peers_alloc(unsigned device, const void *p, size_t bytes, int fine);
void emu_peers_free(const void *p);
/* The device of an address; EMU_MOST_DEVICES: it belongs to none. */
unsigned emu_peers_owner(const void *p);
/* Lets a device reach the memory of another one. */
void emu_peers_enable(unsigned device, unsigned peer);
/* No device reaches the memory of another one any more. */
void emu_peers_forget(void);
/* Makes devices forget what they know of each other when they tell it: the check has to find that. */
void emu_peers_break(void);

#endif /* LLAMAD_TESTS_GPU_EMU_PEERS_H */
