"""Unreadable input: refused in a sentence with its place by every command, and nothing is written."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler_runtime.catalog.bounds import MAX_BYTES
from tests.scheduler_operator.cli.berth import DOCUMENT, PROFILE, Ran, berth

READING = ("lint", "render", "expand", "import", "diff")
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
UPSTREAM = "kubescheduler.config.k8s.io"


def refused(command: str, *files: str, stdin: str | bytes = b"") -> Ran:
    ran = berth(command, *files, *(["--to", "1.37"] if command == "diff" else []), stdin=stdin)
    assert (ran.status, ran.stdout) == (2, ""), ran
    return ran


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"# only a comment\n---\n", "is empty", id="comments"),
        pytest.param(b"\x7fELF\x02\x01\x00\xff", "is not", id="binary"),
        pytest.param(b"a: 1\n\xff\xfe\n", ":2: is not text", id="not-utf-8"),
        pytest.param(b"a: [1\n", ":2: is not YAML: ", id="not-yaml"),
        pytest.param(b"a: 1\n\tb: 2\n", ":2: is not YAML", id="tab"),
        pytest.param(b"a: 1\na: 2\n", ":2: ", id="duplicate-key"),
        pytest.param(b'{"a": 1, "a": 2}', "twice", id="duplicate-key-in-json"),
        pytest.param(BOMB.encode(), "alias", id="aliases-without-end"),
        pytest.param(b"a: &a [*a]\n", "contains itself", id="alias-of-itself"),
        pytest.param(b"[" * 5000, "deep", id="deep"),
        pytest.param(b"x" * (MAX_BYTES + 1), f"is longer than {MAX_BYTES:,} bytes", id="large"),
        pytest.param(b"- 1\n", "is a list", id="list"),
        pytest.param(b"words\n", "is plain text", id="text"),
    ],
)
def test_what_is_no_document_is_refused(command: str, text: bytes, words: str) -> None:
    ran = refused(command, "-", stdin=text)
    assert ran.stderr.startswith("<stdin>")
    assert words in ran.stderr


@pytest.mark.parametrize("command", READING)
def test_what_is_no_file_is_refused(command: str, tmp_path: Path) -> None:
    deleted = tmp_path / "gone.yaml"
    assert refused(command, str(deleted)).stderr == f"{deleted}: there is no such file\n"
    assert refused(command, "/dev/zero").stderr.startswith("/dev/zero: ")
    assert refused(command, "").stderr == ": there is no such file\n"
    if command != "lint":
        assert refused(command, str(tmp_path)).stderr == f"{tmp_path}: is a directory; name the files in it\n"


@pytest.fixture
def nobody() -> Iterator[None]:
    """Somebody who may not read everything, as root may."""
    refused("lint", "gone.yaml")  # imports what it needs while that can be read
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    file = tmp_path / "secret.yaml"
    file.write_text(PROFILE)
    file.chmod(0)
    request.getfixturevalue("nobody")
    assert refused("lint", str(file)).stderr == f"{file}: you may not read it\n"


@pytest.mark.parametrize("command", ["lint", "render", "expand", "import"])
def test_standard_input_can_be_named_once(command: str) -> None:
    assert "standard input is named twice" in refused(command, "-", "-", stdin=DOCUMENT).stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            "kind: Pod\napiVersion: v1\n", "<stdin>:1: is v1 Pod; 'berth import' reads it and writes profiles", id="pod"
        ),
        pytest.param(
            "kind: Service\napiVersion: v1\n", "<stdin>:1: is v1 Service; expected is a SchedulerProfile", id="service"
        ),
        pytest.param(
            f"\n\nkind: KubeSchedulerConfiguration\napiVersion: {UPSTREAM}/v1beta3\n",
            f"<stdin>:3: is {UPSTREAM}/v1beta3 KubeSchedulerConfiguration; 'berth import' reads it",
            id="v1beta3",
        ),
        pytest.param(
            f"kind: KubeSchedulerConfiguration\napiVersion: {UPSTREAM}/v2\n",
            f"<stdin>:1: is {UPSTREAM}/v2 KubeSchedulerConfiguration; expected is a SchedulerProfile",
            id="v2",
        ),
        pytest.param("a:\n\tb: 1\n", "<stdin>:2: is not YAML: there is a tab; YAML is indented by spaces", id="tab"),
        pytest.param(
            "a: [1,\nb\n\n", "<stdin>:4: is not YAML: did not find expected ',' or ']' (what is open", id="open"
        ),
        pytest.param("spec: {}\n", "<stdin>:1: is a mapping without apiVersion and kind; expected is", id="no-kind"),
        pytest.param(
            PROFILE.replace("{name: packed}", "{}"), "<stdin>:3: metadata.name: is required and is text", id="no-name"
        ),
        pytest.param(
            PROFILE.replace("metadata: {name: packed}", ""), "<stdin>:1: metadata: is required, with a name", id="bare"
        ),
        pytest.param(
            "apiVersion: berth.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: a}\n",
            "<stdin>:1: spec: is required; write spec: {}",
            id="no-spec",
        ),
        pytest.param(
            PROFILE.replace("{name: packed}", "{name: packed, annotations: {berth.dev/allow-findings: 5}}"),
            "<stdin>:3: metadata.annotations: is not a mapping of names to text",
            id="annotation",
        ),
        pytest.param(
            PROFILE.replace("weight: 5", "weight: '5'"),
            "<stdin>:8: spec.plugins.score.enabled[0].weight: '5' is not a whole number",
            id="number-as-text",
        ),
        pytest.param(
            DOCUMENT.replace("weight: 9", "weight: .nan"), "<stdin>:7: profiles[0].plugins.score.enabled[0]", id="nan"
        ),
    ],
)
def test_says_where_and_what_is_expected(text: str, line: str) -> None:
    assert refused("lint", "-", stdin=text).stderr.startswith(line)


NEEDY = """apiVersion: berth.dev/v1alpha1
kind: PluginConfig
metadata: {name: price-cap}
spec:
  plugin: PriceCap
  args: {limit: 1}
  declares:
    hooks: [filter]
    argsSchema: {type: object, required: [limit], properties: {limit: {type: number}}}
---
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: packed}
spec:
  scheduler: {image: x}
  plugins:
    filter: {enabled: [{name: PriceCap}]}
"""


@pytest.mark.parametrize("command", [item for item in READING if item != "import"])
def test_a_plugin_whose_arguments_have_no_default_needs_an_entry(command: str) -> None:
    problem = "spec.pluginConfig: has no entry for PriceCap, which needs one: limit is required"
    assert refused(command, "-", stdin=NEEDY).stderr == f"<stdin>:14: {problem}\n"


def test_every_document_that_is_not_ours_is_named() -> None:
    lines = refused("render", "-", stdin=PROFILE + "---\nkind: Pod\n---\nkind: Job\napiVersion: batch/v1\n").stderr
    assert "<stdin>:16: is a mapping without apiVersion" in lines
    assert "<stdin>:18: is batch/v1 Job" in lines


def test_what_would_move_the_cursor_of_a_terminal_is_displayed_instead() -> None:
    ran = refused("lint", "-", stdin=DOCUMENT + '"\\e[2J\\nowned": 1\n')
    assert "\x1b" not in ran.stderr
    assert "\\x1b[2J\\nowned" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["lint", "render", "expand"])
def test_two_objects_of_one_kind_and_name_are_refused_with_both_places(command: str, tmp_path: Path) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(PROFILE)
    other.write_text(PROFILE.replace("weight: 5", "weight: 6"))
    assert refused(command, str(one), str(other)).stderr.splitlines() == [
        f"{other}:3: metadata.name: SchedulerProfile packed is at {one}:3 already; give one of them another name",
        f"{other}:13: metadata.name: PluginConfig most is at {one}:13 already; give one of them another name",
    ]


def test_the_two_sides_of_a_difference_may_have_one_name(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(PROFILE)
    assert berth("diff", str(file), "-", stdin=PROFILE.replace("weight: 5", "weight: 6")).status == 1


def test_files_of_a_directory_may_be_about_several_clusters(tmp_path: Path) -> None:
    (tmp_path / "production.yaml").write_text(PROFILE)
    (tmp_path / "staging.yaml").write_text(PROFILE.replace("NodeResourcesFit", "NodeAffinity"))
    messages = berth("lint", str(tmp_path)).stderr + berth("lint", str(tmp_path)).stdout
    assert "already" not in messages
    assert "holds the arguments of" not in messages  # each refers to what stands in its own file
    (tmp_path / "staging.yaml").write_text(f"{PROFILE}---\n{PROFILE}")
    assert "staging.yaml:3 already" in refused("lint", str(tmp_path)).stderr
