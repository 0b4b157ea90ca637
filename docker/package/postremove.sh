#!/bin/sh
# After the package was removed. The data stays, also after a purge: nobody wants a typing error to delete years of points.
set -e

case "${1:-}" in
  remove | purge | 0)
    if [ -d /run/systemd/system ]; then
      systemctl daemon-reload
    fi
    if [ "$1" != purge ] && [ -d /var/lib/plumbago ]; then
      echo "plumbago: the data in /var/lib/plumbago and the user plumbago stay"
    fi
    ;;
esac
