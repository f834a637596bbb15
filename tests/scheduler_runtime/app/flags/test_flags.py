"""The command line is kube-scheduler's where flags mean the same; everything else is refused in a sentence."""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

import pytest
import yaml

import devcluster
from scheduler_runtime.app.flags import (
    NO_DOCUMENT,
    Overrides,
    find_ignored_flags,
    flag_values,
    load_document,
    parse_flags,
)
from scheduler_runtime.app.flags.ignored import REFUSED, REMOVED, WITHOUT_EFFECT
from scheduler_runtime.app.flags.parser import create_parser
from scheduler_runtime.app.main import main
from scheduler_runtime.component.https import NamedPair
from scheduler_runtime.config import Document


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--secure-prt=1", "--secure-prt is not a flag; did you mean --secure-port?"),
        ("--nothing-like-it", "--nothing-like-it is not a flag"),
        ("--port=0", "--port was removed from kube-scheduler; --secure-port serves, over HTTPS only"),
        ("--port 10251", "--port was removed from kube-scheduler; --secure-port serves, over HTTPS only"),
        (
            "--address=::",
            "--address was removed from kube-scheduler; --bind-address says where to serve, over HTTPS only",
        ),
        ("--policy_config_file=x", "removed from kube-scheduler; berth import makes a profile of a policy"),
        ("--one-output", "--one-output was removed from kube-scheduler; every line is written to stderr"),
        (
            "--skip_headers=true",
            "removed from kube-scheduler; the text format always has the same header; --logging-format=json has none",
        ),
        ("extra", "'extra' is not a flag, and there are no arguments without one"),
        ("--leader-elect false", "'false' is not a flag; did you mean --leader-elect=false?"),
        ("foo --leader-elect", "'foo' is not a flag, and there are no arguments without one"),
        ("--leader-elect foo", "'foo' is not a flag, and there are no arguments without one"),
        ("--config false --leader-elect false", "'false' is not a flag; did you mean --leader-elect=false?"),
        ("m.yaml", "'m.yaml' is not a flag; did you mean --config m.yaml?"),
        ("--secure-port=70000", "'70000' is not a port; ports go from 1 to 65535, and 0 serves nothing"),
        ("--bind-address=localhost", "'localhost' is not an IP address"),
        ("--tls-min-version=TLS1", "'TLS1' is not one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13"),
        ("--tls-cert-file=a", "--tls-cert-file and --tls-private-key-file belong together: give both or none"),
        (
            "--tls-sni-cert-key=a.crt:b",
            "'a.crt:b' is not a certificate and its key; write it like FILE,FILE, or "
            "FILE,FILE:*.example.com,example.com for some names only",
        ),
        (
            "--tls-sni-cert-key=a,b:c,10.0.0.1",
            "10.0.0.1 is an address, not a host name: clients that connect by address get the default certificate",
        ),
        ("--leader-elect=perhaps", "'perhaps' is neither true nor false"),
        ("--leader-elect-lease-duration=15", "'15' is not a duration; write it like 10s or 1m30s"),
        ("--authorization-always-allow-paths=/a*b", "/a*b: a star can only stand at the end"),
        ("--config-map=berth-a", "'berth-a' is not the name of an object in a namespace; write it like NAMESPACE/NAME"),
        ("--config-map=n/berth-a", "--config-map needs --config: the document to start with"),
        ("--master=http://x", "--master is not supported: write the server into the kubeconfig"),
    ],
)
def test_what_cannot_be_followed_is_one_sentence(line: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        parse_flags(line.split())
    assert exited.value.code == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith("berth-scheduler: ")
    assert message.endswith(sentence)


def test_what_was_removed_is_no_flag() -> None:
    assert REMOVED.keys().isdisjoint(WITHOUT_EFFECT.keys() | REFUSED.keys())
    options = {option for action in create_parser()._actions for option in action.option_strings}
    assert options.isdisjoint(f"--{name}" for name in REMOVED)
    for now in REMOVED.values():
        assert set(re.findall(r"--[a-z-]+", now)) <= options


def test_the_flags_of_the_log_that_kube_scheduler_had_are_removed() -> None:
    klog = "add-dir-header alsologtostderr log-backtrace-at log-dir log-file log-file-max-size logtostderr one-output "
    klog += "skip-headers skip-log-headers stderrthreshold experimental-logging-sanitization"
    assert set(klog.split()) <= REMOVED.keys()


@pytest.mark.cluster
def test_every_flag_of_kube_scheduler_is_accepted() -> None:
    options = {option for action in create_parser()._actions for option in action.option_strings}
    for version in ("1.35", "1.36", "1.37"):
        binary = devcluster.binaries("kube-scheduler", kubernetes=version)["kube-scheduler"]
        help_text = subprocess.run([binary, "--help"], capture_output=True, text=True, check=True).stdout
        theirs = set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+) ", help_text, re.MULTILINE))
        assert len(theirs) > 50
        assert theirs - options == set()


def test_kubeadms_command_line_is_followed() -> None:
    conf = "/etc/kubernetes/scheduler.conf"
    args = parse_flags(
        [
            f"--authentication-kubeconfig={conf}",
            f"--authorization-kubeconfig={conf}",
            "--bind-address=127.0.0.1",
            f"--kubeconfig={conf}",
            "--leader-elect=true",
        ]
    )
    assert (args.config, args.kubeconfig, args.bind_address, args.secure_port) == ("", conf, "127.0.0.1", 10259)
    assert list(find_ignored_flags(args)) == []


def test_flags_are_read_as_go_reads_them() -> None:
    args = parse_flags(
        ["--leader_elect", "--v=3", "--feature-gates=kube:A=true", "--feature-gates", "B=false", "--profiling"]
    )
    assert (args.leader_elect, args.v, args.feature_gates) == (True, 3, {"A": True, "B": False})
    assert [name for name, _ in find_ignored_flags(args)] == ["profiling"]


def test_a_list_replaces_its_default_and_grows_with_each_part() -> None:
    assert parse_flags([]).authorization_always_allow_paths == ["/healthz", "/readyz", "/livez"]
    args = parse_flags(["--authorization-always-allow-paths=/a,/b", "--authorization-always-allow-paths=/c"])
    assert args.authorization_always_allow_paths == ["/a", "/b", "/c"]


def test_leader_election_flags_win_over_the_document() -> None:
    args = parse_flags(["--leader-elect=false", "--leader-elect-resource-name=mine", "--kube-api-qps=7"])
    text = NO_DOCUMENT + "leaderElection: {leaderElect: true, retryPeriod: 3s}\n"
    document = load_document(text, Overrides.from_flags(args, has_document=True))
    assert isinstance(document, Document)
    election = document.leader_election
    assert (election.leader_elect, election.resource_name, election.retry_period) == (False, "mine", "3s")
    assert document.client_connection.qps == 50


def test_what_flags_make_of_a_document_is_judged_as_a_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--leader-elect-renew-deadline=20s", "--secure-port=0"]) == 1
    assert capsys.readouterr().err.startswith("the command line: leaderElection")


def test_a_mistake_that_comes_of_a_flag_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(NO_DOCUMENT + "podMaxBackoffSeconds: 0\n")
    assert main(["--config", str(path), "--leader-elect-lease-duration=5s"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{path}: leaderElection.leaseDuration: 5s is not longer than renewDeadline, 10s "
        "(with --leader-elect-lease-duration)",
        f"{path}: podMaxBackoffSeconds: 0 is too small; it must be at least 1",
    ]


@pytest.mark.cluster
@pytest.mark.parametrize(
    "flags", [[], ["--leader-elect=false", "--leader-elect-resource-name=x"], ["--kube-api-qps=7"]]
)
def test_without_a_document_it_runs_by_what_kube_scheduler_would_run_by(tmp_path: Path, flags: list[str]) -> None:
    ours, theirs = tmp_path / "ours.yaml", tmp_path / "theirs.yaml"
    assert main([*flags, "--kubernetes-version=1.36", "--write-config-to", str(ours)]) == 0
    binary = devcluster.binaries("kube-scheduler", kubernetes="1.36")["kube-scheduler"]
    command = [str(binary), *flags, "--master=http://127.0.0.1:1", "--secure-port=0", f"--write-config-to={theirs}"]
    subprocess.run(command, check=True, capture_output=True)
    assert yaml.safe_load(ours.read_text()) == yaml.safe_load(theirs.read_text())


def test_every_flag_is_listed_with_its_value_or_default() -> None:
    args = parse_flags(
        ["--leader-elect=false", "--feature-gates=B=true,A=false", "--profiling", "--config-map=a/b", "--config=c"]
    )
    texts = flag_values(args)
    expected = {
        "config-map": "a/b",
        "feature-gates": "A=false,B=true",
        "leader-elect": "false",
        "leader-elect-resource-name": "kube-scheduler",
        "leader-elect-lease-duration": "15s",
        "authorization-always-allow-paths": "[/healthz,/readyz,/livez]",
        "kubernetes-version": "",
        "pod-max-in-unschedulable-pods-duration": "5m0s",
        "profiling": "true",
        "v": "0",
    }
    assert {name: texts[name] for name in expected} == expected
    assert not {"help", "version", "vmodule"} & set(texts)


UNSET = {
    "config": "upstream's defaults",
    "extras": "all events, installed plugins, all extenders",
    "config-map": "watch the files",
    "kubeconfig": "$KUBECONFIG, then those of the pod",
    "kubernetes-version": "the API server's version",
    "emulated-version": "the same",
    "feature-gates": "as in that version",
    "write-config-to": "write nothing, and schedule pods",
    "kube-api-qps": "50",
    "tls-cert-file": "kube-scheduler.crt of --cert-dir",
    "tls-private-key-file": "kube-scheduler.key of --cert-dir",
    "tls-sni-cert-key": "the one above for all clients",
    "cert-dir": "none; without all of these a certificate is made in memory",
    "tls-min-version": "VersionTLS12",
    "tls-cipher-suites": "OpenSSL's",
    "authentication-kubeconfig": "those of the scheduler",
    "authorization-kubeconfig": "those of the scheduler",
    "client-ca-file": "none",
    "disabled-metrics": "none",
}
"""What holds without flags that have no value then."""


def test_the_help_shows_each_flag_with_the_form_of_its_value_and_its_default() -> None:
    document = load_document(NO_DOCUMENT, Overrides())
    assert isinstance(document, Document)
    values = {name: value.strip("[]") for name, value in flag_values(parse_flags([])).items()}
    values["kube-api-burst"] = str(document.client_connection.burst)
    assert {name for name, value in values.items() if not value} == UNSET.keys()
    for action in create_parser()._actions:
        if action.help == argparse.SUPPRESS or action.dest in ("help", "version"):
            continue
        assert action.metavar or action.choices, action.dest
        default = re.search(r"\(default: (?:the document's, or )?(.+?)\)(?:$|;)", str(action.help))
        assert default, action.dest
        name = action.option_strings[-1].removeprefix("--")
        assert default[1] == UNSET.get(name, values[name]), name


def test_pairs_for_names_are_as_many_as_there_are_flags() -> None:
    both = ["a.crt,a.key", "b.crt,b.key:*.B.example,c"]
    args = parse_flags([f"--tls-sni-cert-key={pair}" for pair in both])
    assert args.tls_sni_cert_key == [NamedPair("a.crt", "a.key"), NamedPair("b.crt", "b.key", ("*.b.example", "c"))]
    assert flag_values(args)["tls-sni-cert-key"] == "[a.crt,a.key;b.crt,b.key:*.b.example,c]"
    assert flag_values(parse_flags([]))["tls-sni-cert-key"] == "[]"
