# SPDX-License-Identifier: MIT
# Makes llamad@.service of llamad.service.in: instance NAME reads /etc/llamad/NAME.conf and has its socket in
# /run/llamad-NAME and its state in /var/lib/llamad-NAME.
s|^# llamad as a system service,|# llamad@NAME: a further llamad with /etc/llamad/NAME.conf, as a system service,|
s|^Description=.*|& (%i)|
s|^ExecStart=.*|& --config /etc/llamad/%i.conf|
s|^RuntimeDirectory=llamad$|RuntimeDirectory=llamad-%i|
s|^StateDirectory=llamad$|StateDirectory=llamad-%i|
