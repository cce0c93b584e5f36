"""The official Python SDK as a client: `proxy-client.py MODE URL` or `proxy-client.py MODE -- COMMAND..`, of a proxy in
front of the fixture server's `--conformance`; MODE is `legacy` or a protocol version. With $BEARER it says who it is."""

import os
import sys

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

MODE, *TARGET = sys.argv[1:]
IS_LEGACY = MODE == "legacy"


def target():
    if TARGET[0] == "--":
        return StdioServerParameters(command=TARGET[1], args=TARGET[2:], env=dict(os.environ))
    headers = {"Cookie": os.environ.get("COOKIE", "a=b")}
    if "BEARER" in os.environ:
        headers["Authorization"] = f"Bearer {os.environ['BEARER']}"
    return streamable_http_client(TARGET[0], http_client=httpx2.AsyncClient(headers=headers, timeout=30))


async def elicit(_context, params):
    wanted = params.requested_schema["required"]
    return types.ElicitResult(action="accept", content={name: f"given {name}" for name in wanted})


async def sample(_context, params):
    said = params.messages[0].content.text
    return types.CreateMessageResult(role="assistant", content=types.TextContent(text=f"heard {said}"), model="none")


def text(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def main():
    steps = []
    progress, logged = [], []

    async def on_progress(done, total, _message):
        progress.append((done, total))

    async def on_log(params):
        logged.append(params.data)

    client = Client(
        target(), mode=MODE, elicitation_callback=elicit, sampling_callback=sample, logging_callback=on_log,
        read_timeout_seconds=30,
    )
    async with client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert "test_simple_text" in tools and len(tools) == len(set(tools)) >= 27, tools
        steps.append(f"{len(tools)} tools")

        assert text(await client.call_tool("test_simple_text", {})) == "a line"
        failed = await client.call_tool("test_error_handling", {})
        assert failed.is_error and "failed" in text(failed), failed
        await client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
        assert progress == [(0, 100), (50, 100), (100, 100)], progress
        echoed = await client.call_tool("json_schema_2020_12_tool", {"name": "ü", "phone": "1"})
        assert '"ü"' in text(echoed), echoed
        steps.append("calls")

        asking = "test_elicitation" if IS_LEGACY else "test_input_required_result_elicitation"
        wanted = "username" if IS_LEGACY else "name"
        answered = text(await client.call_tool(asking, {"message": "who?"} if IS_LEGACY else {}))
        assert f"given {wanted}" in answered, answered
        answered = text(await client.call_tool("test_sampling", {"prompt": "echo"}))
        assert "heard echo" in answered, answered
        if not IS_LEGACY:
            answered = text(await client.call_tool("test_input_required_result_multi_round", {}))
            assert "given name" in answered and "given color" in answered, answered
        steps.append("what it asks back")

        if IS_LEGACY:
            await client.call_tool("test_tool_with_logging", {})
            with anyio.move_on_after(5):
                while len(logged) < 3:
                    await anyio.sleep(0.05)
            assert logged == ["begun", "half done", "done"], logged
            steps.append("logs")

        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert "test_prompt_with_arguments" in prompts, prompts
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "x", "arg2": "y"})
        assert "One is x" in prompt.messages[0].content.text, prompt
        completed = await client.complete(
            types.PromptReference(name="test_prompt_with_arguments"), {"name": "arg1", "value": "te"}
        )
        assert completed.completion.values == ["tests", "testimony", "teapot"], completed
        steps.append(f"{len(prompts)} prompts")

        resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert "test://static-text" in resources, resources
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["test://template/{id}/data"], templates
        read = await client.read_resource("test://template/7/data")
        assert '"7"' in read.contents[0].text, read
        steps.append(f"{len(resources)} resources")

        for wrong in (client.call_tool("no_such_tool", {}), client.read_resource("test://no-such-resource")):
            try:
                result = await wrong
                assert result.is_error, result
            except MCPError:
                pass
        steps.append("errors")
    print("; ".join(steps))


anyio.run(main)
