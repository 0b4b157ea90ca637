#!/bin/sh
# After an installation or an upgrade, by dpkg or rpm.
set -e

if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers plumbago.conf
elif ! getent passwd plumbago >/dev/null; then
  useradd --system --user-group --no-create-home --home-dir /var/lib/plumbago --shell /usr/sbin/nologin plumbago
fi

# The service would make it, too. It is here already for `plumbago restore` and `plumbago import` before the first start.
if [ ! -d /var/lib/plumbago ]; then
  install -d -o plumbago -g plumbago -m 0750 /var/lib/plumbago
fi

# A server that runs goes on as the new version. One that does not run is started by a person.
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart plumbago.service
fi
