/* SPDX-License-Identifier: MIT
 *
 * table.h - the tables that describe messages to the codec; they are generated from
 * proto/schema. */
#ifndef LLAMAD_PROTO_TABLE_H
#define LLAMAD_PROTO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/gen/types.gen.h"
#include "proto/limits.h"

enum lmi_wire_type {
	LMI_WIRE_T_BOOL,   /* bool */
	LMI_WIRE_T_INT,    /* int64_t */
	LMI_WIRE_T_FLOAT,  /* double, finite */
	LMI_WIRE_T_STRING, /* struct lmd_str: UTF-8 without control characters */
	LMI_WIRE_T_TEXT,   /* struct lmd_str: any bytes; sent as str if UTF-8, otherwise as bin */
	LMI_WIRE_T_BYTES,  /* struct lmd_str: any bytes; bin on the wire */
	LMI_WIRE_T_ID,     /* struct lmi_wire_id */
	LMI_WIRE_T_TOKEN,  /* lmd_token >= 0 */
	LMI_WIRE_T_STATUS, /* enum lmd_status, not LMD_OK; a word on the wire */
	LMI_WIRE_T_ENUM,   /* an enum of types.gen.h, as wide as int; a word on the wire */
	LMI_WIRE_T_OBJECT, /* a struct of types.gen.h; a map on the wire */
	LMI_WIRE_T_ITEM,   /* struct lmi_wire_item; a map whose tag is the kind */
	LMI_WIRE_T_CHAIN,  /* struct lmi_wire_sampler, always a list */
	LMI_WIRE_T_BIAS    /* struct lmd_bias, always a list; pairs on the wire */
};

enum lmi_wire_presence {
	LMI_WIRE_REQUIRED,
	LMI_WIRE_OPTIONAL, /* has_NAME is true if it is present */
	LMI_WIRE_DEFAULT   /* if missing it has the default; for lists the empty list */
};

/* The words of an enum: word i is the value i + 1. */
struct lmi_wire_words {
	const char *name;
	const char *const *word; /* [n] */
	uint32_t n;
};

struct lmi_wire_struct;

struct lmi_wire_field {
	const char *name;
	enum lmi_wire_type type; /* for lists the type of the elements */
	enum lmi_wire_presence presence;
	bool list;   /* at: pointer to the first element; n_at: uint32_t, their number */
	uint32_t at; /* offset in the struct */
	uint32_t n_at;
	uint32_t has_at;    /* OPTIONAL: offset of a bool */
	uint32_t max_items; /* maximum length of a list */
	union {
		struct {
			int64_t min, max, def;
		} i;
		struct {
			double min, max, def;
		} f;
		struct {
			uint32_t min, max; /* bytes */
			const char *def;
		} s;
		struct {
			const struct lmi_wire_words *words;
			int def;
		} e;
		const struct lmi_wire_struct *of;
		bool b; /* the default */
	} u;
};

#define LMI_WIRE_ONE_OF 4

struct lmi_wire_struct {
	const char *name;
	uint32_t bytes;                      /* sizeof */
	const struct lmi_wire_field *fields; /* [n_fields] */
	uint32_t n_fields;
	/* Exactly one of these fields, given by index, must be present. */
	uint32_t n_one_of;
	uint8_t one_of[LMI_WIRE_ONE_OF];
};

/* The variants of struct lmi_wire_item; the tag is the name of of[kind]. */
struct lmi_wire_variants {
	const char *tag;
	const struct lmi_wire_struct *common;
	const struct lmi_wire_struct *of[LMI_WIRE_N_ITEM]; /* [LMI_WIRE_ITEM_*] */
	uint32_t final; /* bit k is set if items of kind k are final */
};

extern const struct lmi_wire_variants lmi_wire_items;
extern const struct lmi_wire_struct *const lmi_wire_error_struct;
/* The words of enum lmd_status; NULL for LMD_OK. */
extern const char *const lmi_wire_codes[LMD_N_STATUS];

/* Whether and how a request may be repeated. */
enum lmi_wire_changes {
	LMI_WIRE_CHANGES_NO,    /* read-only */
	LMI_WIRE_CHANGES_AGAIN, /* idempotent */
	LMI_WIRE_CHANGES_ONCE   /* not idempotent: needs a rid */
};

struct lmi_wire_opinfo {
	const char *name;
	uint32_t since;          /* revision of the protocol */
	enum lmi_wire_role role; /* the required role */
	enum lmi_wire_changes changes;
	const struct lmi_wire_struct *request, *reply;
};

/* Indexed by enum lmi_wire_op; row 0 is empty. */
extern const struct lmi_wire_opinfo lmi_wire_ops[LMI_WIRE_N_OP];

#endif /* LLAMAD_PROTO_TABLE_H */
