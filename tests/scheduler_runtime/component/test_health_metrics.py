"""Results of health checks, as their page shows them."""

from scheduler_runtime.component.health_metrics import HealthMetrics


def test_results_of_health_checks_are_told() -> None:
    health = HealthMetrics()
    health.observe("ping", "livez", True)
    health.observe("ping", "livez", False)
    assert 'kubernetes_healthcheck{name="ping",type="livez"} 0' in health.text()
    assert 'kubernetes_healthchecks_total{name="ping",type="livez",status="error"} 1' in health.text()
