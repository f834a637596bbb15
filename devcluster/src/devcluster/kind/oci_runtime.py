#!/usr/bin/python3 -SE
"""OCI runtime for machines on which even root may not do everything.

Docker gives privileged containers every capability, high limits and a low oom_score_adj. Where the
kernel would refuse one of them it refuses the container, so this drops what would be refused and
then becomes runc. It runs inside the private daemon's file system, on its own: standard library only.
"""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

RUNC = "/usr/sbin/runc"

# In the order of their numbers in the kernel.
CAPABILITIES = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE",
)  # fmt: skip


def bounding_set(status: str) -> set[str]:
    """The capabilities that a process may have at all, from its /proc/PID/status."""
    mask = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapBnd:"))
    return {f"CAP_{name}" for number, name in enumerate(CAPABILITIES) if mask >> number & 1}


def clip(process: dict[str, Any], allowed: set[str], hard_limits: dict[str, int], oom_score_adj: int) -> None:
    """Take out of an OCI process description what the kernel would refuse."""
    capabilities = process.get("capabilities") or {}
    for kind, names in capabilities.items():
        capabilities[kind] = [name for name in names or [] if name in allowed]
    process["rlimits"] = [limit for limit in process.get("rlimits") or [] if fits(limit, hard_limits)]
    if process.get("oomScoreAdj") is not None:
        process["oomScoreAdj"] = max(process["oomScoreAdj"], oom_score_adj)


def fits(limit: dict[str, Any], hard_limits: dict[str, int]) -> bool:
    """True if a limit can be set without raising our own hard limit."""
    hard = hard_limits.get(limit["type"], resource.RLIM_INFINITY)
    return hard == resource.RLIM_INFINITY or limit["hard"] <= hard


def clip_file(path: Path, *keys: str) -> None:
    """Clip the process description in a JSON file, at ``keys`` in it."""
    document = json.loads(path.read_text())
    process = document
    for key in keys:
        process = process[key]
    limits = {name: resource.getrlimit(getattr(resource, name))[1] for name in dir(resource) if name[:7] == "RLIMIT_"}
    own = int(Path("/proc/self/oom_score_adj").read_text())
    clip(process, bounding_set(Path("/proc/self/status").read_text()), limits, own)
    path.write_text(json.dumps(document))


def option(arguments: list[str], names: tuple[str, ...]) -> str | None:
    """The value of an option, given as ``--name value`` or ``--name=value``."""
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else arguments[position + 1]
    return None


def main(arguments: list[str]) -> None:
    process = option(arguments, ("--process", "-p"))
    if "create" in arguments or "run" in arguments:
        clip_file(Path(option(arguments, ("--bundle", "-b")) or ".") / "config.json", "process")
    elif "exec" in arguments and process is not None:
        clip_file(Path(process))
    os.execv(RUNC, ["runc", *arguments])  # noqa: S606 - becoming runc is the point


if __name__ == "__main__":
    main(sys.argv[1:])
