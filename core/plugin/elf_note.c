/* SPDX-License-Identifier: MIT
 *
 * A bounds-checked reader of ELF64: header, program headers, section headers, one section. Every
 * offset and count is checked against the file's length before it is used, and every struct is
 * copied out, because nothing in a file need be aligned. */
#include "core/plugin/elf_note.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "core/base/checked.h"

/* More than any linker produces; limits the work on a hostile file. */
#define MAX_HEADERS 4096u

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#else
#error "name this machine's ELF number"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

struct image {
	const unsigned char *bytes;
	uint64_t n;
	struct lmd_error *err;
};

/* Copies len bytes from offset `at`; returns false beyond the end. */
static bool copy_at(const struct image *im, uint64_t at, void *out, uint64_t len)
{
	uint64_t end;

	if (!lmi_add_ok(at, len, &end) || end > im->n)
		return false;
	memcpy(out, im->bytes + at, (size_t)len);
	return true;
}

static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_X86_64:
		return "x86-64";
	case EM_ARM:
		return "arm";
	case EM_AARCH64:
		return "aarch64";
	case EM_RISCV:
		return "riscv";
	case EM_PPC64:
		return "ppc64";
	case EM_S390:
		return "s390";
	default:
		return "unknown";
	}
}

static enum lmd_status check_ident(const struct image *im, Elf64_Ehdr *eh)
{
	if (!copy_at(im, 0, eh, EI_NIDENT) || memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return lmd_fail(im->err, LMD_CORRUPT, "not an ELF file");
	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return lmd_fail(im->err, LMD_UNSUPPORTED,
				"ELF class %d is not supported, must be 2 (64 bit)",
				eh->e_ident[EI_CLASS]);
	if (eh->e_ident[EI_DATA] != OWN_DATA)
		return lmd_fail(im->err, LMD_UNSUPPORTED,
				"ELF byte order %d differs from this machine's (%d)",
				eh->e_ident[EI_DATA], OWN_DATA);
	if (!copy_at(im, 0, eh, sizeof(*eh)))
		return lmd_fail(im->err, LMD_CORRUPT, "ELF header is truncated: the file has only "
						      "%llu bytes",
				(unsigned long long)im->n);
	if (eh->e_machine != OWN_MACHINE)
		return lmd_fail(im->err, LMD_UNSUPPORTED,
				"built for machine %s (%u), but this machine is %s (%u)",
				machine_name(eh->e_machine), eh->e_machine,
				machine_name(OWN_MACHINE), (unsigned)OWN_MACHINE);
	if (eh->e_type != ET_DYN)
		return lmd_fail(im->err, LMD_UNSUPPORTED,
				"ELF type %u is not a shared object (%d)", eh->e_type, ET_DYN);
	return LMD_OK;
}

/* Checks a table of `count` headers of `size` bytes each: it must lie inside the file, and the
 * header size must be the expected one. */
static enum lmd_status check_table(const struct image *im, const char *what, uint64_t at,
				   uint64_t count, uint64_t size, uint64_t want)
{
	uint64_t bytes, end;

	if (size != want)
		return lmd_fail(im->err, LMD_CORRUPT, "size of %s headers is %llu bytes, must be "
						      "%llu", what,
				(unsigned long long)size, (unsigned long long)want);
	if (!count || count > MAX_HEADERS)
		return lmd_fail(im->err, LMD_CORRUPT, "%llu %s headers, must be 1..%u",
				(unsigned long long)count, what, MAX_HEADERS);
	if (!lmi_mul_ok(count, size, &bytes) || !lmi_add_ok(at, bytes, &end) || end > im->n)
		return lmd_fail(im->err, LMD_CORRUPT,
				"%llu %s headers at offset %llu end beyond the file's %llu bytes",
				(unsigned long long)count, what, (unsigned long long)at,
				(unsigned long long)im->n);
	return LMD_OK;
}

/* Touching pages that are mapped beyond the end of a file raises SIGBUS. */
static enum lmd_status check_segments(const struct image *im, const Elf64_Ehdr *eh)
{
	enum lmd_status st = check_table(im, "program", eh->e_phoff, eh->e_phnum,
					 eh->e_phentsize, sizeof(Elf64_Phdr));

	for (unsigned i = 0; st == LMD_OK && i < eh->e_phnum; i++) {
		Elf64_Phdr ph;
		uint64_t end, top;

		(void)copy_at(im, eh->e_phoff + i * sizeof(ph), &ph, sizeof(ph));
		if (ph.p_type != PT_LOAD && ph.p_type != PT_DYNAMIC && ph.p_type != PT_TLS)
			continue;
		if (!lmi_add_ok(ph.p_offset, ph.p_filesz, &end) || end > im->n)
			st = lmd_fail(im->err, LMD_CORRUPT,
				      "segment %u (offset %llu, %llu bytes) ends beyond the file's "
				      "%llu bytes",
				      i, (unsigned long long)ph.p_offset,
				      (unsigned long long)ph.p_filesz, (unsigned long long)im->n);
		else if (ph.p_filesz > ph.p_memsz || !lmi_add_ok(ph.p_vaddr, ph.p_memsz, &top))
			st = lmd_fail(im->err, LMD_CORRUPT,
				      "segment %u: %llu bytes in the file, %llu in memory at %#llx",
				      i, (unsigned long long)ph.p_filesz,
				      (unsigned long long)ph.p_memsz,
				      (unsigned long long)ph.p_vaddr);
	}
	return st;
}

/* Returns true if the string at `at` in the section of names equals `want`. */
static bool name_is(const struct image *im, const Elf64_Shdr *names, uint64_t at, const char *want)
{
	size_t len = strlen(want) + 1;
	char text[32];

	return at <= names->sh_size && len <= names->sh_size - at &&
	       copy_at(im, names->sh_offset + at, text, len) && !memcmp(text, want, len);
}

static enum lmd_status find_section(const struct image *im, const Elf64_Ehdr *eh, Elf64_Shdr *out)
{
	Elf64_Shdr names, sh;
	unsigned found = 0;
	uint64_t end;
	enum lmd_status st = check_table(im, "section", eh->e_shoff, eh->e_shnum, eh->e_shentsize,
					 sizeof(Elf64_Shdr));

	if (st != LMD_OK)
		return st;
	if (eh->e_shstrndx >= eh->e_shnum)
		return lmd_fail(im->err, LMD_CORRUPT,
				"section names are in section %u, but there are only %u sections",
				eh->e_shstrndx, eh->e_shnum);
	(void)copy_at(im, eh->e_shoff + eh->e_shstrndx * sizeof(names), &names, sizeof(names));
	if (!lmi_add_ok(names.sh_offset, names.sh_size, &end) || end > im->n)
		return lmd_fail(im->err, LMD_CORRUPT,
				"section names end beyond the file's %llu bytes",
				(unsigned long long)im->n);
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		(void)copy_at(im, eh->e_shoff + i * sizeof(sh), &sh, sizeof(sh));
		if (sh.sh_type == SHT_NOBITS || !name_is(im, &names, sh.sh_name, ".note.llamad"))
			continue;
		*out = sh;
		found++;
	}
	if (found != 1)
		return lmd_fail(im->err, LMD_UNSUPPORTED,
				found ? "%u sections .note.llamad, must be exactly one"
				      : "not a llamad plugin: section .note.llamad is missing",
				found);
	return LMD_OK;
}

/* Checks a fixed-size text: terminated inside its room, not empty, printable, no blanks. */
static bool is_word(const char *s, size_t room)
{
	size_t n = strnlen(s, room);

	if (!n || n == room)
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return true;
}

static enum lmd_status check_note(const struct image *im, const struct lmd_note *note)
{
	static const char owner[8] = "llamad";

	if (note->name_bytes != 7 || memcmp(note->owner, owner, sizeof(owner)) ||
	    note->type != LMD_NOTE_TYPE)
		return lmd_fail(im->err, LMD_INVALID,
				"note: owner and type are not \"llamad\" and %d", LMD_NOTE_TYPE);
	if (note->desc_bytes != sizeof(*note) - offsetof(struct lmd_note, magic))
		return lmd_fail(im->err, LMD_INVALID, "note: description has %u bytes, must be %zu",
				note->desc_bytes, sizeof(*note) - offsetof(struct lmd_note, magic));
	if (note->magic != LMD_PLUGIN_MAGIC)
		return lmd_fail(im->err, LMD_INVALID, "note: magic is %#x, must be %#x",
				note->magic, LMD_PLUGIN_MAGIC);
	if (!is_word(note->name, sizeof(note->name)))
		return lmd_fail(im->err, LMD_INVALID, "note: invalid name");
	if (!is_word(note->version, sizeof(note->version)))
		return lmd_fail(im->err, LMD_INVALID, "note: invalid version");
	return LMD_OK;
}

enum lmd_status lmi_elf_note(const void *bytes, size_t n, struct lmd_note *out,
			     struct lmd_error *err)
{
	struct image im = {bytes, n, err};
	struct lmd_note note;
	Elf64_Shdr sh = {0};
	Elf64_Ehdr eh;
	enum lmd_status st;

	st = check_ident(&im, &eh);
	if (st == LMD_OK)
		st = check_segments(&im, &eh);
	if (st == LMD_OK)
		st = find_section(&im, &eh, &sh);
	if (st != LMD_OK)
		return st;
	if (sh.sh_size != sizeof(note) || !copy_at(&im, sh.sh_offset, &note, sizeof(note)))
		return lmd_fail(err, LMD_INVALID,
				"section .note.llamad has %llu bytes at offset %llu in a file of "
				"%zu bytes; the note has %zu",
				(unsigned long long)sh.sh_size, (unsigned long long)sh.sh_offset, n,
				sizeof(note));
	st = check_note(&im, &note);
	if (st == LMD_OK)
		*out = note;
	return st;
}
