/* SPDX-License-Identifier: MIT
 *
 * Graphs: the driver takes the launches of a step as one, which costs less than each launch.  The
 * arguments of launches never change and kernels stride over what the step block counts, so a graph
 * is right for every step; only the numbers of blocks are chosen for some number of rows.  Rows are
 * rounded up, so that few graphs serve all steps in which each sequence has one row.  A plan keeps
 * the graphs that it used last.  A graph is made when its rows come for the second time.  One that is no
 * longer wanted is freed after the work that was submitted until then (only CUDA documents that a graph
 * may be freed while it runs).
 *
 * In a device group all steps are graphs, others than these for one step only.  Its launches wait on the
 * device for those of other ranks, which the host submits afterwards: if they were submitted one by
 * one, the driver's queue could be full before that, and the host would wait until the kernels give up.
 * So without graphs a long plan of a group is refused. */
#include <string.h>

#include "plan.h"

static enum lmd_status launch_all(struct lmd_compiled_plan *p, gpu_stream s,
				  const struct gpu_live *live, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	for (uint32_t i = 0; st == LMD_OK && i < p->n_launch; i++)
		st = gpu_run_launch(p, s, &p->launches[i], live, err);
	return st;
}

/* The limits between kernels that are chosen by the number of rows are among these numbers. */
static uint32_t round_up(uint32_t n)
{
	if (n > 8)
		return (n + 15) / 16 * 16;
	return n > 4 ? 8 : n > 2 ? 4 : n;
}

/* Rounds the rows of a step up; false if it is not one that graphs are for. */
static bool round_rows(const struct gpu_live *live, struct gpu_live *out)
{
	*out = *live;
	if (live->rows[LMD_SPACE_TOKENS] > live->rows[LMD_SPACE_SEQS])
		return false;
	for (uint32_t i = 0; i < LMD_N_SPACE; i++) {
		if (i >= LMD_SPACE_X0 && live->rows[i])
			return false;
		out->rows[i] = round_up(live->rows[i]);
	}
	return true;
}

/* Waits for everything that was submitted, and frees a graph: for when no event can be recorded. */
static void free_after_all(const struct gpu_dev *dev, gpu_stream s, gpu_exec exec)
{
	(void)dev->drv->stream_sync(s);
	(void)dev->drv->graph_free(exec);
}

/* Frees a graph once everything that was submitted to s is done.  The one that was to be freed
 * GPU_N_RETIRED calls ago is waited for. */
static void retire(struct lmd_compiled_plan *p, gpu_stream s, gpu_exec exec)
{
	const struct gpu_driver *drv = p->dev->drv;
	struct gpu_retired *r = &p->retired[p->n_retired++ % GPU_N_RETIRED];

	if (r->exec) {
		(void)drv->mark_sync(r->mark);
		(void)drv->graph_free(r->exec);
		r->exec = NULL;
	}
	if ((!r->mark && drv->mark_create(&r->mark, GPU_MARK_BLOCKING | GPU_MARK_NO_TIMING)) ||
	    drv->mark_record(r->mark, s))
		free_after_all(p->dev, s, exec);
	else
		r->exec = exec;
}

/* The graph for some rows, or the one that was used longest ago, made free. */
static struct gpu_graph *find(struct lmd_compiled_plan *p, gpu_stream s, const struct gpu_live *live)
{
	struct gpu_graph *oldest = &p->graphs[0];

	for (uint32_t i = 0; i < GPU_N_GRAPH; i++) {
		struct gpu_graph *g = &p->graphs[i];

		if (g->used && !memcmp(&g->live, live, sizeof(*live))) {
			g->seen = true;
			return g;
		}
		if (g->used < oldest->used)
			oldest = g;
	}
	if (oldest->exec)
		retire(p, s, oldest->exec);
	*oldest = (struct gpu_graph){.live = *live};
	return oldest;
}

/* Makes a graph of the launches; without one they are launched one by one from now on. */
static enum lmd_status capture(struct lmd_compiled_plan *p, gpu_stream s,
			       const struct gpu_live *live, gpu_exec *out, struct lmd_error *err)
{
	const struct gpu_driver *drv = p->dev->drv;
	gpu_captured captured = NULL;
	enum lmd_status st;
	int code = drv->capture_begin(s, GPU_CAPTURE_RELAXED);

	*out = NULL;
	if (code) {
		p->dev->no_graphs = true;
		return LMD_OK;
	}
	st = launch_all(p, s, live, err);
	code = drv->capture_end(s, &captured);
	if (st == LMD_OK && !code)
		code = drv->graph_create(out, captured, 0);
	if (captured)
		(void)drv->captured_free(captured);
	if (code) {
		*out = NULL;
		p->dev->no_graphs = true;
	}
	return st;
}

static enum lmd_status launch_graph(struct lmd_compiled_plan *p, gpu_stream s, gpu_exec exec,
				    struct lmd_error *err)
{
	return gpu_check(p->dev, p->dev->drv->graph_launch(exec, s), "a graph", err);
}

static bool has_graphs(const struct gpu_dev *dev)
{
	const struct gpu_driver *drv = dev->drv;

	return !dev->no_graphs && drv->capture_begin && drv->capture_end && drv->captured_free &&
	       drv->graph_create && drv->graph_free && drv->graph_launch;
}

enum lmd_status gpu_graph_check(const struct lmd_compiled_plan *p, struct lmd_error *err)
{
	if (!p->devgroup || p->n_launch <= GPU_MOST_QUEUED || has_graphs(p->dev))
		return LMD_OK;
	return lmd_fail(err, LMD_UNSUPPORTED,
			"%s: a step of %u launches in a group of devices needs graphs of launches, which this "
			"driver lacks; without them at most %u are possible; use --split layer",
			p->dev->vendor->name, p->n_launch, GPU_MOST_QUEUED);
}

/* Launches everything one by one. */
static enum lmd_status launch_plain(struct lmd_compiled_plan *p, gpu_stream s,
				    const struct gpu_live *live, struct lmd_error *err)
{
	enum lmd_status st = gpu_graph_check(p, err);

	return st == LMD_OK ? launch_all(p, s, live, err) : st;
}

/* Launches everything as a graph that is used once. */
static enum lmd_status run_once(struct lmd_compiled_plan *p, gpu_stream s,
				const struct gpu_live *live, struct lmd_error *err)
{
	gpu_exec exec;
	enum lmd_status st = capture(p, s, live, &exec, err);

	if (st != LMD_OK)
		return st;
	if (!exec)
		return launch_plain(p, s, live, err);
	st = launch_graph(p, s, exec, err);
	retire(p, s, exec);
	return st;
}

enum lmd_status gpu_graph_run(struct lmd_compiled_plan *p, gpu_stream s,
			      const struct gpu_live *live, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;
	struct gpu_graph *g;
	struct gpu_live rows;

	if (!has_graphs(p->dev))
		return launch_plain(p, s, live, err);
	if (!round_rows(live, &rows))
		return p->devgroup ? run_once(p, s, live, err) : launch_all(p, s, live, err);
	g = find(p, s, &rows);
	g->used = ++p->n_run;
	if (!g->exec && g->seen)
		st = capture(p, s, &g->live, &g->exec, err);
	if (st != LMD_OK)
		return st;
	if (g->exec)
		return launch_graph(p, s, g->exec, err);
	return p->devgroup && has_graphs(p->dev) ? run_once(p, s, live, err)
						 : launch_plain(p, s, live, err);
}

void gpu_graph_fini(struct lmd_compiled_plan *p)
{
	for (uint32_t i = 0; i < GPU_N_RETIRED; i++) {
		if (p->retired[i].exec)
			(void)p->dev->drv->graph_free(p->retired[i].exec);
		if (p->retired[i].mark)
			(void)p->dev->drv->mark_destroy(p->retired[i].mark);
		p->retired[i] = (struct gpu_retired){0};
	}
	for (uint32_t i = 0; i < GPU_N_GRAPH; i++) {
		if (p->graphs[i].exec)
			(void)p->dev->drv->graph_free(p->graphs[i].exec);
		p->graphs[i].exec = NULL;
	}
}
