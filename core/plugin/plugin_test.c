/* SPDX-License-Identifier: MIT
 *
 * Files that are rejected before they run: owner and mode, links, broken ELF of every kind, notes
 * of other ABIs; and files that are rejected after loading. The canary of the sample plugins proves
 * that no code of a rejected file ran. */
#include "core/plugin/plugin_test.h"

#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/dirs.h"
#include "core/plugin/elf_note.h"
#include "core/plugin/kinds.h"
#include "core/plugin/trust.h"
#include "core/base/alloc.h"

/* Offset of the note's bytes in a file. */
static size_t note_at(const char *p, size_t n)
{
	static const char owner[8] = "llamad";
	size_t found = 0;

	for (size_t i = 12; i + 12 <= n; i++) {
		uint32_t name_bytes, magic;

		memcpy(&name_bytes, p + i - 12, 4);
		memcpy(&magic, p + i + 8, 4);
		if (!memcmp(p + i, owner, 8) && name_bytes == 7 && magic == LMD_PLUGIN_MAGIC)
			found = i - 12;
	}
	ck_assert_uint_ne(found, 0);
	return found;
}

/* ---- the note reader ---- */

START_TEST(reads_the_note)
{
	struct lmd_error err = {0};
	struct lmd_note note;
	size_t n;
	char *p = read_whole(sample("v1"), &n);

	ck_assert_msg(lmi_plugin_elf_note(p, n, &note, &err) == LMD_OK, "%s", err.text);
	ck_assert_str_eq(note.name, "sampler-sample");
	ck_assert_str_eq(note.version, "1.0");
	ck_assert_uint_eq(note.kinds, LMD_KIND_BIT(LMD_KIND_SAMPLER));
	ck_assert_uint_eq(note.abi_minor, LMD_ABI_MINOR);
	free(p);
}
END_TEST

START_TEST(every_truncation_is_refused)
{
	struct lmd_note note;
	size_t n, cases = 0;
	char *p = read_whole(sample("v1"), &n);

	for (size_t len = 0; len < n; len += len < 2048 || len + 4096 > n ? 1 : 97) {
		/* exactly that size, so that a sanitizer detects a read past the end */
		char *cut = malloc(len ? len : 1);
		struct lmd_error err = {0};

		memcpy(cut, p, len);
		ck_assert_msg(lmi_plugin_elf_note(cut, len, &note, &err) != LMD_OK, "%zu of %zu",
			      len, n);
		ck_assert(err.text[0]);
		free(cut);
		cases++;
	}
	printf("%zu lengths of %zu\n", cases, n);
	free(p);
}
END_TEST

START_TEST(random_flips_never_crash)
{
	uint64_t seed = lmd_seed("random_flips", 11);
	size_t n, at, ok = 0;
	char *p = read_whole(sample("v1"), &n), *q = malloc(n);
	Elf64_Ehdr eh;

	at = note_at(p, n);
	memcpy(&eh, p, sizeof(eh));
	for (int i = 0; i < 40000; i++) {
		const struct {
			size_t at, len;
		} areas[] = {{0, sizeof(eh)},
			     {eh.e_phoff, (size_t)eh.e_phnum * eh.e_phentsize},
			     {eh.e_shoff, (size_t)eh.e_shnum * eh.e_shentsize},
			     {at, sizeof(struct lmd_note)}};
		unsigned flips = 1 + (unsigned)(lmd_rand(&seed) % 3);
		struct lmd_error err = {0};
		struct lmd_note note;
		enum lmd_status st;

		memcpy(q, p, n);
		while (flips--) {
			unsigned a = (unsigned)(lmd_rand(&seed) % 4);

			q[areas[a].at + lmd_rand(&seed) % areas[a].len] ^=
				(char)(1 + lmd_rand(&seed) % 255);
		}
		st = lmi_plugin_elf_note(q, n, &note, &err);
		ok += st == LMD_OK;
		ck_assert(st == LMD_OK || err.text[0]);
		ck_assert(st != LMD_OK || memchr(note.name, 0, sizeof(note.name)));
	}
	/* many flips hit bytes that are not read */
	ck_assert_uint_gt(ok, 1000);
	ck_assert_uint_lt(ok, 39000);
	free(p);
	free(q);
}
END_TEST

/* ---- files in a folder ---- */

static void patch(size_t at, const void *bytes, size_t len)
{
	size_t n;
	char *p = read_whole(sample("v1"), &n);

	memcpy(p + at, bytes, len);
	write_whole(in_top("a/x.so"), p, n);
	free(p);
}

static void patch_note(size_t member, const void *bytes, size_t len)
{
	size_t n;
	char *p = read_whole(sample("v1"), &n);
	size_t at = note_at(p, n);

	free(p);
	patch(at + member, bytes, len);
}

static void patch16(size_t at, uint16_t v)
{
	patch(at, &v, sizeof(v));
}

static void good(void)
{
	copy_file(sample("v1"), in_top("a/x.so"));
}

static void make_mode(mode_t file, mode_t dir)
{
	good();
	ck_assert_int_eq(chmod(in_top("a/x.so"), file), 0);
	ck_assert_int_eq(chmod(in_top("a"), dir), 0);
}

static void all_write(void)
{
	make_mode(0666, 0755);
}

static void group_write(void)
{
	make_mode(0775, 0755);
}

static void dir_all_write(void)
{
	make_mode(0644, 0777);
}

static void dir_group_write(void)
{
	make_mode(0644, 0775);
}

static void sticky_dir(void)
{
	make_mode(0644, 01777);
}

static void link_to_file(void)
{
	copy_file(sample("v1"), in_top("b/real"));
	ck_assert_int_eq(symlink(in_top("b/real"), in_top("a/x.so")), 0);
}

static void dangling_link(void)
{
	ck_assert_int_eq(symlink("/nowhere/at/all", in_top("a/x.so")), 0);
}

static void pipe_file(void)
{
	ck_assert_int_eq(mkfifo(in_top("a/x.so"), 0600), 0);
}

static void folder(void)
{
	ck_assert_int_eq(mkdir(in_top("a/x.so"), 0755), 0);
}

static void empty(void)
{
	write_whole(in_top("a/x.so"), "", 0);
}

static void text(void)
{
	write_whole(in_top("a/x.so"), "int main;\n", 10);
}

static void half(void)
{
	size_t n;
	char *p = read_whole(sample("v1"), &n);

	write_whole(in_top("a/x.so"), p, n / 2);
	free(p);
}

static void machine(void)
{
	patch16(offsetof(Elf64_Ehdr, e_machine), EM_S390);
}

static void class32(void)
{
	patch(EI_CLASS, "\1", 1);
}

static void big_endian(void)
{
	patch(EI_DATA, "\2", 1);
}

static void executable(void)
{
	patch16(offsetof(Elf64_Ehdr, e_type), ET_EXEC);
}

static void many_sections(void)
{
	patch16(offsetof(Elf64_Ehdr, e_shnum), 0xFF00);
}

static void no_sections(void)
{
	patch16(offsetof(Elf64_Ehdr, e_shnum), 0);
}

static void names_section(void)
{
	patch16(offsetof(Elf64_Ehdr, e_shstrndx), 999);
}

static void sections_outside(void)
{
	uint64_t v = 1u << 30;

	patch(offsetof(Elf64_Ehdr, e_shoff), &v, sizeof(v));
}

#define TEXT_OF(x) #x
#define TEXT(macro) TEXT_OF(macro)

static void abi_minor(void)
{
	uint16_t v = LMD_ABI_MINOR + 1;

	patch_note(offsetof(struct lmd_note, abi_minor), &v, 2);
}

static void abi_major(void)
{
	uint16_t v = LMD_ABI_MAJOR + 3;

	patch_note(offsetof(struct lmd_note, abi_major), &v, 2);
}

static void note_magic(void)
{
	patch_note(offsetof(struct lmd_note, magic), "\0\0\0\0", 4);
}

static void note_owner(void)
{
	patch_note(offsetof(struct lmd_note, owner), "llamaX", 6);
}

static void note_size(void)
{
	patch_note(offsetof(struct lmd_note, desc_bytes), "\0\0\0\0", 4);
}

static void note_name_open(void)
{
	char name[48];

	memset(name, 'a', sizeof(name));
	patch_note(offsetof(struct lmd_note, name), name, sizeof(name));
}

static void note_name_bad(void)
{
	patch_note(offsetof(struct lmd_note, name), "Sampler/../x", 13);
}

static void note_version(void)
{
	patch_note(offsetof(struct lmd_note, version), "1 0", 4);
}

static void note_kinds_none(void)
{
	patch_note(offsetof(struct lmd_note, kinds), "\0\0\0\0", 4);
}

static void note_kinds_unknown(void)
{
	uint32_t v = LMD_KIND_BIT(31);

	patch_note(offsetof(struct lmd_note, kinds), &v, 4);
}

/* Makes a segment extend beyond the file. */
static void segment_outside(void)
{
	size_t n;
	char *p = read_whole(sample("v1"), &n);
	Elf64_Phdr ph;
	Elf64_Ehdr eh;

	memcpy(&eh, p, sizeof(eh));
	memcpy(&ph, p + eh.e_phoff, sizeof(ph));
	ck_assert_uint_eq(ph.p_type, PT_LOAD);
	ph.p_filesz = ph.p_memsz = n + 1;
	memcpy(p + eh.e_phoff, &ph, sizeof(ph));
	write_whole(in_top("a/x.so"), p, n);
	free(p);
}

static void lacks_member(void)
{
	copy_file(sample("lacks_apply"), in_top("a/x.so"));
}

static void bad_magic(void)
{
	copy_file(sample("bad_magic"), in_top("a/x.so"));
}

static void unresolved(void)
{
	copy_file(sample("unresolved"), in_top("a/x.so"));
}

static void renamed_note(void)
{
	patch_note(offsetof(struct lmd_note, name), "sampler-simple", 15);
}

static void other_kind(void)
{
	uint32_t v = LMD_KIND_BIT(LMD_KIND_TOKENIZER) | LMD_KIND_BIT(LMD_KIND_SAMPLER);

	patch_note(offsetof(struct lmd_note, kinds), &v, 4);
}

static const struct {
	void (*make)(void);
	const char *says;
	bool runs; /* its constructor runs before the fault can be detected */
} refusals[] = {
	{all_write, "file is writable by everybody (mode 0666)", false},
	{group_write, "file is writable by its group (mode 0775)", false},
	{dir_all_write, "its folder is writable by everybody (mode 0777)", false},
	{dir_group_write, "its folder is writable by its group (mode 0775)", false},
	{sticky_dir, "its folder is writable by everybody (mode 1777)", false},
	{link_to_file, "is a symbolic link", false},
	{dangling_link, "is a symbolic link", false},
	{pipe_file, "not a regular file", false},
	{folder, "not a regular file", false},
	{empty, "the file is empty", false},
	{text, "not an ELF file", false},
	{half, "beyond the file's", false},
	{machine, "built for machine s390 (22), but this machine is", false},
	{class32, "ELF class 1 is not supported, must be 2 (64 bit)", false},
	{big_endian, "ELF byte order 2 differs from this machine's", false},
	{executable, "ELF type 2 is not a shared object", false},
	{many_sections, "65280 section headers, must be 1..4096", false},
	{no_sections, "0 section headers, must be", false},
	{names_section, "section names are in section 999, but there are only", false},
	{sections_outside, "section headers at offset 1073741824 end beyond the file's", false},
	{segment_outside, "segment 0 (offset 0", false},
	{abi_minor, ", but this program has 0." TEXT(LMD_ABI_MINOR), false},
	{abi_major, "built for plugin ABI 3." TEXT(LMD_ABI_MINOR) ", but this program has 0.", false},
	{note_magic, "note: magic is 0, must be 0x444d4c6c", false},
	{note_owner, "note: owner and type are not", false},
	{note_size, "note: description has 0 bytes, must be 96", false},
	{note_name_open, "note: invalid name", false},
	{note_name_bad, "note: invalid name 'Sampler/../x'", false},
	{note_version, "note: invalid version", false},
	{note_kinds_none, "note: kinds 0 contain", false},
	{note_kinds_unknown, "note: kinds 0x80000000 contain", false},
	{lacks_member, "lacks the mandatory member 'apply'", true},
	{bad_magic, "llamad_plugin: magic is 0x12345678", true},
	{renamed_note, "the note says sampler-simple 1.0, but llamad_plugin says sampler-sample",
		       true},
	{other_kind, "the note says kinds 0x18, but the factories have 0x10", true},
	{unresolved, "undefined symbol: no_such_function", false},
};

START_TEST(refused_with_a_sentence)
{
	const char *says = refusals[_i].says;
	struct lmi_plugin_registry *r;
	struct lmd_error why;
	struct row row;

	refusals[_i].make();
	r = open_registry();
	ck_assert_int_eq(version_now(r, "test-sample", &why), -1);
	ck_assert_msg(strstr(why.text, "a/x.so was rejected: ") && strstr(why.text, says), "%s",
		      why.text);
	ck_assert_msg(strstr(why.text, "no plugin offers sampler 'test-sample'") != NULL, "%s",
		      why.text);
	row = find_row(r, "a/x.so");
	ck_assert_int_eq(row.n, 1);
	ck_assert_str_eq(row.state, "refused");
	ck_assert_msg(strstr(row.reason, says) != NULL, "%s", row.reason);
	ck_assert_int_eq(canary_count(), refusals[_i].runs);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(canary_of_a_good_one)
{
	struct lmi_plugin_registry *r;

	good();
	r = open_registry();
	ck_assert_int_eq(canary_count(), 0); /* found and checked, but not requested */
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	ck_assert_int_eq(canary_count(), 1);
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(a_fault_that_goes_away)
{
	struct lmi_plugin_registry *r;

	make_mode(0666, 0777);
	r = open_registry();
	ck_assert_int_eq(version_now(r, "test-sample", NULL), -1);
	ck_assert_int_eq(chmod(in_top("a"), 0755), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), -1);
	ck_assert_int_eq(chmod(in_top("a/x.so"), 0644), 0);
	ck_assert_int_eq(version_now(r, "test-sample", NULL), 1);
	ck_assert_str_eq(find_row(r, "x.so").state, "loaded");
	lmi_plugin_registry_destroy(r);
}
END_TEST

START_TEST(flipped_notes_in_files)
{
	uint64_t seed = lmd_seed("flipped_notes", 5);
	size_t n, at;
	char *p = read_whole(sample("v1"), &n);

	at = note_at(p, n);
	for (int i = 0; i < 60; i++) {
		struct lmi_plugin_registry *r;
		size_t k = at + lmd_rand(&seed) % sizeof(struct lmd_note);
		char old = p[k];

		p[k] ^= (char)(1 + lmd_rand(&seed) % 255);
		write_whole(in_top("a/x.so"), p, n);
		p[k] = old;
		r = open_registry();
		(void)version_now(r, "test-sample", NULL);
		lmi_plugin_registry_destroy(r);
	}
	free(p);
}
END_TEST

START_TEST(names_that_are_no_plugins)
{
	static const char *const names[] = {"a/.x.so", "a/.so", "a/x.so.1", "a/x.so~", "a/so",
					    "a/x.la"};
	struct lmi_plugin_registry *r;

	for (size_t i = 0; i < LMD_LEN(names); i++)
		copy_file(sample("v1"), in_top(names[i]));
	r = open_registry();
	for (size_t i = 0; i < LMD_LEN(names); i++)
		ck_assert_int_eq(find_row(r, names[i] + 1).n, 0);
	lmi_plugin_registry_destroy(r);
}
END_TEST

/* ---- trust rules as functions ---- */

START_TEST(trust_rules)
{
	static const struct {
		enum lmi_plugin_trust trust;
		uid_t euid, owner;
		mode_t mode;
		bool ok;
	} rules[] = {
		{LMI_PLUGIN_TRUST_OWNER, 1000, 1000, 0644, true},
		{LMI_PLUGIN_TRUST_OWNER, 1000, 0, 0755, true},
		{LMI_PLUGIN_TRUST_OWNER, 1000, 1001, 0644, false},
		{LMI_PLUGIN_TRUST_OWNER, 0, 1000, 0644, false},
		{LMI_PLUGIN_TRUST_OWNER, 1000, 1000, 0664, false},
		{LMI_PLUGIN_TRUST_OWNER, 1000, 0, 0646, false},
		{LMI_PLUGIN_TRUST_SYSTEM, 1000, 0, 0644, true},
		{LMI_PLUGIN_TRUST_SYSTEM, 0, 0, 0644, true},
		{LMI_PLUGIN_TRUST_SYSTEM, 1000, 1000, 0644, false},
		{LMI_PLUGIN_TRUST_SYSTEM, 1000, 0, 0664, false},
	};

	for (size_t i = 0; i < LMD_LEN(rules); i++) {
		struct lmd_error err = {0};
		enum lmd_status st = lmi_plugin_trust_check_mode(
			rules[i].trust, rules[i].euid, rules[i].owner, rules[i].mode, "file", &err);

		ck_assert_msg((st == LMD_OK) == rules[i].ok, "rule %zu: %s", i, err.text);
	}
}
END_TEST

START_TEST(default_folders)
{
	char *dirs[LMI_PLUGIN_MAX_DEFAULT_DIRS], exe[PATH_ROOM], want[PATH_ROOM];
	char command[PATH_ROOM * 2];

	snprintf(command, sizeof(command),
		 "mkdir -p %s/p/bin %s/p/lib/llamad/plugins %s/b/plugins/.libs", top, top, top);
	ck_assert_int_eq(system(command), 0);
	/* installed and then moved */
	snprintf(exe, sizeof(exe), "%s/p/bin/llamactl", top);
	snprintf(want, sizeof(want), "%s/p/lib/llamad/plugins", top);
	ck_assert_int_eq(lmi_plugin_default_dirs(exe, "/opt/x/plugins", dirs), 2);
	ck_assert_str_eq(dirs[0], want);
	ck_assert_str_eq(dirs[1], "/opt/x/plugins");
	lmi_free(dirs[0]);
	lmi_free(dirs[1]);
	/* installed where configure said */
	ck_assert_int_eq(lmi_plugin_default_dirs(exe, want, dirs), 1);
	ck_assert_str_eq(dirs[0], want);
	lmi_free(dirs[0]);
	/* a build tree, also through libtool's wrapper */
	snprintf(want, sizeof(want), "%s/b/plugins/.libs", top);
	snprintf(exe, sizeof(exe), "%s/b/llamactl", top);
	ck_assert_int_eq(lmi_plugin_default_dirs(exe, "/opt/x/plugins", dirs), 1);
	ck_assert_str_eq(dirs[0], want);
	lmi_free(dirs[0]);
	snprintf(exe, sizeof(exe), "%s/b/.libs/llamactl", top);
	ck_assert_int_eq(lmi_plugin_default_dirs(exe, "/opt/x/plugins", dirs), 1);
	ck_assert_str_eq(dirs[0], want);
	lmi_free(dirs[0]);
	/* elsewhere, or unknown */
	snprintf(exe, sizeof(exe), "%s/llamactl", top);
	ck_assert_int_eq(lmi_plugin_default_dirs(exe, "/opt/x/plugins", dirs), 1);
	ck_assert_str_eq(dirs[0], "/opt/x/plugins");
	lmi_free(dirs[0]);
	ck_assert_int_eq(lmi_plugin_default_dirs(NULL, "/opt/x/plugins", dirs), 1);
	lmi_free(dirs[0]);
}
END_TEST

START_TEST(names)
{
	static const char *const good_names[] = {"a", "7b", "llama", "q4_k", "deepseek2.mla-x"};
	static const char *const bad_names[] = {
		"",    "A",   "_a",       "-a", ".a",
		"a b", "a/b", "\xC3\xA9", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

	for (size_t i = 0; i < LMD_LEN(good_names); i++)
		ck_assert_msg(lmi_plugin_name_ok(good_names[i]), "%s", good_names[i]);
	for (size_t i = 0; i < LMD_LEN(bad_names); i++)
		ck_assert_msg(!lmi_plugin_name_ok(bad_names[i]), "%s", bad_names[i]);
	ck_assert(lmi_plugin_name_ok(bad_names[8] + 1)); /* 48 characters */
}
END_TEST

static enum lmd_status any_init(void *state, const struct lmd_sampler_init *init,
				struct lmd_error *err)
{
	(void)state;
	(void)init;
	(void)err;
	return LMD_OK;
}

static void any_apply(void *state, struct lmd_cands *c)
{
	(void)state;
	(void)c;
}

static void any_accept(void *state, lmd_token token, bool prompt)
{
	(void)state;
	(void)token;
	(void)prompt;
}

START_TEST(tables_of_other_sizes)
{
	const struct lmi_plugin_kind *kind = lmi_plugin_kind(LMD_KIND_SAMPLER);
	struct {
		struct lmd_sampler_ops ops;
		void *newer[4];
	} big = {.ops = {.init = any_init, .apply = any_apply}, .newer = {&big, &big, &big, &big}};
	struct {
		struct lmd_sampler_ops ops;
		uint64_t guard;
	} out = {.guard = 42};
	struct lmd_error err = {0};

	/* from a newer minor version: the end is cut off */
	big.ops.struct_size = sizeof(big);
	ck_assert_int_eq(lmi_plugin_ops_table_adapt(kind, &big, &out.ops, &err), LMD_OK);
	ck_assert_uint_eq(out.ops.struct_size, sizeof(struct lmd_sampler_ops));
	ck_assert(out.ops.apply == any_apply && out.guard == 42);
	/* from an older minor version: missing members are NULL, whatever follows the table */
	memset(&out.ops, 0, sizeof(out.ops));
	big.ops.accept = any_accept;
	big.ops.struct_size = offsetof(struct lmd_sampler_ops, accept);
	ck_assert_int_eq(lmi_plugin_ops_table_adapt(kind, &big, &out.ops, &err), LMD_OK);
	ck_assert(out.ops.apply == any_apply && !out.ops.accept && !out.ops.reset);
	/* too short for a mandatory member */
	memset(&out.ops, 0, sizeof(out.ops));
	big.ops.struct_size = offsetof(struct lmd_sampler_ops, apply);
	ck_assert_int_eq(lmi_plugin_ops_table_adapt(kind, &big, &out.ops, &err), LMD_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "mandatory member 'apply'"));
	/* impossible sizes */
	big.ops.struct_size = 3;
	ck_assert_int_eq(lmi_plugin_ops_table_adapt(kind, &big, &out.ops, &err), LMD_INVALID);
	big.ops.struct_size = 1u << 30;
	ck_assert_int_eq(lmi_plugin_ops_table_adapt(kind, &big, &out.ops, &err), LMD_INVALID);
	ck_assert_int_eq(lmi_plugin_ops_table_adapt(kind, NULL, &out.ops, &err), LMD_INVALID);
}
END_TEST

/* Every mandatory member of every kind is reported if it is missing. */
START_TEST(each_mandatory_member)
{
	unsigned members = 0;

	for (uint32_t k = 1; k <= LMD_KIND_FORMAT; k++) {
		const struct lmi_plugin_kind *kind = lmi_plugin_kind(k);

		ck_assert_ptr_nonnull(kind);
		for (uint32_t skip = 0; skip < kind->n_must; skip++, members++) {
			char table[4096] = {0}, out[4096] = {0};
			uint32_t size = (uint32_t)kind->ops_bytes;
			struct lmd_error err = {0};
			void *set = (void *)table;

			ck_assert_uint_le(size, sizeof(table));
			memcpy(table, &size, sizeof(size));
			for (uint32_t i = 0; i < kind->n_must; i++)
				if (i != skip)
					memcpy(table + kind->must[i].offset, &set, sizeof(set));
			ck_assert_int_eq(lmi_plugin_ops_table_adapt(kind, table, out, &err),
					 LMD_INVALID);
			ck_assert_msg(strstr(err.text, kind->must[skip].name) != NULL, "%s",
				      err.text);
		}
	}
	ck_assert_uint_eq(members, 14 + 2 + 5 + 2 + 2);
	ck_assert_ptr_null(lmi_plugin_kind(0));
	ck_assert_ptr_null(lmi_plugin_kind(LMD_KIND_FORMAT + 1));
	ck_assert_str_eq(lmi_plugin_kind_id(LMD_KIND_ARCH), "arch");
	ck_assert_ptr_null(lmi_plugin_kind_id(LMD_KIND_FORMAT + 1));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plugin checks");
	TCase *t = tcase_create("checks");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, reads_the_note);
	tcase_add_test(t, every_truncation_is_refused);
	tcase_add_test(t, random_flips_never_crash);
	tcase_add_loop_test(t, refused_with_a_sentence, 0, (int)LMD_LEN(refusals));
	tcase_add_test(t, canary_of_a_good_one);
	tcase_add_test(t, a_fault_that_goes_away);
	tcase_add_test(t, flipped_notes_in_files);
	tcase_add_test(t, names_that_are_no_plugins);
	tcase_add_test(t, trust_rules);
	tcase_add_test(t, default_folders);
	tcase_add_test(t, names);
	tcase_add_test(t, tables_of_other_sizes);
	tcase_add_test(t, each_mandatory_member);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
