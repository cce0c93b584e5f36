"""What `.ci/live` builds with: workspaces of their own, a count of steps, and what is running."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / ".ci/cache"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PROFILE = TARGET / "debug"
OURS = ("MCP_BINDGEN_LIVE", "MCP_SERVERS", "DOCS_RS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RA_RUSTC_WRAPPER")

passed = failed = 0


def check(name):
    """Runs a step at once, and counts it; of those that the command line asks for by some of their words."""

    def run(step):
        global passed, failed
        if sys.argv[1:] and not any(words in name for words in sys.argv[1:]):
            return
        begun = time.monotonic()
        try:
            figure = step()
        except Exception as error:  # Whatever goes wrong, the steps after it run.
            failed += 1
            text = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
            print(f"FAILED  {name}\n" + "\n".join(f"        {line}" for line in text.splitlines()), flush=True)
        else:
            passed += 1
            took = f"{time.monotonic() - begun:.1f} s"
            print(f"ok      {name} ({figure}; {took})" if figure else f"ok      {name} ({took})", flush=True)

    return run


class Failure(Exception):
    pass


def expect(condition, what, said=""):
    if not condition:
        raise Failure(f"{what}\n{said}")


class Project:
    """A workspace of its own, with the versions that this one is locked to."""

    def __init__(self, folder, members):
        self.folder = folder
        self.starts = folder / "starts"
        self.members = members
        folder.mkdir()
        shutil.copy(ROOT / "Cargo.lock", folder)
        profile = 'debug = "line-tables-only"\n'
        listed = ", ".join(f'"{member}"' for member in members)
        self.write(
            "Cargo.toml",
            f'[workspace]\nresolver = "3"\nmembers = [{listed}]\n[profile.dev]\n{profile}[profile.dev.build-override]\n{profile}',
        )

    def write(self, file, text):
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def member(self, name, kind, servers):
        manifest = f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n'
        if kind == "script":
            features = 'default-features = false, features = ["stdio"]'
            manifest += f'[build-dependencies]\nmcp-bindgen-codegen = {{ path = "{ROOT}/mcp-codegen", features = ["live"] }}\n'
            calls = "".join(f'.server("{server}")' for server in servers)
            self.write(
                f"{name}/build.rs",
                "fn main() -> Result<(), Box<dyn std::error::Error>> {\n"
                f"    Ok(mcp_bindgen_codegen::build_script::Builder::new(){calls}.compile()?)\n}}\n",
            )
            bindings = "".join(f'mcp_bindgen::include_bindings!("{server}");\n' for server in servers)
        else:
            features = 'features = ["live"]' if kind == "macro" else "features = []"
            bindings = "".join(f'mcp_bindgen::mcp_tools!("{server}");\n' for server in servers)
        shown = "".join(f'    println!("{server} {{}}", {server}::TOOLS.len());\n' for server in servers)
        if kind != "plain":
            manifest += f'[dependencies]\nmcp-bindgen = {{ path = "{ROOT}", {features} }}\n'
        self.write(f"{name}/Cargo.toml", manifest)
        self.write(f"{name}/src/main.rs", f"{bindings if kind != 'plain' else ''}fn main() {{\n{shown if kind != 'plain' else ''}}}\n")

    def configure(self, more="", **servers):
        """Servers by name, each started by a program that counts its starts. With all that there is to build anew."""
        text = more
        for name, (command, keys) in servers.items():
            program = self.write(f"bin/{name}", f'#!/bin/sh\necho "{name} $$" >>"{self.starts}"\n{command}\n')
            program.chmod(0o755)
            text += f'[servers.{name}]\ncommand = "bin/{name}"\n{keys}\n'
        self.write("mcp.toml", text)
        self.starts.write_text("")

    def forget(self):
        shutil.rmtree(self.folder / "mcp", ignore_errors=True)

    def started(self):
        """The servers that were started, with the numbers of their processes."""
        return [(name, int(pid)) for name, pid in map(str.split, self.starts.read_text().splitlines())]

    def names(self):
        return sorted(name for name, _ in self.started())

    def environment(self, live=None, **more):
        kept = {name: value for name, value in os.environ.items() if name not in OURS}
        kept |= {"CARGO_TARGET_DIR": str(TARGET), "CARGO_TERM_COLOR": "never"} | more
        return kept | ({"MCP_BINDGEN_LIVE": live} if live is not None else {})

    def cargo(self, *arguments, live=None, launcher=(), **more):
        run = subprocess.run(
            [*launcher, "cargo", *arguments, "--offline"],
            cwd=self.folder,
            env=self.environment(live, **more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
        )
        run.said = run.stdout + run.stderr
        return run

    def touch(self):
        """Everything that has bindings is to be built once more."""
        os.utime(self.folder / "mcp.toml")
        snapshots = self.folder / "mcp"
        for file in snapshots.glob("*.json") if snapshots.is_dir() else ():
            os.utime(file)

    def build(self, *arguments, live=None, **more):
        self.touch()
        self.starts.write_text("")
        run = self.cargo("build", *arguments, live=live, **more)
        expect(run.returncode == 0, "the build failed", run.said)
        return run.stderr

    def fails(self, *arguments, live=None, **more):
        self.touch()
        self.starts.write_text("")
        run = self.cargo("build", *arguments, live=live, **more)
        expect(run.returncode != 0, "the build did not fail", run.said)
        return run.stderr

    def sync(self, *servers):
        run = subprocess.run(
            [PROFILE / "mcp-bindgen", "sync", *servers], cwd=self.folder, env=self.environment(), capture_output=True, text=True
        )
        expect(run.returncode == 0, "sync failed", run.stderr)

    def stale(self, live=None):
        """The packages of this project that a build compiles."""
        run = self.cargo("build", "--message-format=json", live=live)
        expect(run.returncode == 0, "the build failed", run.said)
        messages = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        built = [m for m in messages if m["reason"] == "compiler-artifact" and not m["fresh"]]
        return sorted({m["target"]["name"] for m in built if m["target"]["kind"] != ["custom-build"]})

    def says(self, member):
        return subprocess.run([PROFILE / member], capture_output=True, text=True, check=True).stdout.split("\n")

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path != self.starts)

    def clean(self):
        names = [flag for member in self.members for flag in ("--package", member)]
        self.cargo("clean", *names)


def script_output(member, file):
    """What the last run of a build script wrote."""
    found = list(PROFILE.glob(f"build/{member}-*/out/mcp_bindgen/{file}"))
    expect(found, f"{member} wrote no {file}")
    return max(found, key=lambda path: path.stat().st_mtime)


def running(group):
    """The processes of a group that are no zombies."""
    listed = subprocess.run(["ps", "-eo", "pgid=,pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 3) for line in listed.splitlines()]
    return [row for row in rows if int(row[0]) == group and not row[2].startswith("Z")]


def guards():
    listed = subprocess.run(["ps", "-eo", "stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "read -r group || exit 0" in line and not line.startswith("Z")]


def soon(condition, what, seconds=60):
    begun = time.monotonic()
    while not condition():
        expect(time.monotonic() - begun < seconds, f"not within {seconds} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - begun


def nothing_left(project):
    for name, pid in project.started():
        soon(lambda: not running(pid), f"{name} lives on: {running(pid)}")
    soon(lambda: not guards(), f"guards are left: {guards()}")


def summary():
    """Prints the counts, and gives the exit code: a failure where a step failed or none ran."""
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
