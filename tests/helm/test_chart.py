"""The chart as text. That it installs an operator which works is tested on a real API server."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import devcluster
from scheduler_operator.desired.rbac import READER_ROLE, SYSTEM_ROLES
from scheduler_operator.generate import chart as generated
from scheduler_operator.resources import kinds
from scheduler_operator.resources.names import RESERVED

READER_BINDINGS = "berth-operator-reader-bindings"
EVENTS = "berth-operator:events"
KUBE_SCHEDULER = "berth-operator:kube-scheduler"
METRICS_READER = "berth-operator:metrics-reader"
WITH_KUBE_SCHEDULER = "profiles.allowed.engines={KubeScheduler}"
ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm/berth"

pytestmark = pytest.mark.cluster  # of which they need one binary: helm is built as those of a control plane are


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [devcluster.binaries("helm")["helm"], *arguments], capture_output=True, text=True, check=False
    )


def template(*values: str) -> dict[tuple[str, str], Any]:
    """The objects of the chart by kind and name, with ``name=value`` pairs set."""
    settings = [argument for value in values for argument in ("--set", value)]
    answer = helm("template", "berth", str(CHART), "--namespace", "berth-system", *settings)
    assert answer.returncode == 0, answer.stderr
    objects = [item for item in yaml.safe_load_all(answer.stdout) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in objects}


@pytest.fixture(scope="module")
def chart() -> dict[tuple[str, str], Any]:
    return template()


def operator(objects: dict[tuple[str, str], Any]) -> Any:
    return objects["Deployment", "berth-operator"]["spec"]["template"]["spec"]


def rules(objects: dict[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """What the operator is granted, wherever."""
    kinds_of_roles = ("Role", "ClusterRole")
    roles = [item for (kind, name), item in objects.items() if kind in kinds_of_roles and name != METRICS_READER]
    return [rule for role in roles for rule in role.get("rules", [])]


def test_helm_finds_nothing_to_complain_about() -> None:
    answer = helm("lint", "--strict", str(CHART))
    assert answer.returncode == 0, answer.stdout


def test_the_generated_rules_are_what_the_catalog_says() -> None:
    for name, text in generated.files().items():
        assert (ROOT / generated.DIRECTORY / name).read_text() == text, "run: make crds"


def test_everything_is_in_the_releases_namespace_or_in_none_but_two_roles(chart: dict[tuple[str, str], Any]) -> None:
    elsewhere = {
        (*key, namespace)
        for key, item in chart.items()
        if (namespace := item["metadata"].get("namespace", "berth-system")) != "berth-system"
    }
    assert elsewhere == {
        *((kind, READER_BINDINGS, "kube-system") for kind in ("Role", "RoleBinding")),
        *((kind, EVENTS, "default") for kind in ("Role", "RoleBinding")),
    }


def test_crds_are_not_the_charts_to_delete(chart: dict[tuple[str, str], Any]) -> None:
    assert "CustomResourceDefinition" not in {kind for kind, _ in chart}


def test_the_operator_can_neither_escalate_nor_do_everything(chart: dict[tuple[str, str], Any]) -> None:
    words = {word for rule in rules(chart) for field in ("verbs", "resources", "apiGroups") for word in rule[field]}
    assert words.isdisjoint({"escalate", "impersonate", "*", "secrets"})


@pytest.mark.parametrize("by_choice", [False, True], ids=["generated-rules", "system-roles"])
def test_the_operator_binds_roles_of_the_cluster_by_name_and_only_by_choice(by_choice: bool) -> None:
    objects = template(WITH_KUBE_SCHEDULER, f"kubeScheduler.systemRoles={str(by_choice).lower()}")
    binds = [rule for rule in rules(objects) if "bind" in rule["verbs"]]
    assert all(rule["verbs"] == ["bind"] for rule in binds)
    system_roles = {("clusterroles", *(f"system:{name}" for name in SYSTEM_ROLES))} if by_choice else set()
    assert {(*rule["resources"], *rule["resourceNames"]) for rule in binds} == {("roles", READER_ROLE), *system_roles}
    assert ("--grant-system-roles" in operator(objects)["containers"][0]["args"]) == by_choice
    assert (("ClusterRole", KUBE_SCHEDULER) in objects) != by_choice


def test_the_operator_has_no_rights_for_an_engine_that_profiles_may_not_have(chart: dict[tuple[str, str], Any]) -> None:
    for objects in (chart, template("kubeScheduler.systemRoles=true")):
        assert ("ClusterRole", KUBE_SCHEDULER) not in objects
        assert "bind" not in {verb for rule in rules(objects) for verb in rule["verbs"]}
        (in_kube_system,) = objects["Role", READER_BINDINGS]["rules"]
        assert set(in_kube_system["verbs"]) == {"list", "delete"}


def test_a_plugin_config_may_declare_nothing_of_what_only_kube_scheduler_gets() -> None:
    chart = template(WITH_KUBE_SCHEDULER)
    (selector,) = chart["ClusterRole", "berth-plugin-permissions"]["aggregationRule"]["clusterRoleSelectors"]
    labels = chart["ClusterRole", KUBE_SCHEDULER]["metadata"]["labels"]
    assert not selector["matchLabels"].items() <= labels.items()


def test_the_operator_may_write_every_kind_that_it_generates(chart: dict[tuple[str, str], Any]) -> None:
    needed = {"get", "list", "watch", "create", "patch", "delete"}
    for kind in kinds.GENERATED:
        role = chart["Role" if kind.namespaced else "ClusterRole", "berth-operator"]
        granted = [r for r in role["rules"] if kind.group in r["apiGroups"] and kind.plural in r["resources"]]
        assert granted, kind
        assert needed <= set(granted[0]["verbs"]), kind


def test_no_profile_can_have_the_name_of_an_object_of_the_chart(chart: dict[tuple[str, str], Any]) -> None:
    kinds_of_profiles = {kind.name for kind in kinds.GENERATED}
    own = {key for key, item in chart.items() if item["metadata"].get("namespace") != "kube-system"}
    # No name of a profile has a colon.
    names = {name.removeprefix("berth-") for kind, name in own if kind in kinds_of_profiles and ":" not in name}
    assert names == set(RESERVED)


def test_the_aggregated_role_leaves_its_rules_to_the_controller(chart: dict[tuple[str, str], Any]) -> None:
    role = chart["ClusterRole", "berth-plugin-permissions"]
    assert "rules" not in role
    (selector,) = role["aggregationRule"]["clusterRoleSelectors"]
    catalog = chart["ClusterRole", "berth-catalog-permissions"]
    assert selector["matchLabels"].items() <= catalog["metadata"]["labels"].items()
    assert catalog["rules"] == yaml.safe_load(generated.files()["catalog-rules.yaml"])


def test_the_operators_pods_satisfy_pod_securitys_level_restricted(chart: dict[tuple[str, str], Any]) -> None:
    pod = operator(chart)
    (container,) = pod["containers"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_schedulers_run_from_the_operators_image_unless_another_is_set() -> None:
    (container,) = operator(template("image.repository=registry.example/berth", "image.tag=7"))["containers"]
    assert container["image"] == "registry.example/berth:7"
    assert container["args"][:2] == ["--scheduler-image", "registry.example/berth:7"]
    (container,) = operator(template("scheduler.image=mine:1"))["containers"]
    assert container["args"][:2] == ["--scheduler-image", "mine:1"]


def test_images_are_pulled_with_the_same_secrets_by_the_operator_and_by_schedulers() -> None:
    assert "imagePullSecrets" not in operator(template())
    chart = template("imagePullSecrets[0].name=registry", "imagePullSecrets[1].name=mirror")
    assert operator(chart)["imagePullSecrets"] == [{"name": "registry"}, {"name": "mirror"}]
    assert "--image-pull-secrets=registry,mirror" in operator(chart)["containers"][0]["args"]
    policy = yaml.safe_dump(chart["ValidatingAdmissionPolicy", "berth-operator-deployments"], width=10**6)
    assert """secret.?name.orValue('') in ["registry","mirror"])""" in policy


def test_values_reach_the_operators_pods() -> None:
    pod = operator(
        template("nodeSelector.pool=infra", "tolerations[0].operator=Exists", "logLevel=4", "logFormat=json")
    )
    assert pod["nodeSelector"] == {"pool": "infra"}
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["containers"][0]["args"][-4:] == ["--logging-format", "json", "-v", "4"]


def test_code_in_config_maps_runs_only_where_that_is_enabled() -> None:
    flag = "--allow-plugin-sources"
    default, enabled = template(), template("pluginSources.enabled=true")
    assert flag not in operator(default)["containers"][0]["args"]
    assert flag in operator(enabled)["containers"][0]["args"]
    right = {"apiGroups": ["berth.dev"], "resources": ["pluginsources"], "verbs": ["run"]}
    assert right not in rules(default)
    assert right in enabled["Role", "berth-operator"]["rules"]


def test_the_operators_endpoints_are_https_with_a_service_for_collectors(chart: dict[tuple[str, str], Any]) -> None:
    (container,) = operator(chart)["containers"]
    port = container["args"][container["args"].index("--secure-port") + 1]
    (served,) = chart["Service", "berth-operator"]["spec"]["ports"]
    assert (str(served["port"]), served["name"]) == (port, "https-metrics")
    assert container["ports"] == [{"name": "https-metrics", "containerPort": int(port)}]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert (str(container[probe]["httpGet"]["port"]), container[probe]["httpGet"]["scheme"]) == (port, "HTTPS")


def test_the_operator_is_not_preempted_unless_that_is_chosen(chart: dict[tuple[str, str], Any]) -> None:
    assert operator(chart)["priorityClassName"] == "system-cluster-critical"
    assert "priorityClassName" not in operator(template("priorityClassName="))


def test_one_replica_has_no_budget_for_disruptions() -> None:
    assert ("PodDisruptionBudget", "berth-operator") not in template("replicas=1")


@pytest.mark.parametrize(
    "value",
    [
        *("replica=1", "replicas=many", "image.pullPolicy=Sometimes", "image.tags=1", "logLevel=11", "resources.cpu=1"),
        *("profiles.allowed.engines={Rust}", "profiles.allowed.engines={}", "profiles.allowed.images={it's}"),
        *("profiles.allowed.podLabels={example.com}", "profiles.allowed.podAnnotations={*/}", "profiles.images={a}"),
    ],
)
def test_a_value_that_does_not_exist_or_does_not_fit_is_refused(value: str) -> None:
    answer = helm("template", "berth", str(CHART), "--set", value)
    assert answer.returncode != 0
    assert "values don't meet the specifications of the schema" in answer.stderr


@pytest.mark.parametrize("page", ["README.md", "helm/berth/README.md", "helm/berth/templates/NOTES.txt"])
def test_every_page_installs_the_crds_in_the_same_way(page: str) -> None:
    commands = [line.strip() for line in (ROOT / page).read_text().splitlines() if line.strip().endswith("-f crds/")]
    assert set(commands) == {"kubectl apply --server-side -f crds/"}


def test_the_notes_begin_with_the_profile_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    notes = (CHART / "templates/NOTES.txt").read_text().partition("<<PROFILE\n")[2].partition("    PROFILE")[0]
    assert yaml.safe_load(notes) == yaml.safe_load(readme)


def policies(*arguments: str) -> dict[str, Any]:
    """The specs of the admission policies by name."""
    answer = helm("template", "berth", str(CHART), *arguments)
    objects = [item for item in yaml.safe_load_all(answer.stdout) if item]
    return {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "ValidatingAdmissionPolicy"}


def test_the_policies_speak_of_the_releases_own_accounts() -> None:
    specs = policies("--namespace", "schedulers")
    about_accounts = {
        name: spec for name, spec in specs.items() if name.startswith(("berth-operator", "berth-scheduler"))
    }
    assert len(about_accounts) == 7
    for spec in about_accounts.values():
        assert "system:serviceaccount:schedulers:berth-" in spec["matchConditions"][0]["expression"]


def test_every_policy_is_in_force_and_lets_nothing_pass_when_it_cannot_be_evaluated(
    chart: dict[tuple[str, str], Any],
) -> None:
    bound = {item["spec"]["policyName"] for (kind, _), item in chart.items() if kind.endswith("PolicyBinding")}
    made = {name: item for (kind, name), item in chart.items() if kind == "ValidatingAdmissionPolicy"}
    assert bound == set(made)
    assert {item["spec"]["failurePolicy"] for item in made.values()} == {"Fail"}


def test_what_profiles_may_have_reaches_the_policy_and_the_operator() -> None:
    values = (
        *("image.repository=registry.example/berth", "image.tag=7", "scheduler.image=mine:1"),
        *("profiles.allowed.engines={Python,KubeScheduler}", "profiles.allowed.images={registry.example/team/}"),
        *("profiles.allowed.priorityClasses={high}", "profiles.allowed.podAnnotations={example.com/}"),
    )
    chart = template(*values)
    (container,) = operator(chart)["containers"]
    assert [argument for argument in container["args"] if argument.startswith("--allowed-")] == [
        "--allowed-engines=Python,KubeScheduler",
        "--allowed-images=mine:1,registry.example/berth:7,registry.k8s.io/kube-scheduler,registry.example/team/",
        "--allowed-priority-classes=high",
        "--allowed-pod-labels=",
        "--allowed-pod-annotations=example.com/",
    ]
    spec = chart["ValidatingAdmissionPolicy", "berth-profile-limits"]["spec"]
    written = " ".join(validation["expression"] for validation in spec["validations"])
    assert '["mine:1","registry.example/berth:7","registry.k8s.io/kube-scheduler","registry.example/team/"]' in written


def test_kube_scheduler_is_an_engine_only_where_that_is_allowed(chart: dict[tuple[str, str], Any]) -> None:
    (container,) = operator(chart)["containers"]
    assert "--allowed-engines=Python,ConfigMap" in container["args"]
    assert "kube-scheduler" not in yaml.safe_dump(chart["ValidatingAdmissionPolicy", "berth-profile-limits"])


def test_schedulers_may_preempt_system_critical_pods_only_where_that_is_allowed() -> None:
    assert "berth-scheduler-deletions" in policies()
    allowing = policies("--set", "scheduler.mayPreemptCriticalPods=true")
    assert "berth-scheduler-deletions" not in allowing
    assert "2000000000" not in yaml.safe_dump(allowing)
