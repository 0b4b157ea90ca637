#!/usr/bin/env python3
"""How do I send many points at once from Python?

    examples/send_pickle.py [HOST [PORT]]

Carbon's pickle format is a list of (name, (time, value)) behind its length. Only the standard library is needed.
"""
import pickle
import socket
import struct
import sys
import time

host = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
port = int(sys.argv[2]) if len(sys.argv) > 2 else 2004

now = int(time.time())
points = [("example.pickle.m%d" % n, (now - 10 * age, float(age))) for n in range(3) for age in range(5)]
body = pickle.dumps(points, protocol=2)
with socket.create_connection((host, port)) as connection:
    connection.sendall(struct.pack("!L", len(body)) + body)
print("sent %d points" % len(points))
