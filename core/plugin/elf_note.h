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
 * bytes may be anything; nothing beyond bytes[0..n) is read and nothing is executed.  All
 * segments that the dynamic loader would map lie inside of the n bytes on success.
 *
 * LMD_CORRUPT      no ELF, cut short, or offsets that contradict each other
 * LMD_UNSUPPORTED  ELF of another class, byte order, type or machine; no note; two notes
 * LMD_INVALID      the note is not the layout of struct lmd_note
 * The sentence names the field, its value and the bound; *out is written on success only. */
enum lmd_status lmi_elf_note(const void *bytes, size_t n, struct lmd_note *out,
			     struct lmd_error *err);

#endif /* LLAMAD_CORE_PLUGIN_ELF_NOTE_H */
