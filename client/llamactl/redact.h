/* SPDX-License-Identifier: MIT
 *
 * redact.h - removes from a text what must not leave the machine in a bug report. */
#ifndef LLAMAD_LLAMACTL_REDACT_H
#define LLAMAD_LLAMACTL_REDACT_H

/* Returns the text, on the heap (free), or NULL without memory, with these parts replaced:
 *     - after "key = value" or "key: value" anywhere in a line, the value and the rest of the line,
 *       if the key is a text of a preset (system, template, suffix, prefix, messages) or ends in
 *       key, token, secret, password, passwd, passphrase, authorization, bearer or cookie; also
 *       after an option ("--api-key value") and after "bearer";
 *     - every run of 24 or more letters and digits, such as a key, a password or a digest. Its parts
 *       may be joined by + / _ or -, but / does not join in a path; a run with joints is only
 *       removed if a part of 8 or more has both letters and digits, so that most names stay;
 *     - the user and password of a URL;
 *     - the folder `home` (NULL: none), which becomes "~", and other names of folders in /home.
 */
char *lmi_ctl_redact(const char *text, const char *home);

#endif /* LLAMAD_LLAMACTL_REDACT_H */
