#!/usr/bin/env bash
# How do I mark a deployment in my graphs?
#
#   examples/mark_deployment.sh WHAT [URL]
#
# It becomes an event with the tag "deployment". Draw it with the target events('deployment').
set -euo pipefail
what=$1 url=${2:-http://127.0.0.1:8080}
curl --silent --show-error --fail --data "{\"what\": \"$what\", \"tags\": [\"deployment\"]}" "$url/events/"
