"""Files to documents, each of which knows where it stands."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scheduler_operator.cli.answers import Refusal, RefusedError
from scheduler_operator.cli.console import Console
from scheduler_operator.resources.kinds import API_VERSION, GROUP
from scheduler_runtime import config
from scheduler_runtime.config import Problem, Problems, Source
from scheduler_runtime.config.yaml import MAX_BYTES

STDIN = "-"
EXPECTED = (
    f"expected is a SchedulerProfile or PluginConfig of {API_VERSION}, "
    f"or a KubeSchedulerConfiguration of {config.API_VERSION}"
)
_SAID_LINE = re.compile(r"\bline (\d+): ")
_SUFFIXES = (".yaml", ".yml", ".json")
_GROUPS = (GROUP.encode(), config.API_VERSION.partition("/")[0].encode())


@dataclass(frozen=True, slots=True)
class Reading:
    """What was in some files: the documents that can be used, and a line for each thing that cannot."""

    sources: tuple[Source, ...]
    refusals: tuple[Refusal, ...]


def read(names: Iterable[str], console: Console) -> Reading:
    """Every document in the files called ``names``."""
    found: list[Source] = []
    refusals: list[Refusal] = []
    for name in names:
        try:
            found.extend(_documents(name, console))
        except RefusedError as refused:
            refusals.extend(refused.refusals)
    return Reading(tuple(found), tuple(refusals))


def refusal(source: Source, problem: Problem) -> Refusal:
    """A problem at its place in the file."""
    return Refusal(source.name, problem.message, problem.path, source.line(problem.path))


def below(directories: Sequence[str]) -> list[str]:
    """``directories`` replaced by the files below them that speak of schedulers; what is no directory stays."""
    return [file for name in directories for file in (_files_in(Path(name)) if _is_directory(name) else [name])]


def _is_directory(name: str) -> bool:
    return name != STDIN and os.path.isdir(name)


def _files_in(directory: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and not _is_template(each, names))
        paths = (Path(folder, name) for name in sorted(names) if name.endswith(_SUFFIXES))
        yield from (str(path) for path in paths if _speaks_of_schedulers(path))


def _is_template(folder: str, beside: Sequence[str]) -> bool:
    """Whether ``folder`` holds the templates of a chart, which are no YAML yet."""
    return folder == "templates" and "Chart.yaml" in beside


def _speaks_of_schedulers(path: Path) -> bool:
    """Whether a file of a directory is worth reading: charts and other manifests live beside ours."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return True  # it may be one, and reading it will say why it cannot be read
    return any(group in content for group in _GROUPS)


def _documents(name: str, console: Console) -> tuple[Source, ...]:
    shown = "<stdin>" if name == STDIN else name
    content = _content(name, console)
    if len(content) > MAX_BYTES:
        raise RefusedError(
            Refusal(shown, f"is longer than {MAX_BYTES:,} bytes; a document has no more, as a ConfigMap")
        )
    match config.read_yaml(content, shown):
        case Problems() as problems:
            raise RefusedError(*(_unread(shown, problem) for problem in problems))
        case found:
            return found


def _unread(name: str, problem: Problem) -> Refusal:
    """A problem of a text that is no document yet, which says its line itself."""
    said = _SAID_LINE.search(problem.message)
    if said is None:
        return Refusal(name, problem.message, problem.path)
    message = problem.message[: said.start()] + problem.message[said.end() :]
    return Refusal(name, message, problem.path, int(said[1]))


def _content(name: str, console: Console) -> bytes:
    if name == STDIN:
        return console.read_stdin(MAX_BYTES + 1)
    try:
        with open(name, "rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise RefusedError(Refusal(name, _why(error))) from error


def _why(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case IsADirectoryError():
            return "is a directory; name the files in it"
        case PermissionError():
            return "you may not read it"
        case OSError(strerror=str() as why):
            return f"cannot be read: {why}"
    return f"cannot be read: {error}"
