/* SPDX-License-Identifier: MIT
 *
 * redact.h - removes from a text what must not leave the machine in a bug report. */
#ifndef LLAMAD_LLAMACTL_REDACT_H
#define LLAMAD_LLAMACTL_REDACT_H

/* Returns the text, on the heap (free), or NULL without memory, with these parts replaced:
 *     - the value of a line "key = value" or "key: value" whose key is a text of a preset (system,
 *       template, suffix, prefix, messages) or ends in key, token, secret or password;
 *     - every run of 24 or more letters and digits that has both, such as a key, an access token,
 *       a digest or an id;
 *     - the user and password of a URL;
 *     - the folder `home` (NULL: none), which becomes "~". */
char *lmi_ctl_redact(const char *text, const char *home);

#endif /* LLAMAD_LLAMACTL_REDACT_H */
