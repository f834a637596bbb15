"""Read the command line of a kube-scheduler: the configuration that its flags name, and the other flags on top."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_operator.migrate.api_versions import apply_provider, keep_old_weights
from scheduler_operator.migrate.documents import UNLIMITED
from scheduler_operator.migrate.draft import ArgsDraft, ElectionOff, ProcessDraft, ProfileDraft
from scheduler_operator.migrate.flags import (
    BESIDE_CONFIG,
    CARRIED,
    EXPLAINED,
    PROGRAM,
    CommandFlag,
    read_feature_gates,
    read_flags,
)
from scheduler_operator.migrate.input_part import ImportNotes, InputPart, duration_problem
from scheduler_operator.migrate.inputs import ContainerFiles, OtherInputs

ReadConfiguration = Callable[[InputPart], ProcessDraft | None]
"""Reads a KubeSchedulerConfiguration or a Policy."""
_DURATIONS = {
    "leader-elect-lease-duration": "leaseDuration",
    "leader-elect-renew-deadline": "renewDeadline",
    "leader-elect-retry-period": "retryPeriod",
}
_PROFILING = {"profiling": "/enableProfiling", "contention-profiling": "/enableContentionProfiling"}


def read_command_line(
    container: InputPart, spec: InputPart, inputs: OtherInputs, read_configuration: ReadConfiguration
) -> ProcessDraft | None:
    """Return the process that the container's command starts; None if its configuration cannot be read.

    ``spec`` is that of the pod, with the volumes in which the configuration may be.
    """
    notes = container.notes
    words = [
        (word, f"{container.path_of(key)}[{index}]")
        for key in ("command", "args")
        for index, word in enumerate(container.texts(key))
    ]
    flags = {flag.name: flag for flag in read_flags(words)}
    process = _configured_process(flags, ContainerFiles(container, spec, inputs), read_configuration)
    if process is None:
        return None
    for flag in flags.values():
        if flag.name in EXPLAINED:
            notes.remark(flag.path, f"--{flag.name}: {EXPLAINED[flag.name]}")
        elif flag.name not in CARRIED:
            notes.remark(flag.path, f"--{flag.name}: left out, because no {PROGRAM} ever had such a flag")
        elif "config" in flags and flag.name not in BESIDE_CONFIG:
            notes.remark(flag.path, f"--{flag.name}: left out, because {PROGRAM} ignores it when --config is given")
    for flag in flags.values():
        if flag.name in CARRIED and ("config" not in flags or flag.name in BESIDE_CONFIG):
            _apply_flag(flag, process, notes)
    return process


def _configured_process(
    flags: dict[str, CommandFlag], files: ContainerFiles, read_configuration: ReadConfiguration
) -> ProcessDraft | None:
    """Return the process as its configuration describes it, before the other flags."""
    policy_file, policy_map = flags.get("policy-config-file"), flags.get("policy-configmap")
    legacy, config = flags.get("use-legacy-policy-config"), flags.get("config")
    # The ConfigMap of a Policy comes before the file of a Policy, unless the legacy flag says otherwise; either comes
    # before the file of a configuration (cmd/kube-scheduler/app/options/deprecated.go, up to 1.22).
    if policy_file and (policy_map is None or (legacy and legacy.value == "true")):
        document = files.read_file(policy_file.value, policy_file.path)
    elif policy_map:
        document = files.read_config_map(policy_map.value, policy_map.path)
    elif config:
        document = files.read_file(config.value, config.path)
    else:
        if "kube-api-qps" not in flags:
            files.container.notes.remark(files.container.path, UNLIMITED)
        return ProcessDraft(profiles=[ProfileDraft()])
    if document is None:
        return None
    for flag in (config, policy_file, policy_map):
        if flag:
            files.container.notes.remark(flag.path, f"--{flag.name}: what it names is imported with the manifest")
    return read_configuration(document)


def _apply_flag(flag: CommandFlag, process: ProcessDraft, notes: ImportNotes) -> None:
    """Carry the value of a flag over to the process, or to its first profile."""
    draft = process.profiles[0]
    match flag.name:
        case "v":
            process.scheduler["logLevel"] = _whole_number(flag, notes)
        case "kube-api-qps":
            process.set_connection("qps", _number(flag, notes))
        case "kube-api-burst":
            process.set_connection("burst", _whole_number(flag, notes))
        case "kube-api-content-type":
            process.override("/clientConnection/contentType", flag.value)
        case "feature-gates":
            process.scheduler["featureGates"] = read_feature_gates(flag, notes)
        case name if name in _PROFILING:
            process.override(_PROFILING[name], False if flag.value == "false" else None)
        case name if name.startswith("leader-elect"):
            _apply_election_flag(flag, process, notes)
        case "scheduler-name":
            draft.name, draft.name_path = flag.value, flag.path
        case "hard-pod-affinity-symmetric-weight":
            fields = draft.args.setdefault("InterPodAffinity", ArgsDraft({}, flag.path)).fields
            fields.setdefault("hardPodAffinityWeight", _whole_number(flag, notes))
        case "algorithm-provider":
            apply_provider(draft, flag.value, notes, flag.path)
            # Providers ended with 1.22, one version before the weights changed.
            keep_old_weights(draft, notes, flag.path)


def _apply_election_flag(flag: CommandFlag, process: ProcessDraft, notes: ImportNotes) -> None:
    """Carry a flag of the leader election over, which counts even where the configuration has another value."""
    if flag.name == "leader-elect":
        words = f"--leader-elect={flag.value}"
        if process.election_off:
            notes.remark(process.election_off.path, f"left out, because {words} counts instead")
        process.election_off = ElectionOff(flag.path, words) if flag.value == "false" else None
        return
    field = _DURATIONS[flag.name]
    if problem := duration_problem(flag.value):
        notes.refuse(flag.path, f"--{flag.name}: {problem}")
    before = process.scheduler.get("leaderElection", {}).get(field)
    if before not in (None, flag.value):
        notes.remark(flag.path, f"--{flag.name} counts instead of {field}: {before} in the configuration")
    process.set_leader_election(field, flag.value)


def _whole_number(flag: CommandFlag, notes: ImportNotes) -> int | None:
    number = _number(flag, notes)
    return int(number) if number is not None else None


def _number(flag: CommandFlag, notes: ImportNotes) -> float | None:
    try:
        number = float(flag.value)
        return int(number) if number.is_integer() else number
    except (ValueError, OverflowError):
        notes.refuse(flag.path, f"--{flag.name}: {flag.value!r} is not a number")
        return None
