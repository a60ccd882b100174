/* SPDX-License-Identifier: MIT
 *
 * comma_list.h - words with commas between.  Blanks and tabs around a word do not belong to it.
 *
 *     const char *rest = lmi_comma_list_begin(list);
 *     struct lmd_str word;
 *
 *     while (lmi_comma_list_next(&rest, &word))
 *
 * A word is empty where nothing is between two commas, before the first or after the last one: "a,,b,"
 * has four words.  The callers refuse or skip them. */
#ifndef LLAMAD_CORE_BASE_COMMA_LIST_H
#define LLAMAD_CORE_BASE_COMMA_LIST_H

#include <stdbool.h>

#include "llamad/types.h"

/* Returns the rest of a list before its first word; NULL if the list is NULL or has only blanks. */
const char *lmi_comma_list_begin(const char *list);
/* Takes the next word off the rest.  Returns false after the last one. */
bool lmi_comma_list_next(const char **rest, struct lmd_str *word);
/* Returns whether the list has the word. */
bool lmi_comma_list_has(const char *list, const char *word);

#endif /* LLAMAD_CORE_BASE_COMMA_LIST_H */
