"""Health checks and metrics of the operator."""

from scheduler_operator.app.endpoints import Readiness, operator_endpoints
from scheduler_runtime.component.https import Endpoints


def endpoints(readiness: Readiness, loop: str | None = None, election: str | None = None) -> Endpoints:
    return operator_endpoints(readiness, lambda: loop, lambda: election, lambda: "up 1\n")


def answers(served: Endpoints) -> dict[str, tuple[int, str]]:
    return {path: (served.respond(path).status, served.respond(path).body) for path in ("/livez", "/readyz")}


def test_a_process_that_waits_is_alive_and_not_ready_and_says_for_what() -> None:
    result = answers(endpoints(Readiness("CRDs missing")))
    assert result["/livez"] == (200, "ok")
    assert result["/readyz"][0] == 500
    assert "[-]startup failed: CRDs missing\n" in result["/readyz"][1]


def test_a_process_that_has_begun_stays_ready() -> None:
    readiness = Readiness()
    readiness.wait_for("the API server")
    assert readiness.check() == "the API server"
    readiness.become_ready()
    readiness.wait_for("the API server")
    assert answers(endpoints(readiness)) == {"/livez": (200, "ok"), "/readyz": (200, "ok")}


def test_a_process_whose_loop_or_lease_is_stuck_is_not_alive() -> None:
    for stuck in (endpoints(Readiness(""), loop="stuck"), endpoints(Readiness(""), election="stuck")):
        assert [status for status, _ in answers(stuck).values()] == [500, 500]


def test_what_is_wrong_although_it_works_is_said_beside_ok() -> None:
    served = endpoints(Readiness("", {"crds": "the API server cannot read SchedulerProfile poison"}))
    assert answers(served) == {
        "/livez": (200, "ok"),
        "/readyz": (200, "ok; but the API server cannot read SchedulerProfile poison\n"),
    }


def test_metrics_and_the_results_of_checks_are_pages() -> None:
    served = endpoints(Readiness(""))
    assert served.respond("/metrics").body == "up 1\n"
    served.respond("/readyz")
    assert 'kubernetes_healthcheck{name="startup",type="readyz"} 1' in served.respond("/metrics/slis").body
