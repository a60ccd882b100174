/* SPDX-License-Identifier: MIT
 *
 * object.h - one version of one plugin file, from its first byte to its factories.
 *
 *     read ---> CHECKED ---> LOADED <---> RETIRED
 *       |          |
 *       +--> REFUSED <+
 *
 * CHECKED: copied; owner, mode, ELF and note are valid; none of its code has run.
 * LOADED:  mapped, descriptor checked, tables copied.
 * RETIRED: still mapped for its users, but new look-ups do not find it.
 * REFUSED: `reason` says why. */
#ifndef LLAMAD_CORE_PLUGIN_OBJECT_H
#define LLAMAD_CORE_PLUGIN_OBJECT_H

#include <sys/stat.h>

#include "core/plugin/plugin_image.h"
#include "core/plugin/kinds.h"
#include "core/plugin/registry.h"

#define LMI_PLUGIN_BUILTIN UINT32_MAX

/* Identifies the state of a file or folder, to see whether it has changed. */
struct lmi_plugin_file_id {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
	/* The file changed so shortly before it was examined that a later change may have left the
	 * same times; it must be read again. */
	bool racy;
};

/* now: CLOCK_REALTIME, taken before the stat. */
struct lmi_plugin_file_id lmi_plugin_file_id(const struct stat *sb, const struct timespec *now);
/* Returns true if the file is certainly unchanged. */
bool lmi_plugin_file_id_same(const struct lmi_plugin_file_id *old, const struct stat *sb);
/* Returns true for the same file with the same times, racy or not. */
bool lmi_plugin_file_id_equal(const struct lmi_plugin_file_id *a,
			      const struct lmi_plugin_file_id *b);

enum lmi_plugin_object_state {
	LMI_PLUGIN_OBJECT_CHECKED,
	LMI_PLUGIN_OBJECT_LOADED,
	LMI_PLUGIN_OBJECT_REJECTED,
	LMI_PLUGIN_OBJECT_RETIRED
};

struct lmi_plugin_object;

struct lmi_plugin_entry {
	struct lmi_factory pub; /* first member: returned by lmi_factory_take */
	struct lmd_factory f;
	struct lmi_plugin_object *object;
	bool probed;            /* pub.score is valid */
	char why[160];          /* if the score is 0 */
};

struct lmi_plugin_object {
	struct lmi_plugin_object *next;
	struct lmd_arena *arena; /* owns everything below */
	const char *path, *base; /* base: the part after the last slash */
	uint32_t dir;            /* index of its folder, or LMI_PLUGIN_BUILTIN */
	enum lmi_plugin_object_state state;
	struct lmi_plugin_file_id id;
	struct lmd_note note;    /* name is "" if it could not be read */
	struct lmi_plugin_image image;
	uint8_t digest
		[LMI_PLUGIN_DIGEST_BYTES]; /* of files that passed the checks before loading, else
					   * zeros */
	uint64_t generation;
	bool untrusted;          /* root does not own the file, and the folder is no default one */
	uint32_t n_users;
	uint32_t n_entries;
	struct lmi_plugin_entry *entries;
	bool seen;               /* by the running scan */
	bool awaits_reload;      /* REFUSED only because it differs from what was accepted */
	char reason[LMD_ERROR_TEXT];
};

/* Returns NULL if memory runs out. */
struct lmi_plugin_object *lmi_plugin_object_create(const char *dir_path, const char *base,
						   uint32_t dir);
/* Unmaps the object; it must have no users. o may be NULL. */
void lmi_plugin_object_destroy(struct lmi_plugin_object *o);

/* Opens `base` in the folder, checks it, copies it (to `folder`; NULL: sealed memory) and checks
 * the copy. The object becomes CHECKED, or REFUSED with the reason. A status other than LMD_OK is
 * an error of the host (LMD_NOMEM); the caller must then destroy the object. */
enum lmd_status lmi_plugin_object_read(struct lmi_plugin_object *o, int dir_fd,
				       enum lmi_plugin_trust trust, const char *folder,
				       struct lmd_error *err);

/* Maps a CHECKED object and sets *out to its next state, LOADED or REFUSED; status as for
 * lmi_plugin_object_read. If test_host is not NULL, the object is first loaded and probed with that
 * host in a child process. The caller sets the state itself, because it may have to exclude readers. */
enum lmd_status lmi_plugin_object_load(struct lmi_plugin_object *o,
				       const struct lmd_host *test_host,
				       enum lmi_plugin_object_state *out, struct lmd_error *err);

/* Takes a linked-in descriptor: LOADED or REFUSED; status as for lmi_plugin_object_read. */
enum lmd_status lmi_plugin_object_adopt(struct lmi_plugin_object *o, const struct lmd_plugin *p,
					struct lmd_error *err);

/* Sets the state to REFUSED with this reason. */
void lmi_plugin_object_reject(struct lmi_plugin_object *o, const char *reason);

#endif /* LLAMAD_CORE_PLUGIN_OBJECT_H */
