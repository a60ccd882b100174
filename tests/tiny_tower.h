/* SPDX-License-Identifier: MIT
 *
 * tiny_tower.h - small vision towers, written by the tests, whose rows fit the models of tiny_model.h.
 * Their weights follow from the names of the tensors, so that tests/pictures/expected.py has the same. */
#ifndef LLAMAD_TESTS_TINY_TOWER_H
#define LLAMAD_TESTS_TINY_TOWER_H

#include <stddef.h>
#include <stdint.h>

enum lmt_tower { LMT_TOWER_IDEFICS3, LMT_TOWER_MLP, LMT_TOWER_GEMMA3, LMT_TOWER_QWEN2VL };
#define LMT_N_TOWER	4
#define LMT_TOWER_PATCH 4u

/* The value of clip.projector_type. */
const char *lmt_tower_name(enum lmt_tower kind);
/* Writes the file; fails the test if it cannot. */
void lmt_tower_write(enum lmt_tower kind, const char *path);
/* Number i that belongs to a name. */
uint32_t lmt_tower_number(const char *name, size_t i);
/* A value of the test picture, [3][h][w], whose values are counted through. */
uint8_t lmt_tower_pixel(size_t i);

#endif /* LLAMAD_TESTS_TINY_TOWER_H */
