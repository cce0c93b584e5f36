"""Drives clients of several replicas behind a balancer, kills replicas and the store, and counts how calls end:
`replicas.py SETTINGS`, a file of JSON. The record of the server behind the proxy is the judge."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time

with open(sys.argv[1]) as file:
    SETTINGS = json.load(file)
BALANCER = SETTINGS["balancer"]
REPLICAS = SETTINGS["replicas"]
MODERN = "2026-07-28"
random.seed(SETTINGS["seed"])

outcomes = {}
killed = 0
stopping = False
answering = asyncio.Lock()


class Broken(Exception):
    """The connection broke off."""


async def post(port, message, headers):
    """Sends one message on a connection of its own; returns the status, the headers and the messages of the answer."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return 503, {}, []
    try:
        body = json.dumps(message).encode()
        head = {
            "Host": "127.0.0.1", "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
            "Content-Length": str(len(body)), "Connection": "close", **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
        await writer.drain()
        text = (await asyncio.wait_for(reader.read(), 30)).decode()
    except (OSError, asyncio.TimeoutError) as error:
        raise Broken from error
    finally:
        writer.close()
    head, _, body = text.partition("\r\n\r\n")
    if not head:
        raise Broken
    status, *lines = head.split("\r\n")
    found = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    datas = [line[6:] for line in body.splitlines() if line.startswith("data: ")]
    datas += [line for line in body.splitlines() if line.startswith("{")]
    messages = []
    for data in datas:
        try:
            messages.append(json.loads(data))
        except ValueError:
            pass
    return int(status.split(" ")[1]), found, messages


def modern(method, params, name=None):
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    return message, {**headers, **({"Mcp-Name": name} if name else {})}


def ended(id, status, messages):
    """How a call ended, by its answer."""
    answer = next((message for message in messages if message.get("id") == 1 and "method" not in message), None)
    if answer is None:
        return "refused" if status in (404, 503) else "unknown"
    content = answer.get("result", {}).get("content") or [{}]
    text = content[0].get("text", "")
    if text == id:
        return "done"
    return "unknown" if "unknown" in text or "was lost" in json.dumps(answer) else "refused"


async def without_session(name, calls):
    for number in range(calls):
        id = f"{name}-{number}"
        message, headers = modern("tools/call", {"name": "record_work", "arguments": {"id": id}}, "record_work")
        try:
            status, _, messages = await post(BALANCER, message, headers)
            outcomes[id] = ended(id, status, messages)
        except Broken:
            outcomes[id] = "unknown"


async def with_session(name, calls):
    session, moved = None, 0
    initialize = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}}
    for number in range(calls):
        id = f"{name}-{number}"
        while session is None:
            try:
                status, headers, _ = await post(BALANCER, initialize, {})
                session = headers.get("mcp-session-id") if status == 200 else None
                if session:
                    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                    await post(BALANCER, told, {"Mcp-Session-Id": session})
            except Broken:
                session = None
            if session is None:
                await asyncio.sleep(0.1)
        params = {"name": "record_work", "arguments": {"id": id}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        try:
            status, _, messages = await post(BALANCER, message, {"Mcp-Session-Id": session})
            outcomes[id] = ended(id, status, messages)
            if status == 404:
                session, moved = None, moved + 1
        except Broken:
            outcomes[id] = "unknown"
    return moved


async def approvals(name, calls):
    """Asks at one replica, and answers at another."""
    for number in range(calls):
        id = f"{name}-{number}"
        params = {"name": "record_guarded", "arguments": {"id": id}}
        message, headers = modern("tools/call", params, "record_guarded")
        state, asked = None, None
        while state is None:
            asked = random.randrange(len(REPLICAS))
            try:
                _, _, messages = await post(REPLICAS[asked], message, headers)
                state = next((one["result"].get("requestState") for one in messages if "result" in one), None)
            except Broken:
                pass
            if state is None:
                await asyncio.sleep(0.1)
        answer = {"approval": {"action": "accept", "content": {"approve": True}}}
        message["params"] |= {"requestState": state, "inputResponses": answer}
        outcome, tried = "refused", []
        # What was refused, because a replica is down or has no store, is asked of another one.
        while outcome == "refused":
            other = random.choice([index for index in range(len(REPLICAS)) if index != asked])
            try:
                # One at a time, so that a kill meets one at most.
                async with answering:
                    status, _, messages = await post(REPLICAS[other], message, headers)
                outcome = ended(id, status, messages)
                text = json.dumps(messages)
                if "was already used; call again" in text:
                    # The answer to an earlier attempt was lost.
                    outcome = "unknown"
                tried.append(f"{status} {text}")
            except Broken:
                outcome = "unknown"
                tried.append("the connection broke off")
            if outcome == "refused":
                await asyncio.sleep(0.2)
        outcomes[id] = outcome
        if outcome == "unknown":
            print(f"{id} is unknown: {tried}", flush=True)


async def sdk(command, name, calls):
    process = await asyncio.create_subprocess_exec(
        *command, name, str(calls), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    async for line in process.stdout:
        outcome, _, id = line.decode().strip().partition(" ")
        outcomes[id] = outcome
    await process.wait()


async def kill():
    """Kills one replica after the other, and the store once; a supervisor starts them again."""
    global killed
    while not stopping:
        await asyncio.sleep(SETTINGS["pause"])
        if stopping:
            return
        with open(random.choice(SETTINGS["pids"])) as file:
            os.kill(int(file.read()), signal.SIGKILL)
        killed += 1
        if killed == SETTINGS["store_at"]:
            with open(SETTINGS["store_pid"]) as file:
                os.kill(int(file.read()), signal.SIGKILL)
            print("the store was restarted", flush=True)


async def main():
    global stopping
    each, sdk_calls, count = SETTINGS["calls"], SETTINGS["sdk_calls"], SETTINGS["clients"]
    began = time.monotonic()
    killing = asyncio.create_task(kill())
    legacy = [with_session(f"legacy{number}", each) for number in range(count)]
    clients = [without_session(f"modern{number}", each) for number in range(count)]
    clients += [approvals(f"approval{number}", SETTINGS["approvals"] // 8) for number in range(8)]
    for number, command in enumerate(SETTINGS["sdks"]):
        clients.append(sdk(command, f"sdk{number}", sdk_calls))
    moved = sum((await asyncio.gather(asyncio.gather(*legacy), *clients))[0])
    stopping = True
    await killing
    seconds = time.monotonic() - began

    record = {}
    with open(SETTINGS["record"]) as file:
        for line in file:
            record[line.strip()] = record.get(line.strip(), 0) + 1
    wanted = 2 * count * each + SETTINGS["approvals"] // 8 * 8 + len(SETTINGS["sdks"]) * sdk_calls
    asked = {id: outcome for id, outcome in outcomes.items() if id.startswith("approval")}
    of = lambda all, outcome: sum(1 for one in all.values() if one == outcome)
    twice = [id for id, runs in record.items() if runs > 1]
    lost = [id for id, outcome in outcomes.items() if outcome == "done" and record.get(id) != 1]
    ran = [id for id, outcome in outcomes.items() if outcome == "refused" and id in record]
    print(f"{len(outcomes)} calls of {2 * count + 8 + len(SETTINGS['sdks'])} clients in {seconds:.0f} s, {killed} replicas killed")
    print(f"{of(outcomes, 'done')} done, {of(outcomes, 'unknown')} unknown, {of(outcomes, 'refused')} refused; {moved} sessions ended")
    print(f"{len(asked)} approvals: {of(asked, 'done')} done, {of(asked, 'unknown')} unknown")
    print(f"{len(twice)} run twice, {len(lost)} reported as done that did not run once, {len(ran)} reported as refused that ran")
    faults = []
    if len(outcomes) != wanted:
        faults.append(f"{wanted - len(outcomes)} calls did not end")
    if twice or lost or ran:
        faults.append(f"twice {twice[:5]}, lost {lost[:5]}, ran {ran[:5]}")
    if any(record.get(id, 0) > 1 for id in asked):
        faults.append("an approval was carried out twice")
    if of(asked, "done") + of(asked, "unknown") != len(asked):
        faults.append("an approval has no end")
    # The store was killed once, too.
    if of(asked, "unknown") > killed + 1:
        faults.append(f"{of(asked, 'unknown')} approvals unknown with {killed} kills")
    if faults:
        sys.exit("; ".join(faults))
    print(f"{len(outcomes)} passed, 0 failed")


asyncio.run(main())
