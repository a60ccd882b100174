/* SPDX-License-Identifier: MIT
 *
 * ops.h - the operations: the list of those that the service knows, and their functions. */
#ifndef LLAMAD_SERVICE_OPS_H
#define LLAMAD_SERVICE_OPS_H

#include "service/request.h"

enum lmi_svc_op_flags {
	LMI_SVC_OP_CLOSED_OK = 1, /* allowed while the daemon is draining */
	LMI_SVC_OP_ANYBODY = 2,   /* requires no role */
};

/* X(name, NAME, flags): lmi_svc_do_<name> handles LMI_WIRE_OP_<NAME>. */
#define LMI_SVC_OPS(X)                                             \
	X(adapter_set, ADAPTER_SET, 0)                             \
	X(adapters, ADAPTERS, LMI_SVC_OP_CLOSED_OK)                \
	X(add, ADD, 0)                                             \
	X(alias, ALIAS, 0)                                         \
	X(apply_template, APPLY_TEMPLATE, 0)                       \
	X(cancel, CANCEL, LMI_SVC_OP_CLOSED_OK)                    \
	X(config_reload, CONFIG_RELOAD, 0)                         \
	X(create, CREATE, 0)                                       \
	X(detokenize, DETOKENIZE, 0)                               \
	X(devices, DEVICES, LMI_SVC_OP_CLOSED_OK)                  \
	X(drain, DRAIN, LMI_SVC_OP_CLOSED_OK)                      \
	X(embed, EMBED, 0)                                         \
	X(events, EVENTS, LMI_SVC_OP_CLOSED_OK)                    \
	X(generate, GENERATE, 0)                                   \
	X(hello, HELLO, LMI_SVC_OP_CLOSED_OK | LMI_SVC_OP_ANYBODY) \
	X(info, INFO, LMI_SVC_OP_CLOSED_OK)                        \
	X(key_add, KEY_ADD, 0)                                     \
	X(key_rm, KEY_RM, LMI_SVC_OP_CLOSED_OK)                    \
	X(key_set, KEY_SET, LMI_SVC_OP_CLOSED_OK)                  \
	X(keys, KEYS, LMI_SVC_OP_CLOSED_OK)                        \
	X(limits, LIMITS, LMI_SVC_OP_CLOSED_OK)                    \
	X(load, LOAD, 0)                                           \
	X(models, MODELS, LMI_SVC_OP_CLOSED_OK)                    \
	X(next, NEXT, LMI_SVC_OP_CLOSED_OK)                        \
	X(pause, PAUSE, LMI_SVC_OP_CLOSED_OK)                      \
	X(ping, PING, LMI_SVC_OP_CLOSED_OK | LMI_SVC_OP_ANYBODY)   \
	X(plugins, PLUGINS, LMI_SVC_OP_CLOSED_OK)                  \
	X(plugins_reload, PLUGINS_RELOAD, 0)                       \
	X(ps, PS, LMI_SVC_OP_CLOSED_OK)                            \
	X(pull, PULL, 0)                                           \
	X(registry_backup, REGISTRY_BACKUP, LMI_SVC_OP_CLOSED_OK)  \
	X(registry_restore, REGISTRY_RESTORE, 0)                   \
	X(reload, RELOAD, 0)                                       \
	X(replay, REPLAY, 0)                                       \
	X(replay_info, REPLAY_INFO, LMI_SVC_OP_CLOSED_OK)          \
	X(rerank, RERANK, 0)                                       \
	X(rm, RM, 0)                                               \
	X(session_fork, SESSION_FORK, 0)                           \
	X(session_read, SESSION_READ, 0)                           \
	X(session_rm, SESSION_RM, 0)                               \
	X(session_write, SESSION_WRITE, 0)                         \
	X(sessions, SESSIONS, 0)                                   \
	X(shutdown, SHUTDOWN, LMI_SVC_OP_CLOSED_OK)                \
	X(stats, STATS, LMI_SVC_OP_CLOSED_OK)                      \
	X(status, STATUS, LMI_SVC_OP_CLOSED_OK)                    \
	X(streams, STREAMS, LMI_SVC_OP_CLOSED_OK)                  \
	X(tokenize, TOKENIZE, 0)                                   \
	X(unload, UNLOAD, 0)                                       \
	X(unpause, UNPAUSE, LMI_SVC_OP_CLOSED_OK)                  \
	X(usage, USAGE, LMI_SVC_OP_CLOSED_OK)

/* Each function is an lmi_svc_do_fn. */
#define LMI_SVC_OP_PROTOTYPE(name, NAME, flags)                                                    \
	enum lmd_status lmi_svc_do_##name(struct lmi_svc_request *a, uint32_t *retry_ms, \
					  struct lmd_error *err);
LMI_SVC_OPS(LMI_SVC_OP_PROTOTYPE)
#undef LMI_SVC_OP_PROTOTYPE

#endif /* LLAMAD_SERVICE_OPS_H */
