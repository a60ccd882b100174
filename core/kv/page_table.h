/* SPDX-License-Identifier: MIT
 *
 * page_table.h - maps the rows of each sequence to pages, for one paged group.
 *
 * Row r of a sequence lies in its logical page r / page_tokens.  Sequences may share pages
 * after a fork.  A page with more than one reference is replaced by a copy before it is
 * written (copy on write), and so is one whose node has rows that would be overwritten, if there is
 * a free page; otherwise it loses its node.  Pages that lie wholly before the rows still needed are freed.
 *
 * The device keeps its own copy of the table, so the table records which entries have changed
 * since they were last reported.  Not thread-safe; nothing is allocated after init. */
#ifndef LLAMAD_CORE_KV_PAGE_TABLE_H
#define LLAMAD_CORE_KV_PAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/page_pool.h"
#include "llamad/status.h"
#include "llamad/step.h"

/* Logical pages [first, end) of a sequence are present; of these, [dirty, dirty_end) have not
 * been reported yet. */
struct lmi_kv_page_span {
	uint32_t first, end;
	uint32_t dirty, dirty_end;
};

struct lmi_kv_page_table {
	struct lmi_kv_page_pool pool;
	uint32_t page_tokens; /* power of two */
	uint32_t n_seq, n_index;
	uint32_t *page;		    /* [n_seq][n_index] */
	struct lmi_kv_page_span *span; /* [n_seq] */
};

/* Returns LMD_NOMEM, or LMD_INVALID if n_page or n_seq * n_index exceeds LMI_KV_PAGE_MAX, or n_page
 * * page_tokens exceeds INT32_MAX. */
enum lmd_status lmi_kv_page_table_init(struct lmi_kv_page_table *t, uint32_t n_page,
				       uint32_t page_tokens, uint32_t n_seq, uint32_t n_index);
void lmi_kv_page_table_fini(struct lmi_kv_page_table *t);

/* Number of pages that the pool must have free so that rows [row, end) of `seq` can be written,
 * including the copy of a shared page.  row: the present end of the sequence. */
uint32_t lmi_kv_page_table_need(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t row,
				uint32_t end);
/* Takes those pages; the caller has checked that the pool has lmi_kv_page_table_need() of them.  If
 * the page of `row` is shared and must be copied before it is written, stores it in *src and its
 * copy in *dst; otherwise stores LMI_KV_NO_PAGE in both.  No later page is shared. */
void lmi_kv_page_table_extend(struct lmi_kv_page_table *t, uint32_t seq, uint32_t row, uint32_t end,
			      uint32_t *src, uint32_t *dst);
/* Frees pages that hold only rows below `row`. */
void lmi_kv_page_table_evict(struct lmi_kv_page_table *t, uint32_t seq, uint32_t row);
/* Frees pages that hold only rows from `row` on. */
void lmi_kv_page_table_truncate(struct lmi_kv_page_table *t, uint32_t seq, uint32_t row);
/* Adds a page in front of those of a sequence, or as its first one; it gets a reference. */
void lmi_kv_page_table_put_in_front(struct lmi_kv_page_table *t, uint32_t seq, uint32_t index,
				    uint32_t page);
/* Returns the page of a logical page, or LMI_KV_NO_PAGE if it is not present. */
uint32_t lmi_kv_page_table_page(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t index);
/* Makes `to`, which must be empty, share the present pages of rows [0, row) of `from`. */
void lmi_kv_page_table_fork(struct lmi_kv_page_table *t, uint32_t from, uint32_t to, uint32_t row);
/* Frees all pages of the sequence. */
void lmi_kv_page_table_clear(struct lmi_kv_page_table *t, uint32_t seq);

/* Physical row (page * page_tokens + offset) of a row, which must be present. */
int32_t lmi_kv_page_table_row(const struct lmi_kv_page_table *t, uint32_t seq, uint32_t row);

/* Marks the unreported changes of a sequence reported; returns the pages from index span.dirty on. */
const uint32_t *lmi_kv_page_table_take_run(struct lmi_kv_page_table *t, uint32_t seq);
/* Stores the unreported changes of a sequence in `out` and marks them reported.  Returns their
 * number, at most n_index. */
uint32_t lmi_kv_page_table_changes(struct lmi_kv_page_table *t, uint32_t seq,
				   struct lmd_page_set *out);

/* Do pool, spans and reference counts agree?  For tests. */
bool lmi_kv_page_table_check(const struct lmi_kv_page_table *t);

#endif /* LLAMAD_CORE_KV_PAGE_TABLE_H */
