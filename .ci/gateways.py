"""Calls per second and memory of idle sessions of a gateway: `gateways.py NAME PID URL TOOL [TOKEN]`. One session for each of
16 clients; a call adds two numbers."""

import asyncio
import json
import sys
import time
import urllib.parse

NAME, PID, URL, TOOL, *TOKEN = sys.argv[1:]
PLACE = urllib.parse.urlparse(URL)
CLIENTS, SECONDS, IDLE = 16, 8, 200
HEADERS = {
    "Host": f"{PLACE.hostname}:{PLACE.port}", "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json", **({"Authorization": f"Bearer {TOKEN[0]}"} if TOKEN else {}),
}
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "gateways", "version": "1"}}}


class Connection:
    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(PLACE.hostname, PLACE.port)
        self.session = None
        return self

    async def post(self, message):
        body = json.dumps(message).encode()
        headers = {**HEADERS, "Content-Length": str(len(body))}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.writer.write(f"POST {PLACE.path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        await self.writer.drain()
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        found = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        text = b""
        if found.get("transfer-encoding") == "chunked":
            while size := int((await self.reader.readline()).strip(), 16):
                text += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readline()
        else:
            text = await self.reader.readexactly(int(found.get("content-length", 0)))
        self.session = found.get("mcp-session-id", self.session)
        return head[0].split(" ")[1], text.decode()

    async def begin(self):
        status, text = await self.post(INITIALIZE)
        assert status == "200" and self.session, (status, text)
        await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self


def memory():
    with open(f"/proc/{PID}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


async def client(until, latencies):
    connection = await (await Connection().open()).begin()
    while time.monotonic() < until:
        began = time.monotonic()
        params = {"name": TOOL, "arguments": {"a": 20, "b": 22}}
        _, text = await connection.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert "42" in text, text
        latencies.append(time.monotonic() - began)


async def main():
    warm = []
    await asyncio.gather(*(client(time.monotonic() + 1, warm) for _ in range(CLIENTS)))
    latencies = []
    await asyncio.gather(*(client(time.monotonic() + SECONDS, latencies) for _ in range(CLIENTS)))
    before = memory()
    idle = [await (await Connection().open()).begin() for _ in range(IDLE)]
    for connection in idle:
        await connection.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        connection.writer.close()
    await asyncio.sleep(1)
    each = (memory() - before) / IDLE
    median = sorted(latencies)[len(latencies) // 2]
    print(f"{NAME}: {len(latencies) / SECONDS:.0f} calls/s, median {median * 1000:.2f} ms, {each:.0f} KiB for each idle session")


asyncio.run(main())
