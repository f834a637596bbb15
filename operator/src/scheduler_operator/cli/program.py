"""The ``berth`` command itself: its subcommands, and how each of them ends."""

import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from scheduler_operator.cli.answers import CommandOutput, ExitCode, RefusedError
from scheduler_operator.cli.console import Console, printable, write

COMMANDS = {
    "lint": "lint",
    "render": "render",
    "expand": "expand",
    "diff": "diff",
    "import": "import_",
    "plugins": "plugins",
    "crds": "crds",
    "completion": "completion",
}
"""The module in ``commands`` of each command."""


class Commands(click.Group):
    """A group whose commands are imported when they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if not ctx.resilient_parsing and not cmd_name.startswith("-"):
                from scheduler_runtime.catalog.suggestions import did_you_mean, nearest

                ctx.fail(f"there is no command {cmd_name!r}{did_you_mean(nearest(cmd_name, COMMANDS))}")
            return None
        module = importlib.import_module(f"scheduler_operator.cli.commands.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="berth-operator", message="berth %(version)s", help="Print the version.")
@click.option("--debug", is_flag=True, help="Show where an internal error happened (also: BERTH_DEBUG=1).")
@click.pass_obj
def group(console: Console, debug: bool) -> None:
    """Check, render and compare configurations of schedulers for Kubernetes.

    FILE is YAML or JSON and may contain several documents; - is standard input. It contains SchedulerProfiles with
    the PluginConfigs that they refer to, or KubeSchedulerConfigurations. No cluster is needed.

    \b
    Exit codes
      0   success
      1   there are findings, differences or remarks
      2   the input was refused; each line has the place and the reason
      70  an internal error: always a bug of berth
      74  the result could not be written
    """
    console.debug = console.debug or debug


def main() -> None:
    """Run the command line of this process, and end the process."""
    name = "kubectl berth" if Path(sys.argv[0]).name.startswith("kubectl") else "berth"
    sys.exit(run(sys.argv[1:], Console.of_process(), name))


def run(arguments: Sequence[str], console: Console, name: str = "berth") -> ExitCode:
    """Run one command. Its answer is written at the end; when the input is refused, only the reasons are."""
    try:
        result: Any = group.main([*arguments], name, standalone_mode=False, obj=console)
    except RefusedError as error:
        answer = CommandOutput(remarks=tuple(map(str, error.refusals)), status=ExitCode.REFUSED)
    except click.exceptions.NoArgsIsHelpError as error:
        answer = CommandOutput(error.format_message() + "\n")
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        help_hint = f"; see '{context.command_path} --help'" if context else ""
        command = context.command_path if context else "berth"
        message = f"{command}: {error.format_message().rstrip('.')}{help_hint}"
        answer = CommandOutput(remarks=tuple(message.splitlines()), status=ExitCode.REFUSED)
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a bug of ours, reported as one
        if console.debug:
            remarks = "".join(traceback.format_exception(error)).splitlines()
        else:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            line = f"berth: internal error: {what} ({Path(place.filename).name}:{place.lineno}). This is a bug: please "
            remarks = [f"{line}report it with the input and with what 'berth --debug …' prints"]
        answer = CommandOutput(remarks=tuple(remarks), status=ExitCode.INTERNAL)
    else:
        # click itself answers --help and --version, and returns an exit code.
        if not isinstance(result, CommandOutput):
            return ExitCode(result or 0)
        answer = result
    write(console.stderr, "".join(f"{printable(line)}\n" for line in answer.remarks))
    try:
        write(console.stdout, answer.text)
    except OSError as error:
        write(console.stderr, f"berth: standard output cannot be written: {error.strerror}\n")
        return ExitCode.NOT_WRITTEN
    return answer.status
