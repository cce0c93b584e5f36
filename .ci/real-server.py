"""The official Python SDK as a server at $PORT: `real-server.py json|streams|sse`."""

import os
import sys

from mcp.server import MCPServer

server = MCPServer("real")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.prompt()
def greet(who: str, tone: str = "warm") -> str:
    """Greets."""
    return f"Greet {who} in a {tone} tone."


@server.resource("note://{folder}/{name}")
def note(folder: str, name: str) -> str:
    """A note."""
    return f"{folder} holds {name}"


port = int(os.environ["PORT"])
if sys.argv[1] == "sse":
    server.run("sse", port=port)
else:
    server.run("streamable-http", port=port, json_response=sys.argv[1] == "json")
