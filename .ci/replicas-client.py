"""PyPI's SDK as a client of the replicas: `replicas-client.py URL NAME CALLS`; see replicas-client.mjs."""

import sys

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

URL, NAME, CALLS = sys.argv[1], sys.argv[2], int(sys.argv[3])
# The calls that are not made yet.
left = [f"{NAME}-{number}" for number in reversed(range(CALLS))]


async def calls():
    """Makes calls until a connection breaks off."""
    transport = streamable_http_client(URL, http_client=httpx2.AsyncClient(timeout=20))
    async with Client(transport, mode="legacy", read_timeout_seconds=20) as client:
        while left:
            id = left.pop()
            try:
                result = await client.call_tool("record_work", {"id": id})
            except BaseException:
                # Nobody knows whether it ran.
                print(f"unknown {id}", flush=True)
                raise
            text = result.content[0].text if result.content else ""
            print("done" if text == id else "unknown" if "unknown" in text else "refused", id, flush=True)


async def main():
    while left:
        try:
            with anyio.fail_after(60):
                await calls()
        except Exception:
            await anyio.sleep(0.1)


anyio.run(main)
