#!/usr/bin/env bash
# How do I send a value from a shell script?
#
#   examples/send.sh NAME VALUE [HOST [PORT]]
#
# bash needs no other program for it.
set -euo pipefail
name=$1 value=$2 host=${3:-127.0.0.1} port=${4:-2003}
printf '%s %s %s\n' "$name" "$value" "$(date +%s)" >"/dev/tcp/$host/$port"
