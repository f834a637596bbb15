"""The command line: what is refused, in which words, with which exit code."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scheduler_operator.cli import parameters
from scheduler_runtime import catalog
from scheduler_runtime.app import startup
from scheduler_runtime.app.main import log_level, main
from scheduler_runtime.component.log_format import set_up_logging
from scheduler_runtime.framework import DECISION
from scheduler_runtime.reload.document_sources import ObjectName
from tests.support.kubeconfigs import kubeconfig

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def config(directory: Path, **fields: object) -> Path:
    path = directory / "config.yaml"
    path.write_text(yaml.safe_dump({**HEADER, **fields}))
    return path


def test_every_problem_of_a_document_is_a_line_with_its_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path, parallelism=0, profiles=[{"schedulerName": "a", "plugin": {}}])
    assert main(["--config", str(path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{path}: parallelism: 0 is too small; it must be at least 1",
        f"{path}: profiles[0].plugin: is not a field; did you mean plugins?",
    ]


def test_a_problem_of_a_document_is_an_object_where_every_line_of_the_log_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path, parallelism=0, profiles=[{"schedulerName": "a", "plugin": {}}])
    assert main(["--config", str(path), "--logging-format=json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["level"], line["msg"]) for line in lines] == [
        ("error", f"{path}: parallelism: 0 is too small; it must be at least 1"),
        ("error", f"{path}: profiles[0].plugin: is not a field; did you mean plugins?"),
    ]


def test_a_problem_that_needs_the_version_is_a_line_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugins = {"filter": {"enabled": [{"name": "NodeAfinity"}]}}
    path = config(tmp_path, profiles=[{"schedulerName": "a", "plugins": plugins}])
    there = kubeconfig(tmp_path, "http://127.0.0.1:9")
    flags = ["--kubernetes-version", "1.36", "--bind-address", "127.0.0.1", "--secure-port", "0"]
    assert main(["--config", str(path), "--kubeconfig", str(there), *flags]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: profiles[0].plugins.filter.enabled[0]")
    assert line.endswith("did you mean NodeAffinity? If it is your own, install its package")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        (b"a: [", "is not YAML"),
        (b"\xff", "is not UTF-8: invalid start byte at byte 0; save it as UTF-8"),
    ],
)
def test_a_file_that_is_no_document_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str
) -> None:
    path = tmp_path / "x.yaml"
    if content is not None:
        path.write_bytes(content)
    assert main(["--config", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: ")
    assert message in line


def test_without_credentials_it_says_what_to_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    flags = ["--bind-address", "127.0.0.1", "--secure-port", "0"]
    assert main(["--config", str(config(tmp_path)), *flags]) == 1
    assert "give --kubeconfig, set KUBECONFIG, or run in a pod" in capsys.readouterr().err


def test_a_problem_of_a_kubeconfig_has_the_field_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path, clientConnection={"kubeconfig": "/none/scheduler.conf"})
    assert main(["--config", str(path), "--kubernetes-version", "1.36", "--secure-port", "0"]) == 1
    assert capsys.readouterr().err.startswith(f"{path}: clientConnection.kubeconfig: /none/scheduler.conf: ")


def test_the_writer_of_a_config_map_names_no_credentials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config(tmp_path, clientConnection={"kubeconfig": str(tmp_path / "a-program")})
    assert main(["--config", str(path), "--config-map", "n/berth-a"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: clientConnection.kubeconfig: a document that is followed in a ConfigMap names no")


def test_a_sighup_that_has_nothing_to_be_read_again_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    startup.sighup_action(None, ObjectName("n", "berth-a"))()
    startup.sighup_action(None, None)()
    assert caplog.messages == [
        "SIGHUP changes nothing: a ConfigMap is followed as it changes",
        "SIGHUP changes nothing: there is no file to read again",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("events: Some", "events: 'Some' is not one of 'All', 'Failures' or 'None'"),
        ("event: All", "event: is not a field; did you mean events?"),
    ],
)
def test_extras_that_cannot_be_followed_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, message: str
) -> None:
    extras = tmp_path / "berth.yaml"
    if content is not None:
        extras.write_text(content)
    assert main(["--config", str(config(tmp_path)), "--extras", str(extras)]) == 1
    assert capsys.readouterr().err == f"{extras}: {message}\n"


def test_a_feature_gate_is_true_or_false(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--config", str(config(tmp_path)), "--feature-gates", "GenericWorkload=on"])
    assert caught.value.code == 2
    assert "write it like GenericWorkload=true" in capsys.readouterr().err


def test_an_address_that_cannot_be_served_on_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--kubernetes-version", "1.36", "--bind-address", "192.0.2.1", "--secure-port", "1"]
    assert main(["--config", str(config(tmp_path)), *flags]) == 1
    assert capsys.readouterr().err == (
        "192.0.2.1:1 cannot be served on: Cannot assign requested address; "
        "--secure-port and --bind-address choose another\n"
    )


def test_a_serving_certificate_that_cannot_be_read_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--kubernetes-version", "1.36", "--tls-cert-file", "/none.crt", "--tls-private-key-file", "/none.key"]
    assert main(["--config", str(config(tmp_path)), *flags]) == 1
    assert capsys.readouterr().err == "/none.crt and /none.key cannot be read: No such file or directory\n"


def test_a_version_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--config", str(config(tmp_path)), "--kubernetes-version", "latest"])
    assert caught.value.code == 2
    assert "'latest' is not a Kubernetes version; write it like v1.36.4" in capsys.readouterr().err


def test_a_version_older_than_this_build_knows_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--config", str(config(tmp_path)), "--kubernetes-version", "1.34"])
    assert caught.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.endswith(
        f"Kubernetes v1.34.0 is older than this build knows; it knows {catalog.OLDEST_MINOR} to {catalog.NEWEST_MINOR}"
    )


def test_the_output_is_the_document_with_its_defaults(tmp_path: Path) -> None:
    output = tmp_path / "out.yaml"
    assert main(["--config", str(config(tmp_path)), "--write-config-to", str(output)]) == 0
    document = yaml.safe_load(output.read_text())
    assert (document["podMaxBackoffSeconds"], document["profiles"][0]["schedulerName"]) == (10, "default-scheduler")
    again = tmp_path / "again.yaml"
    assert main(["--config", str(output), "--write-config-to", str(again)]) == 0
    assert again.read_text() == output.read_text()


@pytest.mark.parametrize(("flags", "expected"), [((), False), (("--kubernetes-version=1.37",), True)])
def test_the_version_of_an_output_document_is_logged_unless_a_flag_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], expected: bool
) -> None:
    output = tmp_path / "out.yaml"
    assert main(["--config", str(config(tmp_path)), "--write-config-to", str(output), *flags]) == 0
    log = capsys.readouterr().err
    assert ("podGroupPostFilter" in output.read_text()) == expected
    assert log.endswith(
        "" if flags else f" {output} is written for Kubernetes 1.36; --kubernetes-version chooses another\n"
    )
    assert bool(log) != expected


def test_every_command_means_the_same_version_where_nobody_names_one() -> None:
    assert catalog.DEFAULT_MINOR == parameters.DEFAULT_KUBERNETES


def test_an_output_file_that_cannot_be_opened_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "none" / "out.yaml"
    assert main(["--config", str(config(tmp_path)), "--write-config-to", str(output)]) == 1
    assert capsys.readouterr().err == (
        f"{output}: cannot be written: No such file or directory; --write-config-to chooses another file\n"
    )


def test_an_absent_api_server_is_logged_once_and_a_signal_ends_the_waiting(tmp_path: Path) -> None:
    there, extras = kubeconfig(tmp_path, "http://127.0.0.1:9"), tmp_path / "berth.yaml"
    source = {"name": "price-cap", "key": "price_cap.py", "sha256": "0" * 64}
    extras.write_text(yaml.safe_dump({"plugins": {"PriceCap": {"configMap": source}}}))
    command = [sys.executable, "-m", "scheduler_runtime", "--config", str(config(tmp_path)), "--kubeconfig", str(there)]
    # One waits for the server's version, the other for a plugin: both at once, as each has to try again meanwhile.
    processes = [
        subprocess.Popen(
            [*command, "--bind-address", "127.0.0.1", "--secure-port", "0", "--logging-format", "json", *flags],
            stderr=subprocess.PIPE,
            env={**os.environ, "KUBECONFIG": "", "POD_NAMESPACE": "n", "POD_NAME": "p"},
        )
        for flags in ((), ("--kubernetes-version", "1.36", "--allow-plugin-sources", "--extras", str(extras)))
    ]
    for process in processes:
        assert process.stderr is not None
        first = json.loads(process.stderr.readline())
        assert first["msg"] == "API server http://127.0.0.1:9 cannot be reached: Connection refused"
    time.sleep(2)
    for process in processes:
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
        assert process.stderr is not None
        assert json.loads(process.stderr.read())["msg"] == "SIGTERM: ending"
        process.stderr.close()


@pytest.mark.parametrize(("verbosity", "count"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3)])
def test_decisions_are_logged_from_two_on_and_details_from_four(
    capsys: pytest.CaptureFixture[str], verbosity: int, count: int
) -> None:
    set_up_logging(log_level(verbosity), as_json=False)
    for level in (logging.INFO, DECISION, logging.DEBUG):
        logging.getLogger("x").log(level, "text")
    levels = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert levels == ["INFO", "INFO", "DEBUG"][:count]


def test_what_the_first_bind_does_not_need_is_not_imported_before_it() -> None:
    script = "import sys, scheduler_runtime.__main__; print({'cryptography', 'aiohttp', 'hypothesis'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-P", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
