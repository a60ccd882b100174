/* SPDX-License-Identifier: MIT
 *
 * table.h - how messages are described to the codec; the tables are made from proto/schema. */
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
	LMI_WIRE_T_TEXT,   /* struct lmd_str: any bytes; str on the wire when UTF-8, else bin */
	LMI_WIRE_T_BYTES,  /* struct lmd_str: any bytes; bin on the wire */
	LMI_WIRE_T_ID,     /* struct lmi_wire_id */
	LMI_WIRE_T_TOKEN,  /* lmd_token >= 0 */
	LMI_WIRE_T_STATUS, /* enum lmd_status, not LMD_OK; a word on the wire */
	LMI_WIRE_T_ENUM,   /* an enum of types.gen.h, as wide as int; a word on the wire */
	LMI_WIRE_T_OBJECT, /* a struct of types.gen.h; a map on the wire */
	LMI_WIRE_T_ITEM,   /* struct lmi_wire_item; a map whose tag says which */
	LMI_WIRE_T_CHAIN,  /* struct lmi_wire_sampler, always a list */
	LMI_WIRE_T_BIAS    /* struct lmd_bias, always a list; pairs on the wire */
};

enum lmi_wire_presence {
	LMI_WIRE_REQUIRED,
	LMI_WIRE_OPTIONAL, /* has_NAME says whether it is there */
	LMI_WIRE_DEFAULT   /* absent means the default, for lists the empty one */
};

/* Words of an enum: word i stands for the number i + 1. */
struct lmi_wire_words {
	const char *name;
	const char *const *word; /* [n] */
	uint32_t n;
};

struct lmi_wire_struct;

struct lmi_wire_field {
	const char *name;
	enum lmi_wire_type type; /* of the elements, for lists */
	enum lmi_wire_presence presence;
	bool list;   /* at: pointer to the first element; n_at: uint32_t, their number */
	uint32_t at; /* offset in the struct */
	uint32_t n_at;
	uint32_t has_at;    /* OPTIONAL: offset of a bool */
	uint32_t max_items; /* of a list */
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
		bool b; /* default */
	} u;
};

#define LMI_WIRE_ONE_OF 4

struct lmi_wire_struct {
	const char *name;
	uint32_t bytes;                      /* sizeof */
	const struct lmi_wire_field *fields; /* [n_fields] */
	uint32_t n_fields;
	/* Of these fields, by number, exactly one is there. */
	uint32_t n_one_of;
	uint8_t one_of[LMI_WIRE_ONE_OF];
};

/* struct lmi_wire_item: the tag is a word, the name of of[kind]. */
struct lmi_wire_variants {
	const char *tag;
	const struct lmi_wire_struct *common;
	const struct lmi_wire_struct *of[LMI_WIRE_N_ITEM]; /* [LMI_WIRE_ITEM_*] */
	uint32_t final; /* bit k: an item of kind k is the last of its stream */
};

extern const struct lmi_wire_variants lmi_wire_items;
extern const struct lmi_wire_struct *const lmi_wire_error_struct;
/* The words of enum lmd_status; NULL for LMD_OK. */
extern const char *const lmi_wire_codes[LMD_N_STATUS];

/* Whether and how a request may be repeated. */
enum lmi_wire_changes {
	LMI_WIRE_CHANGES_NO,    /* it only reads */
	LMI_WIRE_CHANGES_AGAIN, /* doing it twice is as doing it once */
	LMI_WIRE_CHANGES_ONCE   /* it must carry a rid, by which a repetition is known */
};

struct lmi_wire_opinfo {
	const char *name;
	uint32_t since;          /* revision of the protocol */
	enum lmi_wire_role role; /* the least that is needed */
	enum lmi_wire_changes changes;
	const struct lmi_wire_struct *request, *reply;
};

/* By enum lmi_wire_op; row 0 is empty. */
extern const struct lmi_wire_opinfo lmi_wire_ops[LMI_WIRE_N_OP];

#endif /* LLAMAD_PROTO_TABLE_H */
