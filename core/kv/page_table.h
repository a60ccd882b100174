/* SPDX-License-Identifier: MIT
 *
 * page_table.h - which pages hold the rows of each sequence, in one paged group.
 *
 * Row r of a sequence lies in its logical page r / page_tokens.  Pages may be shared by
 * sequences after a fork; a page that is about to be written and has more than one
 * reference is replaced by a copy first.  Pages wholly below the rows that anybody will
 * still look at are given back.
 *
 * The device keeps its own copy of the table, so the table remembers which entries changed
 * since they were last reported.  One thread at a time; nothing is allocated after init. */
#ifndef LLAMAD_CORE_KV_PAGE_TABLE_H
#define LLAMAD_CORE_KV_PAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kv/page_pool.h"
#include "llamad/status.h"
#include "llamad/step.h"

/* Logical pages [first, end) of a sequence are present; [dirty, dirty_end) of them were not
 * reported yet. */
struct lmi_page_span {
	uint32_t first, end;
	uint32_t dirty, dirty_end;
};

struct lmi_page_table {
	struct lmi_page_pool pool;
	uint32_t page_tokens; /* power of two */
	uint32_t n_seq, n_index;
	uint32_t *page;		    /* [n_seq][n_index] */
	struct lmi_page_span *span; /* [n_seq] */
};

/* LMD_NOMEM, or LMD_INVALID for sizes beyond LMI_PAGE_MAX. */
enum lmd_status lmi_page_table_init(struct lmi_page_table *t, uint32_t n_page, uint32_t page_tokens,
				    uint32_t n_seq, uint32_t n_index);
void lmi_page_table_fini(struct lmi_page_table *t);

/* Pages to take from the pool so that rows [row, end) of `seq` can be written; row is where
 * the sequence ends now.  The copy of a shared page counts. */
uint32_t lmi_page_table_need(const struct lmi_page_table *t, uint32_t seq, uint32_t row,
			     uint32_t end);
/* Takes them.  The pool has enough: the caller asked before.  A page that must be copied
 * before it is written is stored in *src and its copy in *dst (LMI_NO_PAGE when there is none);
 * at most the page of `row` is shared. */
void lmi_page_table_extend(struct lmi_page_table *t, uint32_t seq, uint32_t row, uint32_t end,
			   uint32_t *src, uint32_t *dst);
/* Gives back pages that hold only rows below `row`. */
void lmi_page_table_evict(struct lmi_page_table *t, uint32_t seq, uint32_t row);
/* Gives back pages that hold only rows from `row` on. */
void lmi_page_table_truncate(struct lmi_page_table *t, uint32_t seq, uint32_t row);
/* `to`, which is empty, shares the pages of rows [0, row) of `from` that are present. */
void lmi_page_table_fork(struct lmi_page_table *t, uint32_t from, uint32_t to, uint32_t row);
/* Gives everything back; the sequence is empty afterwards. */
void lmi_page_table_clear(struct lmi_page_table *t, uint32_t seq);

/* Physical row (page * page_tokens + offset) of a row that is present. */
int32_t lmi_page_table_row(const struct lmi_page_table *t, uint32_t seq, uint32_t row);

/* Writes the unreported changes of a sequence, at most n_index, and marks them reported. */
uint32_t lmi_page_table_changes(struct lmi_page_table *t, uint32_t seq, struct lmd_page_set *out);

/* Pool, spans and reference counts agree?  For tests. */
bool lmi_page_table_check(const struct lmi_page_table *t);

#endif /* LLAMAD_CORE_KV_PAGE_TABLE_H */
