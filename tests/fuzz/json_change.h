/* SPDX-License-Identifier: MIT
 *
 * json_change.h - how bytes that are not JSON change a body that is. */
#ifndef LLAMAD_TESTS_FUZZ_JSON_CHANGE_H
#define LLAMAD_TESTS_FUZZ_JSON_CHANGE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Replaces at most four values of the body.  data[0] is passed over; of each further pair of bytes the
 * first chooses the place and the second the new value. */
void fuzz_json_change(json_t *body, const uint8_t *data, size_t size);

#endif /* LLAMAD_TESTS_FUZZ_JSON_CHANGE_H */
