/* SPDX-License-Identifier: MIT
 *
 * Graphs of the driver library for tests: streams whose work is copied when they are launched.  Freeing one that
 * runs ends the program: CUDA allows it, HIP does not say so. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/fake.h"

static int begin_capture(struct stream *s)
{
	if (!s || s->captured)
		return INVALID;
	s->captured = calloc(1, sizeof(*s));
	if (!s->captured)
		return OUT_OF_MEMORY;
	s->captured->end = &s->captured->first;
	return OK;
}

API(cuStreamBeginCapture_v2, void *s, int mode)
{
	(void)mode;
	LOCKED(fake.no_graphs ? NOT_FOUND : begin_capture(s));
}

static int end_capture(struct stream *s, void **out)
{
	*out = s->captured;
	s->captured = NULL;
	return *out ? OK : INVALID;
}

API(cuStreamEndCapture, void *s, void **out)
{
	LOCKED(end_capture(s, out));
}

static int copy_work(struct stream *to, const struct stream *from)
{
	int code = OK;

	for (const struct work *w = from->first; !code && w; w = w->next)
		code = w->kind == RECORD || w->kind == WAIT ? INVALID : fake_submit(to, w);
	return code;
}

API(cuGraphInstantiateWithFlags, void **out, void *graph, unsigned long long flags)
{
	struct stream *s = calloc(1, sizeof(*s));

	(void)flags;
	if (!s)
		return OUT_OF_MEMORY;
	s->end = &s->first;
	*out = s;
	LOCKED(copy_work(s, graph));
}

static int free_graph(struct stream *s)
{
	while (s->first) {
		struct work *w = s->first;

		s->first = w->next;
		free(w);
	}
	free(s);
	return OK;
}

API(cuGraphDestroy, void *graph)
{
	LOCKED(free_graph(graph));
}

/* Work that is left after the device was lost no longer belongs to a graph. */
static void forget(const struct stream *graph)
{
	for (struct stream *s = fake.streams; s; s = s->next) {
		for (struct work *w = s->first; w; w = w->next) {
			if (w->graph == graph)
				w->graph = NULL;
		}
	}
}

static int free_exec(struct stream *graph)
{
	if (graph->n_running && !fake.lost) {
		(void)fprintf(stderr, "gpu emulation: a graph is freed that %u launches still run\n",
			      graph->n_running);
		abort();
	}
	forget(graph);
	return free_graph(graph);
}

API(cuGraphExecDestroy, void *graph)
{
	LOCKED(free_exec(graph));
}

static int launch_graph(struct stream *graph, void *s)
{
	int code = OK;

	for (const struct work *w = graph->first; !code && w; w = w->next) {
		struct work copy = *w;

		copy.graph = w->next ? NULL : graph;
		code = fake_submit(s, &copy);
		graph->n_running += !code && copy.graph;
	}
	return code;
}

API(cuGraphLaunch, void *graph, void *s)
{
	LOCKED(launch_graph(graph, s));
}
