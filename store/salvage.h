/* SPDX-License-Identifier: MIT
 *
 * salvage.h - copies the rows that can still be read from a corrupt database. */
#ifndef LLAMAD_STORE_SALVAGE_H
#define LLAMAD_STORE_SALVAGE_H

#include <stdint.h>

#include "store/db.h"

/* Copies rows of all tables from the database `path` to the open, empty store.  Rows that cannot be
 * read or that contradict the rules of the schema are left out; so is everything if the file is not
 * a database any more.  Never fails: what was copied is valid.  Returns the number of rows. */
uint64_t lmi_store_salvage(struct lmi_store *to, const char *path, const char *vfs);

#endif /* LLAMAD_STORE_SALVAGE_H */
