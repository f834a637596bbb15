"""A program called ``go`` that does what a test needs: the real one cannot be made to fail on demand."""

import json
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = """#!{python} -IS
import json, os, sys, time
here = {here!r}
plan = json.load(open(here + "/plan.json"))
command = sys.argv[1]
if command == "env" and sys.argv[2] == "GOVERSION":
    sys.exit(print("go" + plan["version"]))
if command == "env":
    sys.exit(print(json.dumps({{name: plan["settings"].get(name, "") for name in sys.argv[3:]}})))
with open(here + "/calls.jsonl", "a") as log:
    log.write(json.dumps({{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}}) + "\\n")
time.sleep(plan["seconds"])
if command in plan["failures"]:
    sys.exit(plan["failures"][command])
if command == "build":
    target, packages = sys.argv[sys.argv.index("-o") + 1], sys.argv[sys.argv.index("-o") + 2:]
    names = [target] if not target.endswith("/") else [target + p.rpartition("/")[2] for p in packages]
    for name in names:
        open(name, "w").write("built by go " + plan["version"])
        os.chmod(name, 0o755)
"""


@dataclass(frozen=True)
class FakeGo:
    directory: Path

    @classmethod
    def install(cls, directory: Path) -> "FakeGo":
        directory.mkdir()
        program = directory / "go"
        program.write_text(SCRIPT.format(python=sys.executable, here=str(directory)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        fake = cls(directory)
        fake.plan(version="1.26.8", settings={"GOPROXY": "https://proxy.example"}, failures={}, seconds=0)
        return fake

    def plan(self, **changes: Any) -> None:
        """Change what it does: version, settings of ``go env``, words to fail a command with, seconds to take."""
        path = self.directory / "plan.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | changes))
        (self.directory / "go").touch()  # another version of Go is another file

    def calls(self, command: str) -> list[dict[str, Any]]:
        log = self.directory / "calls.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [call for call in map(json.loads, lines) if call["argv"][0] == command]
