"""A client inside the stack's network: starts tickets through the shared name for some seconds.

It prints a JSON object: `acknowledged`, a list of `[token, moment]`, in order; and `refused`, how
often it had to try again. Run in the image of the command: `steady_client.py SECONDS`.
"""

from __future__ import annotations

import json
import os
import sys
import time

from stateous_client import Client, ClientError


def main(seconds: float) -> None:
    acknowledged: list[tuple[str, float]] = []
    refused: list[str] = []
    end = time.monotonic() + seconds
    with Client(os.environ["STATEOUS_URL"], timeout=2, retries=0) as client:
        while time.monotonic() < end:
            token = f"HA-{len(acknowledged)}"
            try:
                client.start(token, {"title": "A ticket"})
            except ClientError as error:
                refused.append(str(error))
                time.sleep(0.05)
            else:
                acknowledged.append((token, time.time()))
                time.sleep(0.1)
    print(json.dumps({"acknowledged": acknowledged, "refused": refused}))


if __name__ == "__main__":
    main(float(sys.argv[1]))
