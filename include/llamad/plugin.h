/* SPDX-License-Identifier: MIT
 *
 * plugin.h - what a plugin exports.
 *
 * A plugin is one shared object with exactly one exported symbol, the *data* symbol
 * `llamad_plugin`, and one ELF note `.note.llamad` of fixed layout.  The host reads the note from
 * the file's bytes before dlopen, so a plugin of the wrong ABI, owner or kind is rejected before
 * any of its code runs.  The descriptor lists factories.  A factory provides one thing of one kind
 * (one architecture, one sampler, ...); one object may contain many.
 *
 * A plugin does not link against llamad.  The services it needs come as tables: struct lmd_host
 * (host.h) and, for architectures, struct lmd_builder (plan.h).
 *
 *     static const struct lmd_factory factories[] = { {
 *         .struct_size = sizeof(struct lmd_factory), .kind = LMD_KIND_SAMPLER,
 *         .name = "greedy", .ops = &greedy_ops } };
 *     LMD_PLUGIN_DEFINE("sampler-greedy", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_SAMPLER), factories)
 *
 * Build: cc -shared -fPIC -fvisibility=hidden -o NAME.so NAME.c  (docs/plugins-howto.md).
 *
 * Tables: every function table begins with `uint32_t struct_size` and grows only at its end.  On
 * load the host copies the smaller of its own and the plugin's size into a zeroed table of its own
 * and checks that the mandatory members are set. */
#ifndef LLAMAD_PLUGIN_H
#define LLAMAD_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"
#include "llamad/version.h"

LMD_BEGIN_DECLS

struct lmd_host;

enum lmd_kind {
	LMD_KIND_BACKEND = 1,   /* ops: struct lmd_backend_ops, backend.h */
	LMD_KIND_ARCH = 2,      /* ops: struct lmd_arch_ops, arch.h */
	LMD_KIND_TOKENIZER = 3, /* ops: struct lmd_tokenizer_ops, tokenizer.h */
	LMD_KIND_SAMPLER = 4,   /* ops: struct lmd_sampler_ops, sampler.h */
	LMD_KIND_FORMAT = 5     /* ops: struct lmd_format_ops, format.h */
};
#define LMD_KIND_BIT(kind) (1u << (kind))

#define LMD_PLUGIN_MAGIC 0x444d4c6cu /* "lLMD" in memory order */

/* One thing that a plugin provides.  Static and const; lives as long as the object is mapped. */
struct lmd_factory {
	uint32_t struct_size;
	uint32_t kind;        /* enum lmd_kind */
	const char *name;     /* [a-z0-9][a-z0-9_.-]{0,47}: the name used in files and requests */
	const char *aliases;  /* additional names, each ended by NUL, the list by a second NUL; or
			       * NULL */
	int32_t priority;     /* of two factories with one name the higher wins; the other is listed
			       * as shadowed */
	uint32_t flags;       /* 0 */
	/* Can the factory run here?  Returns a score: 0 = no, with the reason in why[0..n); 100 is
	 * normal; among equivalent factories the highest score is preferred.  Optional: NULL means
	 * 100.  May open vendor libraries; must not start threads that outlive the call. */
	int (*probe)(const struct lmd_host *host, char *why, size_t n);
	/* Size in bytes of the instance state.  The host allocates it, zeroed and aligned to 64,
	 * before it calls the open/init function of the kind.  The kind's header defines what an
	 * instance is. */
	size_t state_bytes;
	const void *ops;      /* the table of functions of the kind, begins with struct_size */
};

/* The exported symbol `llamad_plugin`. */
struct lmd_plugin {
	uint32_t magic;       /* LMD_PLUGIN_MAGIC */
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t struct_size;
	uint32_t n_factories;
	const char *name;     /* name of the object, as in the note */
	const char *version;  /* version of the plugin, free text without blanks */
	const char *license;  /* SPDX expression */
	const struct lmd_factory *factories;
};

/* The note: an ordinary ELF note record (owner "llamad", type 1) in section .note.llamad.  It has
 * fixed sizes and no relocations, so it can be read from the file. */
#define LMD_NOTE_TYPE 1
struct lmd_note {
	uint32_t name_bytes;  /* 7 = sizeof("llamad") */
	uint32_t desc_bytes;  /* sizeof(struct lmd_note) - offset of magic */
	uint32_t type;        /* LMD_NOTE_TYPE */
	char owner[8];        /* "llamad", padded */
	uint32_t magic;       /* LMD_PLUGIN_MAGIC */
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t kinds;       /* LMD_KIND_BIT of every kind it contains */
	uint32_t reserved;
	char name[48];        /* NUL-terminated */
	char version[32];     /* NUL-terminated */
};
LMD_STATIC_ASSERT(sizeof(struct lmd_note) == 116, "the note is read from files");
LMD_STATIC_ASSERT(offsetof(struct lmd_note, magic) == 20, "the note is read from files");

/* A build with plugins linked in renames the symbol of each plugin (-DLMD_PLUGIN_SYMBOL=...). */
#ifndef LMD_PLUGIN_SYMBOL
#define LMD_PLUGIN_SYMBOL llamad_plugin
#endif

/* Defines descriptor and note.  plugin_name and plugin_version are string literals, factories_ is a
 * true array of struct lmd_factory. */
#define LMD_PLUGIN_DEFINE(plugin_name, plugin_version, plugin_license, plugin_kinds, factories_)   \
	LMD_NOTE_SECTION static const struct lmd_note llamad_note = {                              \
		7, sizeof(struct lmd_note) - offsetof(struct lmd_note, magic), LMD_NOTE_TYPE,      \
		"llamad", LMD_PLUGIN_MAGIC, LMD_ABI_MAJOR, LMD_ABI_MINOR, plugin_kinds, 0,         \
		plugin_name, plugin_version};                                                      \
	LMD_EXPORT extern const struct lmd_plugin LMD_PLUGIN_SYMBOL;                               \
	const struct lmd_plugin LMD_PLUGIN_SYMBOL = {                                              \
		LMD_PLUGIN_MAGIC, LMD_ABI_MAJOR, LMD_ABI_MINOR, sizeof(struct lmd_plugin),         \
		(uint32_t)LMD_LEN(factories_), plugin_name, plugin_version, plugin_license,        \
		factories_};

LMD_END_DECLS

#endif /* LLAMAD_PLUGIN_H */
