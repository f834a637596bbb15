"""Options that several commands share: reading and completion of their values."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scheduler_operator.cli.answers import CommandOutput, Refusal, raise_if_refused

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from scheduler_runtime.catalog import Target

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_KUBERNETES = "1.36"


class KubernetesParameter(click.ParamType[str]):
    """A Kubernetes version that this release supports, or a newer one."""

    name = "version"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from scheduler_runtime.catalog import SUPPORTED_RANGE, Version, is_too_old

        try:
            version = Version.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if is_too_old(version):
            self.fail(f"{value} is older than this release knows; it knows {SUPPORTED_RANGE}", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        from scheduler_operator.cli.plugin_facts import every_minor

        return [CompletionItem(minor) for minor in every_minor() if minor.startswith(incomplete)]


class GatesParameter(click.ParamType[Mapping[str, bool]]):
    """Feature gates in the form of kube-scheduler's flag: ``A=true,B=false``."""

    name = "gates"

    def convert(
        self, value: str | Mapping[str, bool], param: click.Parameter | None, ctx: click.Context | None
    ) -> Mapping[str, bool]:
        # click converts defaults too, and this one is a mapping already.
        if not isinstance(value, str):
            return value
        gates: dict[str, bool] = {}
        for pair in filter(None, map(str.strip, value.split(","))):
            gate, equals, state = pair.partition("=")
            if not equals or state.lower() not in ("true", "false"):
                self.fail(f"{pair!r} sets no feature gate; write Name=true or Name=false", param, ctx)
            gates[gate.strip()] = state.lower() == "true"
        return gates


class PluginParameter(click.ParamType[str]):
    """The name of a plugin."""

    name = "plugin"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        from scheduler_operator.cli.plugin_facts import names

        return [CompletionItem(name) for name in names() if name.lower().startswith(incomplete.lower())]


class FileParameter(click.ParamType[str]):
    """The name of a file, which is checked when the file is read."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


def files(metavar: str = "FILE...") -> Callable[[Command], Command]:
    """Add the argument for the files to read."""
    return click.argument("files", metavar=metavar, nargs=-1, required=True, type=FileParameter())


def target_options(command: Callable[..., CommandOutput]) -> Callable[..., CommandOutput]:
    """Add the two options that name a kube-scheduler; the command gets them as its ``target``."""

    @wraps(command)
    def with_target(*args: Any, kubernetes: str, feature_gates: Mapping[str, bool], **others: Any) -> CommandOutput:
        return command(*args, target=target(kubernetes, feature_gates), **others)

    gates = click.option(
        "--feature-gates", type=GatesParameter(), default={}, metavar="GATES",
        help="For example A=true,B=false; the others have their defaults.",
    )  # fmt: skip
    version = click.option(
        "--kubernetes", type=KubernetesParameter(), default=DEFAULT_KUBERNETES, show_default=True, metavar="VERSION",
        help="The Kubernetes version, unless a profile sets one.",
    )  # fmt: skip
    return version(gates(with_target))


def engine(command: Command) -> Command:
    """Add the option for the engine that runs KubeSchedulerConfigurations: they do not name one."""
    return click.option(
        "--engine", type=click.Choice(["KubeScheduler", "Python"]), default="KubeScheduler", metavar="ENGINE",
        help="The scheduler for KubeSchedulerConfigurations: KubeScheduler (default), or Python, Berth's own. "
        "A profile sets its own.",
    )(command)  # fmt: skip


def target(kubernetes: str, feature_gates: Mapping[str, bool]) -> "Target":
    """Return the kube-scheduler that the options name. Raises RefusedError for gates that it does not have."""
    from scheduler_runtime import catalog

    result = catalog.Target.parse(kubernetes, feature_gates)
    raise_if_refused(Refusal("--feature-gates", str(problem)) for problem in catalog.gate_problems(result))
    return result


def output(*forms: str) -> Callable[[Command], Command]:
    """Add the option for the form of the answer; the first of ``forms`` is the default."""
    first, *others = forms
    return click.option(
        "-o", "--output", "form", type=click.Choice(forms), default=first, metavar="FORM",
        help=f"{first} (default), {' or '.join(filter(None, (', '.join(others[:-1]), others[-1])))}.",
    )  # fmt: skip
