"""Compares published versions of servers: one row for each pair, with its proofs judged by another validator."""

import json
import os
import pathlib
import subprocess
import sys

import jsonschema

COMMAND = os.environ["MCP_BINDGEN"]
FOLDER = pathlib.Path(os.environ["CARGO_TARGET_DIR"]) / "server-versions"
# The reports have at most so many lines for breaking changes, without the proofs below them.
MOST_LINES = 160
NOTION = {"NOTION_TOKEN": "none", "OPENAPI_MCP_HEADERS": "{}"}
SERVERS = {
    "filesystem": ("@modelcontextprotocol/server-filesystem", ["2025.7.1", "2025.12.18", "2026.8.31"], ["."], {}),
    "playwright": ("@playwright/mcp", ["0.0.41", "0.0.64", "0.0.83"], [], {}),
    "notion": ("@notionhq/notion-mcp-server", ["1.8.1", "2.1.0", "2.5.2"], [], NOTION),
    "context7": ("@upstash/context7-mcp", ["1.0.33", "2.3.0", "4.1.1"], [], {}),
    "chrome-devtools": ("chrome-devtools-mcp", ["0.24.0", "1.5.0", "1.11.0"], [], {}),
    "firecrawl": ("firecrawl-mcp", ["1.12.0", "3.11.0", "3.26.0"], [], {"FIRECRAWL_API_KEY": "none"}),
}


def name(server, version):
    return f"{server}-{version.replace('.', '-')}"


def snapshots():
    """Writes a snapshot for each version that has none yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    tables = []
    for server, (package, versions, arguments, variables) in SERVERS.items():
        for version in versions:
            environment = ", ".join(f'{key} = "${{{key}}}"' for key in variables)
            tables.append(
                f'[servers.{name(server, version)}]\nnpm = "{package}@{version}"\nargs = {json.dumps(arguments)}\n'
                f'env = {{ {environment} }}\nconnect_timeout = "5m"\n'
            )
    (FOLDER / "mcp.toml").write_text("\n".join(tables))
    variables = {key: value for _, _, _, given in SERVERS.values() for key, value in given.items()}
    for server, (_, versions, _, _) in SERVERS.items():
        for version in versions:
            if not (FOLDER / f"mcp/{name(server, version)}.json").exists():
                # One at a time: npm does not install into one cache twice at once.
                command = [COMMAND, "sync", name(server, version)]
                subprocess.run(command, cwd=FOLDER, env=os.environ | variables, check=True)


def tools(path):
    return {tool["name"]: tool for tool in json.loads(path.read_text())["tools"]}


def is_valid(schema, value, checks_formats):
    validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    return validator(schema, format_checker=validator.FORMAT_CHECKER if checks_formats else None).is_valid(value)


def is_right(change, old, new):
    """Returns True if the witness was fine before and is not any more."""
    before, now = old[change["tool"]], new.get(change["tool"])
    # Only a new format needs a validator that checks formats.
    formats = "`format`" in change["detail"]
    if "sent" in change["witness"]:
        value = change["witness"]["sent"]
        is_refused = now is None or not is_valid(now["inputSchema"], value, formats)
        return is_refused and is_valid(before["inputSchema"], value, formats)
    value = change["witness"]["answered"]
    is_answered = now is not None and is_valid(now.get("outputSchema", {}), value, formats)
    return is_answered and not is_valid(before["outputSchema"], value, formats)


def compare(server, old, new):
    old, new = (FOLDER / f"mcp/{name(server, version)}.json" for version in (old, new))
    run = [COMMAND, "diff", str(old), str(new)]
    text = subprocess.run(run, capture_output=True, text=True).stderr
    changes = json.loads(subprocess.run([*run, "--format", "json"], capture_output=True, text=True).stdout)["changes"]
    lines = [line for line in text.splitlines() if line.strip().startswith("breaking ")]
    breaking = [change for change in changes if change["class"] == "breaking"]
    proven = [change for change in breaking if change["witness"]]
    wrong = [change for change in proven if not is_right(change, tools(old), tools(new))]
    for change in wrong:
        print(f"wrong proof: {json.dumps(change)[:400]}", file=sys.stderr)
    count = lambda kind: sum(change["class"] == kind for change in changes)
    return len(breaking), count("silent"), count("source"), count("compatible"), len(lines), len(proven), len(wrong)


def main():
    snapshots()
    print(f"{'pair':40} {'breaking':>9} {'silent':>7} {'source':>7} {'compatible':>11} {'lines':>6} {'proofs':>7} {'wrong':>6}")
    sums = [0] * 7
    for server, (_, versions, _, _) in SERVERS.items():
        for old, new in zip(versions, versions[1:]):
            row = compare(server, old, new)
            sums = [a + b for a, b in zip(sums, row)]
            print(f"{f'{server} {old} to {new}':40} {row[0]:9} {row[1]:7} {row[2]:7} {row[3]:11} {row[4]:6} {row[5]:7} {row[6]:6}")
    breaking, _, _, _, lines, proofs, wrong = sums
    print(f"{breaking} breaking changes, {proofs} with a proof, {wrong} proofs wrong, told in {lines} lines, at most {MOST_LINES}")
    sys.exit(wrong > 0 or lines > MOST_LINES)


main()
