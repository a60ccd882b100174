/* SPDX-License-Identifier: MIT
 *
 * lookup_file.h - a text file in which drafters look up how an answer goes on. */
#ifndef LLAMAD_CORE_ENGINE_LOOKUP_FILE_H
#define LLAMAD_CORE_ENGINE_LOOKUP_FILE_H

#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

struct lmi_tokenizer;
struct lmi_engine_lookup_file;

/* Bytes of a file. */
#define LMI_ENGINE_LOOKUP_FILE_BYTES (16u << 20)

/* Reads a file and tokenises it. LMD_INVALID: it is empty, too large or not UTF-8. Error messages name the
 * file. */
enum lmd_status lmi_engine_lookup_file_open(struct lmi_engine_lookup_file **out, const char *path,
					    const struct lmi_tokenizer *tok, struct lmd_error *err);
/* f may be NULL. */
void lmi_engine_lookup_file_close(struct lmi_engine_lookup_file *f);

/* Guesses as lmi_engine_history_guess does. Any thread; allocates nothing. */
uint32_t lmi_engine_lookup_file_guess(const struct lmi_engine_lookup_file *f,
				      const lmd_token *tokens, uint32_t n, uint32_t most,
				      lmd_token *out, uint32_t *length);

#endif /* LLAMAD_CORE_ENGINE_LOOKUP_FILE_H */
