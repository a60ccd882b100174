/* SPDX-License-Identifier: MIT
 *
 * elf_note.h - reads the llamad note from the bytes of a shared object. */
#ifndef LLAMAD_CORE_PLUGIN_ELF_NOTE_H
#define LLAMAD_CORE_PLUGIN_ELF_NOTE_H

#include <stddef.h>

#include "llamad/plugin.h"
#include "llamad/status.h"

/* Checks that the n bytes are a complete ELF64 shared object for this machine and copies its
 * section `.note.llamad` to *out.
 *
 * The bytes may be arbitrary; nothing outside bytes[0..n) is read and nothing is executed. On
 * success all segments that the dynamic loader would map lie inside the n bytes.
 *
 * LMD_CORRUPT      not ELF, truncated, or offsets that contradict each other
 * LMD_UNSUPPORTED  ELF of another class, byte order, type or machine; no note; two notes
 * LMD_INVALID      the note does not have the layout of struct lmd_note
 * The error message names the field, its value and the limit; *out is written on success only. */
enum lmd_status lmi_elf_note(const void *bytes, size_t n, struct lmd_note *out,
			     struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_ELF_NOTE_H */
