/* SPDX-License-Identifier: MIT
 *
 * What kernels of several devices do with each other's memory.  Each device has a clock, and knows of
 * the others' clocks what came with the words that it has read: a word carries what its writer knew.
 * Rows that are shown have the time of their last write, and of the last read by each device. */
#include "tests/gpu/emu_peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/emu.h"

#define N EMU_MOST_DEVICES

struct cell {
	uint32_t written, read[N];
};

struct block {
	struct block *next;
	const char *at;
	size_t bytes;
	unsigned device;
	int fine;
	struct cell *cells; /* one for 4 bytes, once something is shown */
};

/* A word through which devices tell each other something. */
struct word {
	struct word *next;
	const uint64_t *at;
	uint32_t clock[N];
};

uint64_t emu_ticks;

static struct {
	struct block *blocks, *last; /* the one that was found last */
	struct word *words;
	uint32_t clock[N][N];
	int enabled[N][N], broken;
	unsigned now;
} peers;

static void fatal(const char *what, const void *p)
{
	(void)fprintf(stderr, "gpu emulation: device %u: %s (address %p of device %u)\n", peers.now, what,
		      p, emu_peers_owner(p));
	abort();
}

static struct block *find(const void *p)
{
	const char *at = p;
	struct block *b = peers.last;

	if (b && at >= b->at && at < b->at + b->bytes)
		return b;
	for (b = peers.blocks; b; b = b->next) {
		if (at >= b->at && at < b->at + b->bytes)
			break;
	}
	peers.last = b;
	return b;
}

void emu_peers_run(unsigned device)
{
	peers.now = device;
}

void emu_peers_alloc(unsigned device, const void *p, size_t bytes, int fine)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		abort();
	*b = (struct block){
		.next = peers.blocks, .at = p, .bytes = bytes, .device = device, .fine = fine};
	peers.blocks = b;
}

static void forget_words(const struct block *b)
{
	for (struct word **w = &peers.words; *w;) {
		struct word *gone = *w;

		if ((const char *)gone->at < b->at || (const char *)gone->at >= b->at + b->bytes) {
			w = &gone->next;
			continue;
		}
		*w = gone->next;
		free(gone);
	}
}

void emu_peers_free(const void *p)
{
	for (struct block **b = &peers.blocks; *b; b = &(*b)->next) {
		struct block *gone = *b;

		if (gone->at != p)
			continue;
		*b = gone->next;
		peers.last = NULL;
		forget_words(gone);
		free(gone->cells);
		free(gone);
		return;
	}
}

unsigned emu_peers_owner(const void *p)
{
	const struct block *b = find(p);

	return b ? b->device : N;
}

void emu_peers_enable(unsigned device, unsigned peer)
{
	peers.enabled[device][peer] = 1;
}

void emu_peers_forget(void)
{
	memset(peers.enabled, 0, sizeof(peers.enabled));
}

void emu_peers_break(void)
{
	peers.broken = 1;
}

/* ---- what kernels call ---- */

static struct block *reach(const void *p)
{
	struct block *b = find(p);

	if (b && b->device != peers.now && !peers.enabled[peers.now][b->device])
		fatal("memory of another device without access", p);
	if (b && !b->fine)
		fatal("other devices do not see this memory while a kernel runs: it is not fine-grained", p);
	return b;
}

static struct word *word_at(const uint64_t *p, int create)
{
	struct word *w = peers.words;

	while (w && w->at != p)
		w = w->next;
	if (w || !create)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		abort();
	w->at = p;
	w->next = peers.words;
	peers.words = w;
	return w;
}

uint64_t emu_system_load(const uint64_t *p)
{
	const struct word *w;

	(void)reach(p);
	w = word_at(p, 0);
	for (unsigned i = 0; w && i < N; i++) {
		if (peers.clock[peers.now][i] < w->clock[i])
			peers.clock[peers.now][i] = w->clock[i];
	}
	return *p;
}

void emu_system_store(uint64_t *p, uint64_t v)
{
	struct word *w;

	(void)reach(p);
	w = word_at(p, 1);
	peers.clock[peers.now][peers.now]++;
	for (unsigned i = 0; i < N && !peers.broken; i++)
		w->clock[i] = peers.clock[peers.now][i];
	*p = v;
}

static struct cell *cell_of(struct block *b, const void *p)
{
	if (!b->cells)
		b->cells = calloc(b->bytes / 4 + 1, sizeof(*b->cells));
	if (!b->cells)
		abort();
	return &b->cells[((const char *)p - b->at) / 4];
}

void emu_show(uint32_t *p, uint32_t v)
{
	struct block *b = reach(p);
	struct cell *c;

	if (!b || b->device != peers.now)
		fatal("shows rows that are not in its memory", p);
	c = cell_of(b, p);
	for (unsigned i = 0; i < N; i++) {
		if (i != peers.now && c->read[i] > peers.clock[peers.now][i])
			fatal("a race: it writes over what another device may still read", p);
	}
	/* what the device does now, others know of with the next word that it tells them */
	c->written = peers.clock[peers.now][peers.now] + 1;
	*p = v;
}

uint32_t emu_look(const uint32_t *p)
{
	struct block *b = reach(p);
	struct cell *c;

	if (!b)
		fatal("looks at rows that are in no device's memory", p);
	c = cell_of(b, p);
	if (b->device != peers.now && c->written > peers.clock[peers.now][b->device])
		fatal("a race: it reads what another device may not have written yet", p);
	c->read[peers.now] = peers.clock[peers.now][peers.now] + 1;
	return *p;
}
