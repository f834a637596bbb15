"""The command line of a kube-scheduler: the configuration it names, and what its flags say beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler_operator.migrate.config_maps import configuration
from scheduler_operator.migrate.context import Context
from scheduler_operator.migrate.documents import UNLIMITED
from scheduler_operator.migrate.draft import Args, Process, ProfileDraft, Unelected
from scheduler_operator.migrate.flags import BESIDE_CONFIG, CARRIED, EXPLAINED, PROGRAM, Flag, read_flags
from scheduler_operator.migrate.gates import read_gates
from scheduler_operator.migrate.modernise import keep_old_weights
from scheduler_operator.migrate.outcome import Notes
from scheduler_operator.migrate.parts import Part, trouble_with_duration
from scheduler_operator.migrate.providers import choose_provider
from scheduler_operator.migrate.texts import read_text

ReadConfiguration = Callable[[Part], Process | None]
_DURATIONS = {
    "leader-elect-lease-duration": "leaseDuration",
    "leader-elect-renew-deadline": "renewDeadline",
    "leader-elect-retry-period": "retryPeriod",
}
_SWITCHES = {"profiling": "/enableProfiling", "contention-profiling": "/enableContentionProfiling"}


def read_command_line(
    container: Part, spec: Part, context: Context, read_configuration: ReadConfiguration
) -> Process | None:
    """The process that the container's command starts."""
    words = [(word, f"{container.at(key)}[{at}]") for key in ("command", "args") for at, word in _words(container, key)]
    flags = {flag.name: flag for flag in read_flags(words)}
    mounts = _Mounts(container, spec, context)
    process = _configured(flags, mounts, container.notes, read_configuration)
    if process is not None:
        _tell(flags, container.notes)
        _Applying(process, flags, container.notes).apply()
    return process


def _words(container: Part, key: str) -> list[tuple[int, str]]:
    return list(enumerate(container.texts(key)))


def _configured(
    flags: dict[str, Flag], mounts: _Mounts, notes: Notes, read_configuration: ReadConfiguration
) -> Process | None:
    """The process as its configuration has it, before its flags; None when that cannot be had."""
    policy_file, policy_map = flags.get("policy-config-file"), flags.get("policy-configmap")
    legacy = flags.get("use-legacy-policy-config")
    if policy_file and (policy_map is None or (legacy and legacy.value == "true")):
        part = mounts.file(policy_file)
    elif policy_map:
        part = mounts.config_map(policy_map)
    elif config := flags.get("config"):
        part = mounts.file(config)
    else:
        if "kube-api-qps" not in flags:
            notes.remark(mounts.container.path, UNLIMITED)
        return Process(profiles=[ProfileDraft()])
    if part is None:
        return None
    for name in ("config", "policy-config-file", "policy-configmap"):
        if name in flags:
            notes.remark(flags[name].path, f"--{name}: what it names is imported with the manifest")
    return read_configuration(part)


@dataclass(frozen=True, slots=True)
class _Mounts:
    """Where a container's files come from."""

    container: Part
    spec: Part
    context: Context

    def file(self, flag: Flag) -> Part | None:
        """The configuration in the file that ``flag`` names."""
        notes = self.container.notes
        if (text := self.context.file(flag.value)) is not None:
            return read_text(text, flag.path, notes)
        name, key = self._config_map_of(flag.value)
        if name and (found := self.context.config_map(name)) is not None:
            return configuration(found, key)
        if (found := self.context.only_document()) is not None:
            return found
        wanted = f"the ConfigMap {name}" if name else "that file"
        notes.refuse(flag.path, f"names {flag.value}, which is not among the inputs: give {wanted} as well")
        return None

    def config_map(self, flag: Flag) -> Part | None:
        """The configuration in the ConfigMap that ``flag`` names."""
        if (found := self.context.config_map(flag.value)) is not None:
            return configuration(found)
        if (found := self.context.only_document()) is not None:
            return found
        message = f"names the ConfigMap {flag.value}, which is not among the inputs: give it as well"
        self.container.notes.refuse(flag.path, message)
        return None

    def _config_map_of(self, path: str) -> tuple[str | None, str | None]:
        """The name and the key of the ConfigMap that is mounted at ``path``."""
        volumes = {str(volume.get("name")): volume.get("configMap") for volume in _mappings(self.spec, "volumes")}
        for mount in _mappings(self.container, "volumeMounts"):
            where = str(mount.get("mountPath") or "").rstrip("/")
            config_map = volumes.get(str(mount.get("name")))
            if where and isinstance(config_map, dict) and (path == where or path.startswith(f"{where}/")):
                inside = path[len(where) :].lstrip("/") or str(mount.get("subPath") or "")
                return str(config_map.get("name")), _key(config_map, inside)
        return None, None


def _mappings(part: Part, key: str) -> list[dict[str, object]]:
    """A list of mappings that is looked at, but whose fields find no place."""
    value = part.value.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _key(config_map: dict[str, object], path: str) -> str | None:
    items = config_map.get("items")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("path") == path:
            return str(item.get("key"))
    return path or None


def _tell(flags: dict[str, Flag], notes: Notes) -> None:
    for flag in flags.values():
        if flag.name in EXPLAINED:
            notes.remark(flag.path, f"--{flag.name}: {EXPLAINED[flag.name]}")
        elif flag.name not in CARRIED:
            notes.remark(flag.path, f"--{flag.name}: left out, because no {PROGRAM} ever had such a flag")
        elif "config" in flags and flag.name not in BESIDE_CONFIG:
            notes.remark(flag.path, f"--{flag.name}: left out, because {PROGRAM} ignores it when --config is given")


@dataclass(frozen=True, slots=True)
class _Applying:
    """Flags on top of a configuration, as far as kube-scheduler heeds them there."""

    process: Process
    flags: dict[str, Flag]
    notes: Notes

    def apply(self) -> None:
        """Carry every flag over that has a place."""
        for name, flag in self.flags.items():
            if name in CARRIED and ("config" not in self.flags or name in BESIDE_CONFIG):
                self._apply(flag)

    def _apply(self, flag: Flag) -> None:
        match flag.name:
            case "v":
                self.process.scheduler["logLevel"] = self._whole_number(flag)
            case "kube-api-qps":
                self.process.connect("qps", self._number(flag))
            case "kube-api-burst":
                self.process.connect("burst", self._whole_number(flag))
            case "kube-api-content-type":
                self.process.override("/clientConnection/contentType", flag.value)
            case "feature-gates":
                self.process.scheduler["featureGates"] = read_gates(flag.value, flag.path, self.notes)
            case "leader-elect":
                self._elect(flag)
            case name if name in _DURATIONS:
                self._elect_within(flag, _DURATIONS[name])
            case name if name in _SWITCHES:
                self.process.override(_SWITCHES[name], False if flag.value == "false" else None)
            case _:
                self._apply_to_profile(flag, self.process.profiles[0])

    def _apply_to_profile(self, flag: Flag, draft: ProfileDraft) -> None:
        match flag.name:
            case "scheduler-name":
                draft.name, draft.name_path = flag.value, flag.path
            case "hard-pod-affinity-symmetric-weight":
                fields = draft.args.setdefault("InterPodAffinity", Args({}, flag.path)).fields
                fields.setdefault("hardPodAffinityWeight", self._whole_number(flag))
            case "algorithm-provider":
                choose_provider(draft, flag.value, self.notes, flag.path)
                keep_old_weights(draft, self.notes, flag.path)

    def _elect(self, flag: Flag) -> None:
        """The flag counts even where the configuration says the opposite."""
        said = f"--leader-elect={flag.value}"
        if self.process.unelected:
            self.notes.remark(self.process.unelected.path, f"left out, because {said} counts instead")
        self.process.unelected = Unelected(flag.path, said) if flag.value == "false" else None

    def _elect_within(self, flag: Flag, field: str) -> None:
        if trouble := trouble_with_duration(flag.value):
            self.notes.refuse(flag.path, f"--{flag.name}: {trouble}")
        before = self.process.scheduler.get("leaderElection", {}).get(field)
        if before not in (None, flag.value):
            self.notes.remark(flag.path, f"--{flag.name} counts instead of {field}: {before} in the configuration")
        self.process.elect(field, flag.value)

    def _whole_number(self, flag: Flag) -> int | None:
        number = self._number(flag)
        return int(number) if number is not None else None

    def _number(self, flag: Flag) -> float | None:
        try:
            number = float(flag.value)
            return int(number) if number.is_integer() else number
        except (ValueError, OverflowError):
            self.notes.refuse(flag.path, f"--{flag.name}: {flag.value!r} is not a number")
            return None
