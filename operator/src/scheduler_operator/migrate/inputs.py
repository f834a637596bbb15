"""Inputs that another input refers to: files by path, ConfigMaps by name, and documents inside their texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from scheduler_operator.migrate.input_part import ImportNotes, InputPart
from scheduler_runtime import config


@dataclass(slots=True)
class OtherInputs:
    """The inputs beside the one being read.

    A manifest claims those that its flags and volumes refer to; they are not imported once more on their own then.
    """

    files: Mapping[str, str]
    config_maps: dict[str, InputPart] = field(default_factory=dict)
    """By name."""
    documents: list[InputPart] = field(default_factory=list)
    """Configurations that stand alone among the inputs."""
    claimed: set[int] = field(default_factory=set)
    """The identities of the inputs that another one has claimed."""

    def file(self, path: str) -> str | None:
        """Return the content of the file at ``path``, or else of a file with the same last name."""
        if path in self.files:
            return self.files[path]
        name = path.rpartition("/")[2]
        return next((text for other, text in self.files.items() if other.rpartition("/")[2] == name), None)

    def claim_config_map(self, name: str) -> InputPart | None:
        """Return the ConfigMap called ``name``, and claim it."""
        config_map = self.config_maps.get(name)
        if config_map is not None:
            self.claimed.add(id(config_map))
        return config_map

    def claim_only_document(self) -> InputPart | None:
        """Return the configuration that must be meant because there is no other, and claim it."""
        unclaimed = [part for part in self.documents if id(part) not in self.claimed]
        if len(unclaimed) != 1:
            return None
        self.claimed.add(id(unclaimed[0]))
        return unclaimed[0]


@dataclass(frozen=True, slots=True)
class ContainerFiles:
    """The configurations that a container's flags refer to, found through its volumes among the other inputs."""

    container: InputPart
    spec: InputPart
    """The pod's spec, which has the volumes."""
    inputs: OtherInputs

    def read_file(self, file: str, flag_path: str) -> InputPart | None:
        """Return the configuration in ``file``; None after a refusal at ``flag_path`` when the inputs lack the file."""
        notes = self.container.notes
        if (text := self.inputs.file(file)) is not None:
            return read_text(text, flag_path, notes)
        missing = "that file"
        volumes = {str(volume.get("name")): volume.get("configMap") for volume in _mappings(self.spec.value, "volumes")}
        for mount in _mappings(self.container.value, "volumeMounts"):
            folder = str(mount.get("mountPath") or "").rstrip("/")
            volume = volumes.get(str(mount.get("name")))
            if not folder or not isinstance(volume, dict) or not f"{file}/".startswith(f"{folder}/"):
                continue
            # mountPath is the file itself when a subPath is mounted.
            path = file[len(folder) :].lstrip("/") or str(mount.get("subPath") or "")
            keys = [str(item.get("key")) for item in _mappings(volume, "items") if item.get("path") == path]
            name = str(volume.get("name"))
            if (config_map := self.inputs.claim_config_map(name)) is not None:
                return read_config_map(config_map, next(iter(keys), path or None))
            missing = f"the ConfigMap {name}"
            break
        # Somebody who gives one Deployment and one configuration means the one by the other, whatever the mount.
        if (document := self.inputs.claim_only_document()) is not None:
            return document
        notes.refuse(flag_path, f"names {file}, which is not among the inputs: give {missing} as well")
        return None

    def read_config_map(self, name: str, flag_path: str) -> InputPart | None:
        """Return the configuration in the ConfigMap ``name``; None after a refusal when the inputs lack it."""
        if (config_map := self.inputs.claim_config_map(name)) is not None:
            return read_config_map(config_map)
        if (document := self.inputs.claim_only_document()) is not None:
            return document
        message = f"names the ConfigMap {name}, which is not among the inputs: give it as well"
        self.container.notes.refuse(flag_path, message)
        return None


def read_config_map(source: InputPart, key: str | None = None) -> InputPart | None:
    """Return the configuration under ``key``, or under the only key that holds one.

    None, with the reason among the problems, when no key or more than one is possible.
    """
    source.take("apiVersion")
    source.take("kind")
    data = source.mapping("data")
    texts = {name: value for name, value in data.value.items() if isinstance(value, str)}
    if key is None:
        documents = {name: _parse(text) for name, text in texts.items()}
        # The oldest Policies have no kind.
        keys = [
            name
            for name, document in documents.items()
            if isinstance(document, config.Source) and document.value.keys() & {"kind", "predicates", "priorities"}
        ]
        if len(keys) > 1:
            message = f"holds several configurations, {', '.join(keys)}: import each as a file of its own"
            data.notes.refuse(data.path, message)
            return None
        if not keys:
            message = f"holds no configuration of a scheduler; its keys are {', '.join(texts) or 'none'}"
            data.notes.refuse(data.path, message)
            return None
        key = keys[0]
    if key not in texts:
        data.notes.refuse(data.path, f"has no key {key!r}; it has {', '.join(texts) or 'none'}")
        return None
    configuration = read_text(data.text(key) or "", data.path_of(key), data.notes, source.allowed)
    source.remark_unread(lambda _path, name: f"left out: {name} is not part of a scheduler's configuration")
    return configuration


def read_text(text: str, path: str, notes: ImportNotes, allowed: Collection[str] = ()) -> InputPart | None:
    """Return the one mapping that ``text`` holds; None, with the reason among the problems, if it holds anything else.

    ``allowed`` are the codes of findings that comments around the text accept, besides those in it.
    """
    match _parse(text):
        case str() as problem:
            notes.refuse(path, problem)
            return None
        case source:
            return InputPart(source.value, notes, path, {*allowed, *source.allowed_codes})


def _parse(text: str) -> config.Source | str:
    """Return the one document of ``text``, which is a mapping, or why there is none."""
    sources = config.read_yaml(text)
    if isinstance(sources, config.Problems):
        return "; ".join(str(problem) for problem in sources)
    if len(sources) != 1 or not isinstance(sources[0].value, dict):
        return "does not hold one mapping of fields, as a configuration of a scheduler does"
    return sources[0]


def _mappings(value: Mapping[str, object], key: str) -> list[dict[str, object]]:
    """Return a list of mappings without marking it as read: its fields are looked at, but not carried over."""
    items = value.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
