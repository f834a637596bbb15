"""The licences of what the image contains: ``python -m tools.supply_chain.notices`` prints THIRD_PARTY_NOTICES.md.

They are read from the metadata of the packages that are installed here, so nothing is fetched. Without versions: the
page changes when a package comes or goes, or changes its licence, and not with each new version.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackagePath, distribution
from pathlib import PurePath

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = frozenset({"berth-operator", "berth-runtime"})
ROOTS = ("berth-operator", "berth-runtime[uvloop]")
IMAGE_PYTHON = "3.13"
LICENCE_FILES = ("licen", "copying", "notice", "authors")
MOST_FILES = 4
CLASSIFIER = "License :: OSI Approved :: "
HEADER = """# Third-party notices

The container image contains Berth, under the [Apache License 2.0](LICENSE), and the Python packages below, each under
its own licence. The texts, with the names of the authors, are in the image, in the directory of each package's
metadata below `/opt/berth/lib/python{python}/site-packages`, under the names in the last column. All packages are
unchanged, and those under the MPL-2.0 contain their source. Python itself, and what else is in the base image, have
notices of their own there. `make notices` writes this page.

| package | licence | its text |
| --- | --- | --- |
"""


class NoLicenceError(Exception):
    """A package does not say under which licence it is."""


def image_packages() -> list[Distribution]:
    """All packages that the image installs beside ours, by name."""
    environment = {name: str(value) for name, value in default_environment().items()}
    environment |= {"python_version": IMAGE_PYTHON, "python_full_version": f"{IMAGE_PYTHON}.0", "sys_platform": "linux"}
    found: dict[str, Distribution] = {}
    waiting, seen = [Requirement(root) for root in ROOTS], set[tuple[str, str]]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        found[name] = package = distribution(name)
        for extra in {"", *requirement.extras}:
            if (name, extra) not in seen:
                seen.add((name, extra))
                needed = map(Requirement, package.requires or ())
                waiting += [
                    other
                    for other in needed
                    if not other.marker or other.marker.evaluate(environment | {"extra": extra})
                ]
    return [found[name] for name in sorted(found.keys() - OURS)]


def licence(package: Distribution) -> str:
    """The licence of a package in a line. Raises NoLicenceError."""
    metadata = package.metadata
    stated = next((value for field in ("License-Expression", "License") for value in metadata.get_all(field, [])), "")
    if stated and len(stated) < 60 and "\n" not in stated:
        return stated
    classified = [value.removeprefix(CLASSIFIER) for value in metadata.get_all("Classifier", []) if CLASSIFIER in value]
    if not classified:
        raise NoLicenceError(
            f"{metadata['Name']} does not say under which licence it is: look it up, and see if it may be used"
        )
    return ", ".join(classified)


def texts(package: Distribution) -> Iterator[PackagePath]:
    """The files of a package's metadata that have its licence."""
    for file in package.files or ():
        if any(part.endswith(".dist-info") for part in file.parts) and file.name.lower().startswith(LICENCE_FILES):
            yield file


def page() -> str:
    """The whole page."""
    rows = []
    for package in image_packages():
        files = [f"`{file}`" for file in sorted({str(PurePath(*file.parts[1:])) for file in texts(package)})]
        if not files:
            raise NoLicenceError(
                f"{package.metadata['Name']} comes without the text of its licence: add it to the image"
            )
        where = ", ".join(files) if len(files) <= MOST_FILES else f"{len(files)} files in `licenses/`"
        rows.append(f"| {package.metadata['Name']} | {licence(package)} | {where} |")
    return HEADER.format(python=IMAGE_PYTHON) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
