"""The operator's command line."""

import pytest

from scheduler_operator.app.settings import parse

ENVIRONMENT = {"POD_NAME": "berth-operator-1", "POD_NAMESPACE": "schedulers", "POD_IP": "10.0.0.7"}


def test_a_pod_tells_where_it_is() -> None:
    result = parse(["--scheduler-image", "berth:1"], ENVIRONMENT)
    assert result.release.namespace == "schedulers"
    assert result.release.scheduler_image == "berth:1"
    assert (result.serving.address, result.serving.port) == ("10.0.0.7", 8443)
    assert result.lease.identity.startswith("berth-operator-1_")


def test_two_processes_of_one_pod_are_not_the_same_candidate() -> None:
    one, other = (parse(["--scheduler-image", "berth:1"], ENVIRONMENT) for _ in range(2))
    assert one.lease.identity != other.lease.identity


def test_the_lease_is_called_as_the_installation_says() -> None:
    assert parse(["--scheduler-image", "berth:1"], ENVIRONMENT).lease.name == "berth-operator"
    assert parse(["--scheduler-image", "berth:1", "--name", "own"], ENVIRONMENT).lease.name == "own"


def test_without_an_image_there_is_nothing_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([], ENVIRONMENT)
    assert ended.value.code == 2
    assert "--scheduler-image" in capsys.readouterr().err


def test_times_with_which_nobody_could_lead_are_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--scheduler-image", "berth:1", "--lease-duration", "5"], ENVIRONMENT)
    assert "leaseDuration: 5s is not greater than renewDeadline 10s" in capsys.readouterr().err


def test_a_certificate_without_its_key_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--scheduler-image", "berth:1", "--tls-cert-file", "tls.crt"], ENVIRONMENT)
    assert "--tls-cert-file and --tls-private-key-file belong together: give both or none" in capsys.readouterr().err


def test_health_is_open_to_everybody_and_nothing_else() -> None:
    rules = parse(["--scheduler-image", "berth:1"], ENVIRONMENT).serving.rules
    assert {path: rules.always_allow(path) for path in ("/livez", "/readyz", "/metrics", "/metrics/slis")} == {
        "/livez": True,
        "/readyz": True,
        "/metrics": False,
        "/metrics/slis": False,
    }
