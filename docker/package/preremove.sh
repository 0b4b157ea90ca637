#!/bin/sh
# Before the package is removed, by dpkg (remove) or rpm (0). An upgrade changes nothing here.
set -e

case "${1:-}" in
  remove | 0)
    if [ -d /run/systemd/system ]; then
      systemctl --no-reload disable --now plumbago.service
    fi
    ;;
esac
