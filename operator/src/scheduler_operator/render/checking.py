"""What is wrong with a PluginConfig by itself, whoever uses it."""

from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.render.declaring import declaration, declaration_problems, declared
from scheduler_operator.render.expanding import unused_arguments
from scheduler_operator.render.outcome import PluginConfigs, Problems
from scheduler_operator.render.reading import read_leniently
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Problem, unknown


def check(plugin_config: UserObject, plugin_configs: PluginConfigs, namespace: str, target: Target) -> Problems | None:
    """What its author has to change; None when nothing is wrong."""
    reading = read_leniently(PluginConfigSpec, plugin_config.spec, "spec")
    if reading.value is None:
        return Problems("Invalid", reading.problems)
    if not reading.problems:
        return _check(reading.value, plugin_configs, namespace, target)
    others = {name: each for name, each in plugin_configs.items() if each is not plugin_config}  # its own are told
    more = _check(reading.value, others, namespace, target)
    found = (*reading.problems, *(reading.as_written(more.problems) if more else ()))
    return Problems(more.reason if more and len(found) > len(reading.problems) else "Invalid", found)


def _check(spec: PluginConfigSpec, plugin_configs: PluginConfigs, namespace: str, target: Target) -> Problems | None:
    """What has to be changed in what could be read."""
    if problems := tuple(declaration_problems(spec, namespace)):
        return Problems("Invalid", problems)
    others = declared(plugin_configs, [spec.plugin], namespace)
    plugins = {**others.plugins, **({spec.plugin: declaration(spec)} if spec.declares else {})}
    if not _exists(spec.plugin, plugins, target):
        problem = others.problems.get(spec.plugin) or Problem("spec.plugin", unknown(spec.plugin))
        return Problems("PluginUnknown", (problem,))
    disagreement = others.problems.get(spec.plugin) if spec.declares else None
    problems = (*([disagreement] if disagreement else ()), *_problems_of_args(spec, plugins, target))
    return Problems("Invalid", problems) if problems else None


def _exists(plugin: str, others: dict[str, Declaration], target: Target) -> bool:
    return plugin in others or catalog.known(plugin, target.version) or catalog.find(plugin) is not None


def _problems_of_args(spec: PluginConfigSpec, others: dict[str, Declaration], target: Target) -> tuple[Problem, ...]:
    entry = config.PluginConfigEntry(name=spec.plugin, args=spec.args or {})
    if message := unused_arguments(spec.plugin, entry.args, others):
        return (Problem("spec.args", message),)
    match config.effective(config.Profile(plugin_config=(entry,)), target, others):
        case config.Problems() as found:
            return tuple(Problem(each.path.replace("pluginConfig[0]", "spec"), each.message) for each in found)
    return ()
