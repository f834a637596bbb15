"""The ``berth`` command: what can be known of profiles without a cluster."""

import sys
from importlib.metadata import version
from typing import Any

import click
import yaml

from scheduler_operator import kubernetes_versions
from scheduler_operator.authored import Authored
from scheduler_operator.models import API_VERSION
from scheduler_operator.render import Problems, Rendered, render
from scheduler_runtime.catalog import Target, Version

REFUSED = 2


class VersionParameter(click.ParamType[Version]):
    """A Kubernetes version."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Version:
        try:
            version = Version.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if kubernetes_versions.is_too_old(version):
            self.fail(f"{value} is older than this release knows; it knows {kubernetes_versions.RANGE}", param, ctx)
        return version


@click.group()
@click.version_option(version("berth-operator"), prog_name="berth", message="%(prog)s %(version)s")
def main() -> None:
    """Schedulers for Kubernetes, as objects."""


@main.command("render")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--kubernetes", type=VersionParameter(), default="1.36", show_default=True, help="Version to render for.")
@click.option("--namespace", default="berth-system", show_default=True, help="Where the scheduler would run.")
def render_command(file: Any, kubernetes: Version, namespace: str) -> None:
    """Print the KubeSchedulerConfiguration of each SchedulerProfile in FILE.

    FILE may hold the PluginConfigs that the profiles refer to as well; - is standard input. When a profile is
    refused nothing is printed but what is wrong, with all of them.
    """
    profiles, plugin_configs = _read(file.read(), file.name)
    texts = []
    for profile in profiles:
        outcome = render([profile], plugin_configs, namespace, Target(kubernetes))
        for remark in _remarks(outcome):
            click.echo(f"{file.name}: {profile.name}: {remark}", err=True)
        if isinstance(outcome, Rendered):
            texts.append(outcome.text)
    if len(texts) < len(profiles):
        sys.exit(REFUSED)
    click.echo("---\n".join(texts), nl=False)


@main.command("crds")
def crds_command() -> None:
    """Print the CustomResourceDefinitions of this version."""
    from scheduler_operator import crds

    click.echo("---\n".join(crds.texts().values()), nl=False)


def _remarks(outcome: Rendered | Problems) -> list[str]:
    match outcome:
        case Problems() as found:
            return [str(problem) for problem in found.problems]
        case Rendered() as rendered:
            remark = kubernetes_versions.remark(rendered.version)
            return [remark] if remark else []


def _read(text: str, name: str) -> tuple[list[Authored], dict[str, Authored]]:
    """The profiles and the PluginConfigs in ``text``. Ends the command when there is no profile to read."""
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise click.ClickException(f"{name}: is not YAML: {error}") from error
    found = {n: _authored(each) for n, each in enumerate(documents, start=1) if each is not None}
    if mistakes := [f"{name}, document {n}: {each}" for n, each in found.items() if isinstance(each, str)]:
        raise click.ClickException("\n".join(mistakes))
    authored = [each for each in found.values() if isinstance(each, Authored)]
    profiles = [each for each in authored if each.kind == "SchedulerProfile"]
    if not profiles:
        raise click.ClickException(f"{name}: has no SchedulerProfile; this command reads profiles")
    return profiles, {each.name: each for each in authored if each.kind == "PluginConfig"}


def _authored(document: Any) -> Authored | str:
    """The object that ``document`` holds, or why it is none of ours."""
    found = document if isinstance(document, dict) else {}
    api_version, kind = found.get("apiVersion"), found.get("kind")
    if api_version != API_VERSION or kind not in ("SchedulerProfile", "PluginConfig"):
        return f"is {api_version} {kind}; this command reads {API_VERSION} SchedulerProfile and PluginConfig"
    metadata, spec = found.get("metadata"), found.get("spec")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "metadata.name is missing"
    if not isinstance(spec, dict):
        return "spec is missing; write spec: {} for a profile that is all defaults"
    return Authored(kind, metadata["name"], uid="", generation=0, spec=spec, status={})
