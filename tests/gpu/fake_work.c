/* SPDX-License-Identifier: MIT
 *
 * Streams of work.  A kernel that waits for another device, and a stream that waits for an event, are left
 * until other streams have done something; when all wait for each other, time passes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/fake.h"

/* Runs a kernel; returns 0 if it waits for another device. */
static int run_kernel(const struct stream *s, struct work *w)
{
	if (!w->begun && fake.lose && ++fake.n_launch >= fake.lose)
		fake.lost = 1;
	if (fake.lost) {
		if (w->begun)
			emu_abandon(w->begun);
		return 1;
	}
	emu_peers_run(s->device);
	if (!w->begun) {
		w->launch.args = w->args;
		w->begun = emu_begin(&w->launch, w->kernel->name);
	}
	if (!emu_go_on(w->begun))
		return 0;
	++*w->kernel->n_run;
	return 1;
}

/* Returns 0 if it has to wait for another stream.  A device that was lost touches no memory: the host may have freed it. */
static int do_work(const struct stream *s, struct work *w)
{
	switch (w->kind) {
	case COPY:
		if (!fake.lost)
			memmove(w->to, w->from, w->bytes);
		break;
	case FILL:
		if (!fake.lost)
			memset(w->to, w->value, w->bytes);
		break;
	case LAUNCH:
		return run_kernel(s, w);
	case RECORD:
		if (++w->mark->n_happened == w->mark->n_record)
			w->mark->stream = NULL;
		break;
	case WAIT:
		return fake.lost || !w->mark || w->mark->n_happened >= w->record;
	}
	return 1;
}

/* Does the first work of a stream; returns whether it is done. */
static int run_first(struct stream *s)
{
	struct work *w = s->first;

	if (!w || !do_work(s, w))
		return 0;
	s->first = w->next;
	if (!s->first)
		s->end = &s->first;
	if (w->graph)
		w->graph->n_running--;
	free(w);
	return 1;
}

/* Does some work of other streams; returns whether there was any. */
static int run_others(const struct stream *than)
{
	int any = 0;

	for (struct stream *s = fake.streams; s; s = s->next) {
		while (s != than && run_first(s)) {
			any = 1;
			if (!fake.ahead)
				return 1;
		}
	}
	return any;
}

/* Waits that cannot end, which give up in kernels, end the program. */
#define MOST_STUCK 1000u
static void fatal_wait(const struct stream *at)
{
	static const char *const kinds[] = {"a copy", "a fill", "a kernel", "an event", "a wait"};

	for (const struct stream *s = fake.streams; s; s = s->next)
		(void)fprintf(stderr, "gpu emulation: device %u%s: %s %s\n", s->device,
			      s == at ? ", for which the host waits" : "",
			      s->first ? kinds[s->first->kind] : "idle",
			      s->first && s->first->kernel ? s->first->kernel->name : "");
	abort();
}

void fake_run_to(struct stream *s, const struct mark *m)
{
	unsigned stuck = 0;

	while (m ? m->stream != NULL : s->first != NULL) {
		struct stream *at = m ? m->stream : s;

		if (fake.ahead)
			while (run_others(at))
				;
		if (run_first(at) || run_others(at))
			continue;
		if (++stuck > MOST_STUCK)
			fatal_wait(at);
		emu_ticks += 2 * GPU_GIVE_UP; /* all wait for each other: the kernels give up */
	}
}

int fake_submit(void *stream, const struct work *w)
{
	struct stream *s = stream;
	struct work *copy;

	if (fake.lost)
		return LOST;
	if (s && s->captured)
		s = s->captured;
	copy = s ? malloc(sizeof(*copy)) : NULL;
	if (!copy)
		return s ? OUT_OF_MEMORY : INVALID;
	*copy = *w;
	copy->next = NULL;
	*s->end = copy;
	s->end = &copy->next;
	return OK;
}

void fake_go_on(const struct mark *m)
{
	static unsigned stuck;

	stuck = !m->stream || run_first(m->stream) || run_others(m->stream) ? 0 : stuck + 1;
	if (stuck == MOST_STUCK)
		fatal_wait(m->stream);
}
