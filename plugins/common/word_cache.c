/* SPDX-License-Identifier: MIT
 *
 * Size of the word cache. Each call zeroes its own table, so the size grows with the text, up to
 * 512 KiB. */
#include "common/word_cache.h"

#define SLOTS_MIN 256
#define SLOTS_MAX 8192
#define SLOT_TEXT 256 /* bytes of text per slot */

bool lmi_word_table(const struct lmi_job *j, struct lmi_buf *table)
{
	size_t slots = SLOTS_MIN;

	while (slots < SLOTS_MAX && slots * SLOT_TEXT <= j->text_bytes)
		slots *= 2;
	return lmi_buf_need(table, j->host, slots * sizeof(struct lmi_word_slot));
}
