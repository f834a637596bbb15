"""Check of a PluginConfig by itself, whatever profiles use it."""

from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.render.declarations import declaration, declaration_problems, read_declarations
from scheduler_operator.render.effective_plugins import unused_arguments
from scheduler_operator.render.lenient_reading import read_leniently
from scheduler_operator.render.outcome import PluginConfigs, Problems
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Problem, unknown_plugin_message


def check(plugin_config: UserObject, plugin_configs: PluginConfigs, namespace: str, target: Target) -> Problems | None:
    """Return what the author of ``plugin_config`` has to change; None when nothing is wrong."""
    reading = read_leniently(PluginConfigSpec, plugin_config.spec, "spec")
    if reading.value is None:
        return Problems("Invalid", reading.problems)
    if not reading.problems:
        return _check(reading.value, plugin_configs, namespace, target)
    # Its own declaration is read from the readable part: in plugin_configs its problems would be reported again.
    others = {name: config for name, config in plugin_configs.items() if config is not plugin_config}
    more = _check(reading.value, others, namespace, target)
    problems = (*reading.problems, *(reading.at_source_paths(more.problems) if more else ()))
    return Problems(more.reason if more and len(problems) > len(reading.problems) else "Invalid", problems)


def _check(spec: PluginConfigSpec, plugin_configs: PluginConfigs, namespace: str, target: Target) -> Problems | None:
    if own := tuple(declaration_problems(spec, namespace)):
        return Problems("Invalid", own)
    others = read_declarations(plugin_configs, [spec.plugin], namespace)
    plugins = {**others.plugins, **({spec.plugin: declaration(spec)} if spec.declares else {})}
    exists = spec.plugin in plugins or catalog.exists_in(spec.plugin, target.version) or catalog.find(spec.plugin)
    if not exists:
        problem = others.problems.get(spec.plugin) or Problem("spec.plugin", unknown_plugin_message(spec.plugin))
        return Problems("PluginUnknown", (problem,))
    problems = []
    if spec.declares and spec.plugin in others.problems:
        problems.append(others.problems[spec.plugin])  # the declarations of several PluginConfigs differ
    entry = config.PluginConfigEntry(name=spec.plugin, args=spec.args or {})
    if message := unused_arguments(spec.plugin, entry.args, plugins):
        problems.append(Problem("spec.args", message))
    else:
        # The arguments are checked as those of a profile with this entry alone.
        match config.expand_profile(config.Profile(plugin_config=(entry,)), target, plugins):
            case config.Problems() as args_problems:
                problems += [
                    Problem(problem.path.replace("pluginConfig[0]", "spec"), problem.message)
                    for problem in args_problems
                ]
    return Problems("Invalid", tuple(problems)) if problems else None
