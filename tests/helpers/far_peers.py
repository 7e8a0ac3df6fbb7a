"""Processes that break the protocol of the bridge, each in the way that its argument names."""

import json
import os
import subprocess
import sys
import time

how = sys.argv[1]
FACTS = {"protocol": 1, "name": "Peer", "methods": ["converse", "ask", "forget", "reset"]}


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    request = json.loads(line)
    number, method = request["id"], request["method"]
    if method == "hello":
        if how == "version":
            say({"id": number, "result": {**FACTS, "protocol": 2}})
        elif how == "facts":
            say({"id": number, "result": {"protocol": 1, "methods": "all of them"}})
        else:
            say({"id": number, "result": FACTS})
    elif how == "json":
        print('{"id": oops, XQ7-VIOLET-3829', flush=True)
    elif how == "shape":
        say({"id": number, "XQ7-VIOLET-3829": "a"})
    elif how == "id":
        say({"id": number + 7, "result": "a"})
    elif how == "huge":
        say({"id": number, "result": "x" * 3_000_000})
    elif how == "endless":
        while True:
            sys.stdout.write("noise\n")
    elif how == "unended":
        sys.stdout.write("{" * 3_000_000)
        sys.stdout.flush()
        time.sleep(60)
    elif how == "noise":
        print("noise: \x00 \udcff".encode("utf-8", "surrogateescape"), "and", "more" * 1000)
        print()
        say({"id": number, "result": {"text": "heard"}})
    elif how == "silence":
        os.close(1)
        time.sleep(60)
    elif how == "held":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        os._exit(9)
    elif how == "half":
        sys.stdout.write('{"id": ')
        sys.stdout.flush()
        os._exit(0)
