/* SPDX-License-Identifier: MIT
 *
 * objects_impl.h - the owners of objects and their lists, shared by objects.c and object_owners.c. */
#ifndef LLAMAD_DAEMON_HTTP_OBJECTS_IMPL_H
#define LLAMAD_DAEMON_HTTP_OBJECTS_IMPL_H

#include "daemon/http/object_writer.h"
#include "daemon/http/objects.h"

#define LMI_HTTP_OBJECT_OWNER_CHARS 40

struct lmi_http_object {
	struct lmi_http_object *next; /* older */
	char id[LMI_HTTP_OBJECT_ID_MAX + 1];
	uint64_t bytes;
	int64_t changed_ns;
	bool used;
};

struct lmi_http_object_owner {
	struct lmi_http_object_owner *next;
	char name[LMI_HTTP_OBJECT_OWNER_CHARS];
	int fd;                          /* of the folder */
	struct lmi_http_object *objects; /* the newest first */
	uint64_t bytes;
	uint32_t number;
};

struct lmi_http_objects {
	struct lmi_http_objects_opts o;
	int fd;
	struct lmi_http_object_owner *owners;
	struct lmi_http_object_writer *writer;
};

/* ---- object_owners.c ---- */

bool lmi_http_object_id_is_valid(const char *id);
/* Writes the name of the owner's folder.  Returns false if out of memory. */
bool lmi_http_object_owner_of_key(char out[LMI_HTTP_OBJECT_OWNER_CHARS], const char *label);
bool lmi_http_object_owner_name(char out[LMI_HTTP_OBJECT_OWNER_CHARS],
				const struct lmi_svc_principal *p);
/* Returns LMD_IO with errno's text. */
enum lmd_status lmi_http_objects_fail(struct lmd_error *err, const char *folder, const char *name);

/* Returns NULL if there is no such owner. */
struct lmi_http_object_owner *lmi_http_object_owner_find(const struct lmi_http_objects *o,
							 const char *name);
/* Opens the folder of an owner and reads it; create: makes it if it does not exist. */
enum lmd_status lmi_http_object_owner_open(struct lmi_http_objects *o, const char *name,
					   bool create, struct lmi_http_object_owner **out,
					   struct lmd_error *err);
void lmi_http_object_owner_free(struct lmi_http_object_owner *w);
/* Opens the folders of all owners. */
enum lmd_status lmi_http_object_owners_read(struct lmi_http_objects *o, struct lmd_error *err);

/* Returns the link to an object, or to the end of the list. */
struct lmi_http_object **lmi_http_object_find(struct lmi_http_object_owner *w, const char *id);
/* Takes an object out of the list and frees it. */
void lmi_http_object_unlist(struct lmi_http_object_owner *w, struct lmi_http_object **p);
/* Inserts an object in the order of time. */
void lmi_http_object_insert(struct lmi_http_object_owner *w, struct lmi_http_object *b);

#endif /* LLAMAD_DAEMON_HTTP_OBJECTS_IMPL_H */
