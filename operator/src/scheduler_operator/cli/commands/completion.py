"""``berth completion``: the completion script of a shell."""

import click

from scheduler_operator.cli.answers import CommandOutput


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL", required=False)
@click.pass_context
def command(context: click.Context, shell: str | None) -> CommandOutput:
    """Print the script that completes berth in SHELL.

    kubectl's own completion, once it is set up, completes 'kubectl berth' too.

    \b
    To enable it in every shell
      bash  echo 'eval "$(berth completion bash)"' >> ~/.bashrc
      zsh   echo 'eval "$(berth completion zsh)"' >> ~/.zshrc
      fish  berth completion fish > ~/.config/fish/completions/berth.fish
    """
    from click.shell_completion import get_completion_class

    if shell is None:
        raise click.UsageError("which shell? write bash, zsh or fish", context)

    completion = get_completion_class(shell)
    if completion is None:
        raise TypeError(f"click completes no {shell}")
    program = context.find_root()
    return CommandOutput(completion(program.command, {}, "berth", "_BERTH_COMPLETE").source())
