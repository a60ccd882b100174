/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/gen-proto from proto/schema.  The bounds of the protocol. */
#ifndef LLAMAD_PROTO_GEN_LIMITS_GEN_H
#define LLAMAD_PROTO_GEN_LIMITS_GEN_H

/* Versions of the protocol that this build speaks, and the latest revision it knows. */
#define LMI_WIRE_V_MIN 1
#define LMI_WIRE_V 1
#define LMI_WIRE_REVISION 14

/* Length of one message. (bytes) */
#define LMI_WIRE_LIMIT_MESSAGE_BYTES 16777216
/* Nesting depth of arrays and maps in a message. */
#define LMI_WIRE_LIMIT_DEPTH 32
/* Values of all kinds in a message, including keys. */
#define LMI_WIRE_LIMIT_MESSAGE_VALUES 4194304
/* Keys of all maps in a message together. */
#define LMI_WIRE_LIMIT_MESSAGE_KEYS 262144
/* Keys of one map. */
#define LMI_WIRE_LIMIT_MAP_KEYS 128
/* Length of a map key. (bytes) */
#define LMI_WIRE_LIMIT_KEY_BYTES 64
/* Length of a request id. (bytes) */
#define LMI_WIRE_LIMIT_RID_BYTES 64
/* Length of the secret of an API key. (bytes) */
#define LMI_WIRE_LIMIT_SECRET_BYTES 256
/* Length of the label of an API key. (bytes) */
#define LMI_WIRE_LIMIT_LABEL_BYTES 63
/* Length of a model's name or alias. (bytes) */
#define LMI_WIRE_LIMIT_NAME_BYTES 128
/* Length of a path. (bytes) */
#define LMI_WIRE_LIMIT_PATH_BYTES 4095
/* Length of an error message. (bytes) */
#define LMI_WIRE_LIMIT_SENTENCE_BYTES 1024
/* Length of a prompt or of any other text for a model. (bytes) */
#define LMI_WIRE_LIMIT_TEXT_BYTES 16777216
/* Tokens in one list. */
#define LMI_WIRE_LIMIT_TOKENS 2097152
/* Rows of a listing in one reply. */
#define LMI_WIRE_LIMIT_ROWS 4096
/* Inputs in one request for embeddings. */
#define LMI_WIRE_LIMIT_INPUTS 2048
/* Vectors in one reply. */
#define LMI_WIRE_LIMIT_EMBEDDINGS 65536
/* Messages in a conversation. */
#define LMI_WIRE_LIMIT_MESSAGES 4096
/* Length of a chat template, and of each JSON value that is passed to it. (bytes) */
#define LMI_WIRE_LIMIT_TEMPLATE_BYTES 1048576
/* Length of a grammar or JSON schema. (bytes) */
#define LMI_WIRE_LIMIT_GRAMMAR_BYTES 262144
/* Stop sequences in one request. */
#define LMI_WIRE_LIMIT_STOPS 16
/* Length of a stop sequence. (bytes) */
#define LMI_WIRE_LIMIT_STOP_BYTES 256
/* Entries of logit_bias. */
#define LMI_WIRE_LIMIT_BIASES 1024
/* Most likely tokens whose log probabilities are reported for each token. */
#define LMI_WIRE_LIMIT_LOGPROBS 32
/* Samplers in a chain. */
#define LMI_WIRE_LIMIT_SAMPLERS 32
/* Length of an answer. The context size usually ends it earlier. (tokens) */
#define LMI_WIRE_LIMIT_OUTPUT_MAX 1073741824
/* Longest deadline. (ms) */
#define LMI_WIRE_LIMIT_TIMEOUT_MAX 86400000
/* Shortest lease. (ms) */
#define LMI_WIRE_LIMIT_LEASE_MIN 100
/* Longest lease. (ms) */
#define LMI_WIRE_LIMIT_LEASE_MAX 600000
/* Longest time that next waits for an item. (ms) */
#define LMI_WIRE_LIMIT_WAIT_MAX 600000
/* Longest output batching delay of next. (ms) */
#define LMI_WIRE_LIMIT_HOLD_MAX 10000
/* Items of a stream in one reply. */
#define LMI_WIRE_LIMIT_ITEMS 4096
/* Items in one reply if the request does not set max. */
#define LMI_WIRE_LIMIT_ITEMS_DEFAULT 256
/* Length of a saved session's name. (bytes) */
#define LMI_WIRE_LIMIT_SESSION_NAME_BYTES 64
/* Piece of a saved session in session_read and session_write. (bytes) */
#define LMI_WIRE_LIMIT_SESSION_PIECE_BYTES 4194304
/* Text of all items in one reply to next. A single item may be longer. (bytes) */
#define LMI_WIRE_LIMIT_REPLY_TEXT_BYTES 1048576

#define LMI_WIRE_N_LIMIT 36

#endif /* LLAMAD_PROTO_GEN_LIMITS_GEN_H */
