"""Which of the objects in some files belong together: profiles that join, plugin configurations beside them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from scheduler_operator.cli.sorting import Sorted, name_of
from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.render import Problems, joins, read, references
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.config import Source


class Neighbours:
    """Looks up by name. What stands in the same file goes before what stands in another."""

    def __init__(self, given: Sorted) -> None:
        self._profiles: dict[str, list[Source]] = defaultdict(list)
        for profile in given.profiles:
            self._profiles[name_of(profile)].append(profile)
        self._joiners: dict[int, list[Source]] = defaultdict(list)
        for profile in sorted(given.profiles, key=name_of):
            if (joined := self.joined(profile)) is not None:
                self._joiners[id(joined)].append(profile)
        self.everywhere: dict[str, Source] = {}
        """The plugin configurations of all files that the API server would take."""
        self._of_file: dict[str, dict[str, Source]] = defaultdict(dict)
        self._misshapen: set[str] = set()
        for plugin_config in given.plugin_configs:
            self._sort(plugin_config)

    def _sort(self, plugin_config: Source) -> None:
        name = name_of(plugin_config)
        if isinstance(read(PluginConfigSpec, plugin_config.value["spec"]), Problems):
            self._misshapen.add(name)
        else:
            self.everywhere[name] = self._of_file[plugin_config.name][name] = plugin_config

    def joined(self, profile: Source) -> Source | None:
        """The profile in whose process ``profile`` wants to run, if it is there."""
        named = self._profiles.get(joins(authored(profile)), ())
        return min(named, key=lambda each: each.name != profile.name, default=None)

    def joiners(self, profile: Source) -> Sequence[Source]:
        """The profiles that want to run in the process of ``profile``."""
        return self._joiners.get(id(profile), ())

    def beside(self, source: Source) -> Mapping[str, Source]:
        """The plugin configurations that an object in the file of ``source`` can refer to, by name."""
        return {**self.everywhere, **self._of_file.get(source.name, {})}

    def needs_misshapen(self, profile: Source) -> bool:
        """Whether ``profile``, or one that joins it, names a plugin configuration that the API server would not take.

        What is wrong with that one is told there; of the profile nothing can be said.
        """
        together = (profile, *self.joiners(profile))
        named = {name for each in together for name in references(authored(each))}
        return bool(named & self._misshapen - self.beside(profile).keys())


def plugin_configs(sources: Mapping[str, Source]) -> dict[str, UserObject]:
    """The plugin configurations in ``sources`` as rendering takes them."""
    return {name: authored(source) for name, source in sources.items()}


def authored(source: Source) -> UserObject:
    """A profile or a plugin configuration as if the API server had sent it."""
    value = source.value
    annotations = value["metadata"].get("annotations") or {}
    return UserObject(
        value["kind"], name_of(source), uid="", generation=0, spec=value["spec"], status={}, annotations=annotations
    )
