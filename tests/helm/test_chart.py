"""The chart as text. That it installs an operator which works is tested on a real API server."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import devcluster
from scheduler_operator.app import settings
from scheduler_operator.desired.rbac import READER_ROLE, SYSTEM_ROLES
from scheduler_operator.desired.workload import PORT
from scheduler_operator.generate import chart as generated
from scheduler_operator.resources import kinds
from scheduler_operator.resources.names import RESERVED
from scheduler_runtime.catalog import OLDEST_MINOR

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
    (deployment,) = [item for (kind, _), item in objects.items() if kind == "Deployment"]
    return deployment["spec"]["template"]["spec"]


def rules(objects: dict[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """What the operator is granted, wherever."""
    kinds_of_roles = ("Role", "ClusterRole")
    roles = [item for (kind, name), item in objects.items() if kind in kinds_of_roles and name != METRICS_READER]
    return [rule for role in roles for rule in role.get("rules", [])]


def test_the_chart_is_for_versions_of_kubernetes_that_profiles_can_be_rendered_for() -> None:
    metadata = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert metadata["kubeVersion"] == f">={OLDEST_MINOR}.0-0"
    assert helm("template", "berth", str(CHART), "--kube-version", "1.34.9").returncode != 0
    assert helm("template", "berth", str(CHART), "--kube-version", f"{OLDEST_MINOR}.0").returncode == 0


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


def crds(objects: dict[tuple[str, str], Any]) -> dict[str, Any]:
    return {name: item for (kind, name), item in objects.items() if kind == "CustomResourceDefinition"}


def test_the_crds_are_those_of_the_repository_and_stay_when_the_chart_goes(chart: dict[tuple[str, str], Any]) -> None:
    files = {file.name: yaml.safe_load(file.read_text()) for file in (ROOT / "crds").iterdir()}
    assert {f"{name}.yaml" for name in crds(chart)} == set(files)
    for name, crd in crds(chart).items():
        expected = files[f"{name}.yaml"]
        assert crd["spec"] == expected["spec"]
        annotations = {**expected["metadata"]["annotations"], "helm.sh/resource-policy": "keep"}
        assert crd["metadata"]["annotations"] == annotations


def test_crds_go_with_the_chart_or_are_left_to_others_only_by_choice() -> None:
    going = crds(template("crds.keep=false"))
    assert going
    assert all(set(crd["metadata"]["annotations"]) == {"berth.dev/schema-revision"} for crd in going.values())
    assert crds(template("crds.enabled=false")) == {}


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
        assert set(in_kube_system["verbs"]) == {"list", "watch", "delete"}


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
    own = {
        (kind, name)
        for (kind, name), item in chart.items()
        if item["metadata"].get("namespace") != "kube-system" and name.startswith("berth-")
    }
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


@pytest.mark.parametrize(
    ("values", "image"),
    [
        (["image.tag=7"], "berth:7"),
        (["image.registry=registry.example:5000", "image.tag=7"], "registry.example:5000/berth:7"),
        (["image.digest=sha256:0123456789abcdef0123456789abcdef"], "berth@sha256:0123456789abcdef0123456789abcdef"),
        (
            ["image.tag=7", "image.digest=sha256:0123456789abcdef0123456789abcdef"],
            "berth:7@sha256:0123456789abcdef0123456789abcdef",
        ),
    ],
    ids=["tag", "registry", "digest", "tag-and-digest"],
)
def test_an_image_is_named_in_the_same_way_everywhere(values: list[str], image: str) -> None:
    chart = template(*values)
    (container,) = operator(chart)["containers"]
    assert container["image"] == image
    assert container["args"][1] == image
    assert f"--allowed-images={image}" in container["args"]
    assert f'["{image}"]' in yaml.safe_dump(chart["ValidatingAdmissionPolicy", "berth-profile-limits"], width=10**6)
    assert chart["Pod", "test-berth-operator"]["spec"]["containers"][0]["image"] == image


def test_another_name_is_that_of_everything_that_has_it_and_of_every_reference() -> None:
    here = template("fullnameOverride=sched", "nameOverride=label")
    for kind in ("Deployment", "ServiceAccount", "Service", "PodDisruptionBudget", "Role", "ClusterRole"):
        assert (kind, "sched") in here
        assert (kind, "berth-operator") not in here
    pod = operator(here)
    assert pod["serviceAccountName"] == "sched"
    assert "--name=sched" in pod["containers"][0]["args"]
    subjects = [s for (kind, _), item in here.items() if kind.endswith("RoleBinding") for s in item["subjects"]]
    assert {subject["name"] for subject in subjects} == {"sched", "test-sched"}
    roles = {name for kind, name in here if kind in ("Role", "ClusterRole")}
    bindings = [item for (kind, _), item in here.items() if kind.endswith("RoleBinding")]
    assert {binding["roleRef"]["name"] for binding in bindings} <= roles
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert here[kind, "sched"]["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": "label"}
    assert here["Service", "sched"]["spec"]["selector"] == {"app.kubernetes.io/name": "label"}
    labels = here["Deployment", "sched"]["spec"]["template"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] == "label"


def test_the_policies_know_an_operator_whose_account_has_another_name() -> None:
    specs = policies("--namespace", "schedulers", "--set", "serviceAccount.name=sched")
    account = "request.userInfo.username == 'system:serviceaccount:schedulers:sched'"
    for name, spec in about_accounts(specs).items():
        assert account in spec["matchConditions"][0]["expression"], name
    (_, others) = specs["berth-configmaps"]["matchConditions"]
    assert others["expression"] == f"!({account})"


def test_labels_of_all_objects_change_none_by_which_pods_are_found() -> None:
    values = ("commonLabels.team=a", "commonLabels.app\\.kubernetes\\.io/name=other", "podLabels.zone=b")
    here = template(*values, "monitoring.rules.enabled=true", "monitoring.labels.team=b")
    assert {key for key, item in here.items() if "team" not in item["metadata"]["labels"]} == set()
    assert here["PrometheusRule", "berth"]["metadata"]["labels"]["team"] == "b"
    deployment = here["Deployment", "berth-operator"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert (labels["team"], labels["zone"], labels["app.kubernetes.io/name"]) == ("a", "b", "berth-operator")


def test_an_account_of_others_is_used_and_none_is_made() -> None:
    here = template("serviceAccount.create=false", "serviceAccount.name=mine")
    assert ("ServiceAccount", "mine") not in here
    assert operator(here)["serviceAccountName"] == "mine"
    annotated = template("serviceAccount.annotations.example\\.com/role=x")["ServiceAccount", "berth-operator"]
    assert annotated["metadata"]["annotations"] == {"example.com/role": "x"}


def test_whatever_is_added_to_the_operators_pods_comes_after_what_the_chart_says() -> None:
    here = template(
        *("extraArgs={--workers=8}", "extraEnv[0].name=HTTPS_PROXY", "extraEnv[0].value=http://proxy"),
        *("extraVolumes[0].name=ca", "extraVolumes[0].configMap.name=ca"),
        *("extraVolumeMounts[0].name=ca", "extraVolumeMounts[0].mountPath=/ca"),
        *("affinity.nodeAffinity.x=y", "dnsPolicy=Default", "podAnnotations.a=b", "strategy.type=Recreate"),
        *("topologySpreadConstraints[0].maxSkew=1", "topologySpreadConstraints[0].topologyKey=zone"),
        "topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
    )
    pod = operator(here)
    (container,) = pod["containers"]
    assert container["args"][-1] == "--workers=8"
    assert container["env"][-1] == {"name": "HTTPS_PROXY", "value": "http://proxy"}
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp", "/ca"]  # noqa: S108
    assert [volume["name"] for volume in pod["volumes"]] == ["tmp", "ca"]
    assert pod["affinity"] == {"nodeAffinity": {"x": "y"}}
    assert pod["dnsPolicy"] == "Default"
    (constraint,) = pod["topologySpreadConstraints"]
    assert constraint["labelSelector"] == {"matchLabels": {"app.kubernetes.io/name": "berth-operator"}}
    spec = here["Deployment", "berth-operator"]["spec"]
    assert spec["template"]["metadata"]["annotations"] == {"a": "b"}
    assert spec["strategy"] == {"type": "Recreate"}


def test_the_operator_reads_the_arguments_that_the_chart_gives_it() -> None:
    values = ("leaderElection.leaseDurationSeconds=60", "leaderElection.renewDeadlineSeconds=40", "workers=2")
    (container,) = operator(template(*values, "resyncSeconds=3600", "fullnameOverride=sched"))["containers"]
    read = settings.parse(container["args"], {})
    assert (read.lease.name, read.lease.lease_duration, read.lease.renew_deadline) == ("sched", 60, 40)
    assert (read.workers, read.resync_seconds) == (2, 3600)


def test_the_priority_of_kube_scheduler_is_that_of_leases_and_requests_of_the_namespace(
    chart: dict[tuple[str, str], Any],
) -> None:
    schemas = {name: item["spec"] for (kind, name), item in chart.items() if kind == "FlowSchema"}
    levels = {name: spec["priorityLevelConfiguration"]["name"] for name, spec in schemas.items()}
    assert levels == {"berth-leases": "leader-election", "berth-requests": "workload-high"}
    for spec in schemas.values():
        (rule,) = spec["rules"]
        assert rule["subjects"] == [
            {"kind": "ServiceAccount", "serviceAccount": {"namespace": "berth-system", "name": "*"}}
        ]
    assert "FlowSchema" not in {kind for kind, _ in template("flowSchemas.enabled=false")}


def test_network_policies_let_the_ports_through_on_which_something_listens(chart: dict[tuple[str, str], Any]) -> None:
    assert "NetworkPolicy" not in {kind for kind, _ in chart}
    here = template("networkPolicy.enabled=true", "nameOverride=label")
    specs = {name: item["spec"] for (kind, name), item in here.items() if kind == "NetworkPolicy"}
    labels = {name: spec["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for name, spec in specs.items()}
    assert labels == {"berth-operator": "label", "berth-schedulers": "berth-scheduler"}
    ports = {name: [port["port"] for port in spec["ingress"][0]["ports"]] for name, spec in specs.items()}
    (container,) = operator(here)["containers"]
    assert ports == {"berth-operator": [container["ports"][0]["containerPort"]], "berth-schedulers": [PORT]}


def test_the_test_of_an_installation_is_none_of_the_operators_pods(chart: dict[tuple[str, str], Any]) -> None:
    pod = chart["Pod", "test-berth-operator"]
    selector = chart["Service", "berth-operator"]["spec"]["selector"]
    assert not selector.items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["containers"][0]["args"] == ["--engine=ConfigMap"]
    with_processes = template("profiles.allowed.engines={KubeScheduler}")["Pod", "test-berth-operator"]
    assert with_processes["spec"]["containers"][0]["args"] == ["--engine=KubeScheduler"]


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


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        pytest.param(
            ["leaderElection.leaseDurationSeconds=10"],
            "leaderElection.leaseDurationSeconds: 10 is not greater than renewDeadlineSeconds 10",
            id="lease",
        ),
        pytest.param(
            ["leaderElection.retryPeriodSeconds=9"],
            "leaderElection.renewDeadlineSeconds: 10 is not greater than 1.2 times retryPeriodSeconds 9",
            id="retry",
        ),
        pytest.param(["fullnameOverride=berth-x"], "fullnameOverride: berth-x begins with berth-", id="name"),
        pytest.param(["serviceAccount.name=berth-x"], "serviceAccount.name: berth-x begins with berth-", id="account"),
        pytest.param(["serviceAccount.create=false"], "set serviceAccount.name to a ServiceAccount", id="no-account"),
        pytest.param(["image.repository=a/b:1"], "image.repository: a/b:1 has a tag or a digest", id="tag"),
        pytest.param(
            ["commonLabels.rbac\\.authorization\\.k8s\\.io/aggregate-to-view=yes"],
            "commonLabels: by rbac.authorization.k8s.io/aggregate-to-view the rules of the chart's roles would become",
            id="aggregation",
        ),
        pytest.param(
            ["commonLabels.berth\\.dev/aggregate-to-operator=yes"],
            "commonLabels: by berth.dev/aggregate-to-operator the rules",
            id="aggregation-to-the-operator",
        ),
        pytest.param(["crds=null"], "--reset-then-reuse-values instead of --reuse-values", id="older-values"),
    ],
)
def test_values_that_do_not_go_together_are_refused_in_a_sentence(values: list[str], sentence: str) -> None:
    settings = [argument for value in values for argument in ("--set", value)]
    answer = helm("template", "berth", str(CHART), *settings)
    assert answer.returncode != 0
    assert sentence in answer.stderr


def test_a_registry_with_a_port_is_no_tag() -> None:
    (container,) = operator(template("image.repository=localhost:5000/berth"))["containers"]
    assert container["image"].startswith("localhost:5000/berth:")


def test_the_notes_begin_with_the_profile_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    notes = (CHART / "templates/NOTES.txt").read_text().partition("<<PROFILE\n")[2].partition("    PROFILE")[0]
    assert yaml.safe_load(notes) == yaml.safe_load(readme)


def policies(*arguments: str) -> dict[str, Any]:
    """The specs of the admission policies by name."""
    answer = helm("template", "berth", str(CHART), *arguments)
    objects = [item for item in yaml.safe_load_all(answer.stdout) if item]
    return {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "ValidatingAdmissionPolicy"}


def about_accounts(specs: dict[str, Any]) -> dict[str, Any]:
    """Those policies that are about accounts of the operator and of schedulers."""
    found = {name: spec for name, spec in specs.items() if name.startswith(("berth-operator", "berth-scheduler"))}
    assert len(found) == 7
    return found


def test_the_policies_speak_of_the_releases_own_accounts() -> None:
    specs = policies("--namespace", "schedulers")
    for spec in about_accounts(specs).values():
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
    images = '["mine:1","registry.example/berth:7","registry.k8s.io/kube-scheduler","registry.example/team/"]'
    for policy in ("berth-profile-limits", "berth-operator-deployments"):
        variables = chart["ValidatingAdmissionPolicy", policy]["spec"]["variables"]
        assert {"name": "allowedImages", "expression": images} in variables


def test_kube_scheduler_is_an_engine_only_where_that_is_allowed(chart: dict[tuple[str, str], Any]) -> None:
    (container,) = operator(chart)["containers"]
    assert "--allowed-engines=Python,ConfigMap" in container["args"]
    assert "kube-scheduler" not in yaml.safe_dump(chart["ValidatingAdmissionPolicy", "berth-profile-limits"])


def test_schedulers_may_preempt_system_critical_pods_only_where_that_is_allowed() -> None:
    assert "berth-scheduler-deletions" in policies()
    allowing = policies("--set", "scheduler.mayPreemptCriticalPods=true")
    assert "berth-scheduler-deletions" not in allowing
    assert "2000000000" not in yaml.safe_dump(allowing)
