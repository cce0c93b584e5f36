"""A server behind the proxy that writes down each call that it carries out: `replicas-server.py RECORD`. It keeps nothing of
sessions. The first line that it prints is its URL."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RECORD = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
TOOL = {"inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}
TOOLS = [{"name": name, **TOOL} for name in ("guarded", "work")]


def result(method, params):
    if method == "initialize":
        info = {"name": "record", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        line = params["arguments"]["id"]
        # One write, so that lines of several threads stay whole.
        os.write(RECORD, f"{line}\n".encode())
        return {"content": [{"type": "text", "text": line}]}
    return {} if method == "ping" else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def answer(self, status, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        self.answer(405)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in request or "method" not in request:
            return self.answer(202)
        found = result(request["method"], request.get("params") or {})
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if found is None:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        else:
            answer["result"] = found
        self.answer(200, answer)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
threading.Thread(target=server.serve_forever).start()
