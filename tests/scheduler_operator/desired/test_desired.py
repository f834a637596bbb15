"""The objects that should exist for a profile."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import yaml

from scheduler_operator.desired import Object, desired_objects
from scheduler_operator.render import Rendered, render
from scheduler_operator.resources.names import OWN_ANNOTATIONS, OWN_LABELS, with_uids
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import berth_options
from scheduler_runtime.config.berth_options import BerthOptions
from tests.scheduler_operator.builders import NAMESPACE, RELEASE, V1_36, declaring, problems, profile, rendered

CONFIG_MAPS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
KINDS_WITHOUT_NAMESPACE = {"ClusterRole", "ClusterRoleBinding"}


def objects(**spec: Any) -> dict[str, Object]:
    scheduler_profile = profile(**spec)
    return applied(desired_objects(scheduler_profile, rendered(scheduler_profile), RELEASE))


def applied(expected: list[Object], account: str = "the-accounts-uid") -> dict[str, Object]:
    """What reaches the API server, by kind, when the ServiceAccount has that uid."""
    uids = {("ServiceAccount", item["metadata"]["name"]): account for item in expected}
    return {item["kind"]: with_uids(item, uids) for item in expected}


def pod(**spec: Any) -> Object:
    template: Object = objects(**spec)["Deployment"]["spec"]["template"]
    return template


def container(**spec: Any) -> Object:
    result: Object = pod(**spec)["spec"]["containers"][0]
    return result


def test_a_profile_has_everything_that_a_scheduler_needs() -> None:
    assert set(objects()) == {
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Lease",
        "ConfigMap",
        "Service",
        "Deployment",
        "PodDisruptionBudget",
    }


def test_only_the_document_is_created_when_somebody_else_runs_it() -> None:
    assert set(objects(engine="ConfigMap")) == {"ConfigMap"}


def test_an_account_comes_before_its_roles_and_roles_before_their_bindings() -> None:
    order = list(objects())
    for earlier, later in [
        ("ServiceAccount", "Deployment"),
        ("ClusterRole", "ClusterRoleBinding"),
        ("Role", "RoleBinding"),
        ("RoleBinding", "Deployment"),
        ("Lease", "Deployment"),
        ("ConfigMap", "Deployment"),
    ]:
        assert order.index(earlier) < order.index(later)


def test_everything_is_named_labelled_and_owned_alike() -> None:
    for kind, item in objects().items():
        metadata = item["metadata"]
        # Its ConfigMap has a name of its own for each pod template, or pods that end would read a later document.
        assert re.fullmatch(r"berth-bin-packing(\.[0-9a-f]{10})?", metadata["name"])
        assert ("." in metadata["name"]) == (kind == "ConfigMap")
        assert metadata.get("namespace") == (None if kind in KINDS_WITHOUT_NAMESPACE else "berth-system")
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "berth"
        assert metadata["labels"]["berth.dev/profile"] == "bin-packing"
        (owner,) = metadata["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("SchedulerProfile", "bin-packing", "uid-of-bin-packing")
        assert "blockOwnerDeletion" not in owner


def test_a_pod_template_has_a_config_map_of_its_own_and_a_document_that_pods_follow_has_not() -> None:
    def config_map(**spec: Any) -> str:
        return str(objects(**spec)["ConfigMap"]["metadata"]["name"])

    assert config_map() == config_map(percentageOfNodesToScore=7)
    assert len({config_map(), config_map(scheduler={"image": "other:1"}), config_map(engine="KubeScheduler")}) == 3
    assert config_map(engine="ConfigMap") == "berth-bin-packing"


def test_a_single_process_has_no_budget_for_disruptions() -> None:
    assert "PodDisruptionBudget" not in objects(scheduler={"replicas": 1})
    assert objects(scheduler={"replicas": 1})["Deployment"]["spec"]["replicas"] == 1


def test_the_lease_is_only_a_name_so_that_its_holder_is_the_schedulers_business() -> None:
    assert set(objects()["Lease"]) == {"apiVersion", "kind", "metadata"}


def test_the_schedulers_pods_do_not_wait_for_themselves() -> None:
    assert pod()["spec"]["schedulerName"] == "default-scheduler"


def test_the_scheduler_starts_with_its_document_version_and_address() -> None:
    result = container(scheduler={"kubernetesVersion": "1.35", "logLevel": 0})
    assert result["command"] == ["berth-scheduler"]
    document = objects(scheduler={"kubernetesVersion": "1.35", "logLevel": 0})["ConfigMap"]["metadata"]["name"]
    assert result["args"] == [
        *("--config", "/etc/berth/config.yaml"),
        *("--config-map", f"{NAMESPACE}/{document}"),
        *("--extras", "/etc/berth/berth.yaml"),
        *("--kubernetes-version", "v1.35.0"),
        *("--secure-port", "10259"),
        *("--bind-address", "$(POD_IP)"),
        *("-v", "0"),
    ]
    assert result["volumeMounts"] == [{"name": "config", "mountPath": "/etc/berth", "readOnly": True}]
    assert {variable["name"] for variable in result["env"]} == {"POD_IP", "POD_NAME", "POD_NAMESPACE"}


def test_both_engines_serve_health_and_metrics_over_tls_on_one_port() -> None:
    result = container()
    probes = [result[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert [(item["path"], item["port"], item["scheme"]) for item in probes] == [
        *[("/livez", 10259, "HTTPS")] * 2,
        ("/readyz", 10259, "HTTPS"),
    ]
    assert result["ports"][0]["name"] == objects()["Service"]["spec"]["ports"][0]["name"] == "https-metrics"


def test_a_scheduler_may_ask_who_wants_to_see_its_endpoints() -> None:
    granted = {(*rule["resources"], *rule["verbs"]) for rule in objects()["ClusterRole"]["rules"]}
    assert {("tokenreviews", "create"), ("subjectaccessreviews", "create")} <= granted


def test_the_image_is_the_profiles_own_where_it_names_one() -> None:
    assert container()["image"] == "berth:dev"
    assert container(scheduler={"image": "mine:2"})["image"] == "mine:2"


def test_images_are_pulled_with_the_secrets_of_the_installation() -> None:
    assert "imagePullSecrets" not in pod()["spec"]
    release = replace(RELEASE, image_pull_secrets=("registry", "mirror"))
    scheduler_profile = profile()
    made = applied(desired_objects(scheduler_profile, rendered(scheduler_profile), release))
    secrets = made["Deployment"]["spec"]["template"]["spec"]["imagePullSecrets"]
    assert secrets == [{"name": "registry"}, {"name": "mirror"}]


def test_resources_are_requested_even_when_the_profile_says_nothing() -> None:
    assert container()["resources"] == {"requests": {"cpu": "100m", "memory": "256Mi"}}
    inputs = {"limits": {"memory": "1Gi"}}
    assert container(scheduler={"resources": inputs})["resources"]["limits"] == {"memory": "1Gi"}
    assert container(scheduler={"resources": {"requests": {"cpu": 2}}})["resources"] == {"requests": {"cpu": 2}}


def test_what_the_profile_says_of_its_pods_stands_in_them() -> None:
    toleration = {"key": "infra", "operator": "Exists"}
    inputs = pod(
        scheduler={
            "nodeSelector": {"pool": "infra"},
            "tolerations": [toleration],
            "affinity": {"nodeAffinity": {}},
            "priorityClassName": "important",
            "podLabels": {"team": "a"},
            "podAnnotations": {"note": "b"},
        }
    )
    assert inputs["spec"]["nodeSelector"] == {"pool": "infra"}
    assert inputs["spec"]["tolerations"] == [toleration]
    assert inputs["spec"]["affinity"] == {"nodeAffinity": {}}
    assert inputs["spec"]["priorityClassName"] == "important"
    assert inputs["metadata"]["labels"]["team"] == "a"
    assert inputs["metadata"]["annotations"]["note"] == "b"


def test_the_labels_that_select_the_pods_cannot_be_removed() -> None:
    labels = pod(scheduler={"podLabels": {"berth.dev/profile": "other"}})["metadata"]["labels"]
    assert labels["berth.dev/profile"] == "bin-packing"


def test_nobody_can_set_what_berth_writes_into_its_pods() -> None:
    metadata = pod()["metadata"]
    upstreams = pod(engine="KubeScheduler")["metadata"]
    assert {*metadata["annotations"], *upstreams["annotations"]} == set(OWN_ANNOTATIONS)
    assert set(metadata["labels"]) < set(OWN_LABELS)


FOLLOWED = [
    {"percentageOfNodesToScore": 5},
    {"scheduler": {"events": "None"}},
    {"scheduler": {"podMaxBackoffSeconds": 30}},
]


@pytest.mark.parametrize("change", FOLLOWED)
def test_what_a_running_scheduler_follows_is_no_other_pod_template(change: dict[str, Any]) -> None:
    assert pod(**change) == pod()


@pytest.mark.parametrize(
    "change",
    [
        {"leaderElection": {"leaseDuration": "20s"}},
        {"clientConnection": {"qps": 100}},
        {"featureGates": {"GenericWorkload": True}},
        {"kubernetesVersion": "1.35"},
    ],
)
def test_what_it_cannot_follow_is_another_pod_template(change: dict[str, Any]) -> None:
    assert pod(scheduler=change) != pod()


@pytest.mark.parametrize("change", FOLLOWED[:1])
def test_a_kube_scheduler_follows_nothing(change: dict[str, Any]) -> None:
    assert pod(engine="KubeScheduler", **change) != pod(engine="KubeScheduler")


def test_a_document_is_there_after_what_it_needs_and_before_who_reads_it() -> None:
    kinds = list(objects())
    assert kinds.index("RoleBinding") < kinds.index("ConfigMap") < kinds.index("Deployment")


def test_pods_satisfy_pod_securitys_level_restricted() -> None:
    spec = pod()["spec"]
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container()["securityContext"]["allowPrivilegeEscalation"] is False
    assert container()["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {next(iter(volume.keys() - {"name"})) for volume in spec["volumes"]} == {"configMap"}


def strings(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [result for inner in value.values() for result in strings(inner)]
    if isinstance(value, list):
        return [result for inner in value for result in strings(inner)]
    return [str(value)]


def test_no_rule_holds_a_wildcard() -> None:
    roles = [objects()[kind]["rules"] for kind in ("ClusterRole", "Role")]
    assert "*" not in strings(roles)


def rights(expected: dict[str, Object]) -> set[str]:
    """What the roles grant, such as ``delete pods`` and ``list apps/replicasets``."""
    rules = [rule for kind in ("ClusterRole", "Role") for rule in expected[kind]["rules"]]
    return {
        f"{verb} {group}/{resource}".replace(" /", " ")
        for rule in rules
        for verb, group, resource in product(rule["verbs"], rule["apiGroups"], rule["resources"])
    }


POSTS = {"create events", "create events.k8s.io/events", "patch events.k8s.io/events"}
WITHOUT_DEFAULTS = [{"name": "PodTopologySpread", "args": {"defaultingType": "List"}}]


@pytest.mark.parametrize(
    ("spec", "fewer"),
    [
        pytest.param(
            {"plugins": {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}},
            {"delete pods", "list policy/poddisruptionbudgets", "watch policy/poddisruptionbudgets"},
            id="no-preemption",
        ),
        pytest.param(
            {"plugins": {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}}},
            {"list namespaces", "watch namespaces"},
            id="no-pod-affinity",
        ),
        pytest.param(
            {"pluginConfig": WITHOUT_DEFAULTS},
            {
                f"{verb} {resource}"
                for verb in ("list", "watch")
                for resource in ("services", "replicationcontrollers", "apps/replicasets", "apps/statefulsets")
            },
            id="no-default-spreading",
        ),
        pytest.param({"scheduler": {"events": "None"}}, POSTS, id="no-events"),
        pytest.param({"scheduler": {"events": "Failures"}}, set(), id="events-about-failures"),
    ],
)
def test_what_a_profile_does_without_its_account_may_not_do(spec: dict[str, Any], fewer: set[str]) -> None:
    assert rights(objects()) - rights(objects(**spec)) == fewer
    assert rights(objects(**spec)) <= rights(objects())


@pytest.mark.parametrize("kind", ["ClusterRole", "Role"])
def test_bindings_bind_the_profiles_role_to_the_profiles_account(kind: str) -> None:
    binding = objects()[f"{kind}Binding"]
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": kind,
        "name": "berth-bin-packing",
    }
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "berth-bin-packing", "namespace": "berth-system"}]


@pytest.mark.parametrize("engine", ["Python", "KubeScheduler"])
def test_schedulers_write_their_logs_as_the_operator_does(engine: str) -> None:
    scheduler_profile = profile(engine=engine)
    release = replace(RELEASE, logs_json=True)
    (deployment,) = (
        item
        for item in desired_objects(scheduler_profile, rendered(scheduler_profile), release)
        if item["kind"] == "Deployment"
    )
    (result,) = deployment["spec"]["template"]["spec"]["containers"]
    assert result["args"][-8:-4] == ["--logging-format", "json", "--secure-port", "10259"]


def test_the_same_profile_gives_the_same_objects() -> None:
    assert json.dumps(objects()) == json.dumps(objects())


def test_pods_are_replaced_when_their_account_was_created_again() -> None:
    scheduler_profile = profile()
    expected = desired_objects(scheduler_profile, rendered(scheduler_profile), RELEASE)
    one, other = (applied(expected, account)["Deployment"]["spec"]["template"] for account in ("first", "second"))
    assert one != other
    assert one == applied(expected, "first")["Deployment"]["spec"]["template"]


def named(*, grants_system_roles: bool = False, **spec: Any) -> dict[tuple[str, str], Object]:
    """The objects by kind and name: with engine KubeScheduler there are several of a kind."""
    scheduler_profile = profile(engine="KubeScheduler", **spec)
    release = replace(RELEASE, grants_system_roles=grants_system_roles)
    expected = desired_objects(scheduler_profile, rendered(scheduler_profile, PRICES), release)
    return {(item["kind"], item["metadata"]["name"]): item for item in expected}


PRICES = declaring("prices", "PriceCap", {"hooks": ["filter"], "rules": [CONFIG_MAPS]})
PRICED = {"filter": {"enabled": [{"name": "PriceCap"}]}}


def test_upstreams_scheduler_is_started_as_its_own_image_is() -> None:
    gates = {"SchedulerAsyncAPICalls": True, "SchedulerPopFromBackoffQ": False}
    deployment = named(scheduler={"featureGates": gates})["Deployment", "berth-bin-packing"]
    (result,) = deployment["spec"]["template"]["spec"]["containers"]
    assert result["image"] == "registry.k8s.io/kube-scheduler:v1.36.4"
    assert result["command"] == ["kube-scheduler"]
    assert result["args"] == [
        *("--config", "/etc/berth/config.yaml"),
        *("--feature-gates", "SchedulerAsyncAPICalls=true,SchedulerPopFromBackoffQ=false"),
        *("--secure-port", "10259"),
        *("--bind-address", "$(POD_IP)"),
        *("-v", "2"),
    ]
    probes = [result[probe]["httpGet"]["scheme"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert probes == ["HTTPS"] * 3
    assert result["ports"][0]["name"] == "https-metrics"
    assert result["securityContext"]["runAsUser"] > 0


READER = "extension-apiserver-authentication-reader"


def bound_roles(objects: dict[tuple[str, str], Object]) -> dict[tuple[str, str], tuple[str, str]]:
    return {
        key: (item["roleRef"]["kind"], item["roleRef"]["name"]) for key, item in objects.items() if "roleRef" in item
    }


def test_upstreams_scheduler_has_what_its_plugins_need_and_its_own_lease() -> None:
    created = named()
    assert bound_roles(created) == {
        ("ClusterRoleBinding", "berth-bin-packing"): ("ClusterRole", "berth-bin-packing"),
        ("RoleBinding", f"berth-bin-packing:{READER}"): ("Role", READER),
        ("RoleBinding", "berth-bin-packing"): ("Role", "berth-bin-packing"),
    }
    assert created["RoleBinding", f"berth-bin-packing:{READER}"]["metadata"]["namespace"] == "kube-system"
    assert {rule["resources"][0] for rule in created["Role", "berth-bin-packing"]["rules"]} == {"leases", "events"}


def test_upstreams_scheduler_has_the_clusters_own_roles_only_where_the_installation_says_so() -> None:
    created = named(grants_system_roles=True)
    assert bound_roles(created) == {
        ("ClusterRoleBinding", "berth-bin-packing:kube-scheduler"): ("ClusterRole", "system:kube-scheduler"),
        ("ClusterRoleBinding", "berth-bin-packing:volume-scheduler"): ("ClusterRole", "system:volume-scheduler"),
        ("RoleBinding", f"berth-bin-packing:{READER}"): ("Role", READER),
        ("RoleBinding", "berth-bin-packing"): ("Role", "berth-bin-packing"),
    }
    assert ("ClusterRole", "berth-bin-packing") not in created


def test_upstreams_scheduler_has_beyond_these_what_its_plugins_declare() -> None:
    image = {"image": "registry.example.com/kube-scheduler:v1"}
    beyond = named(grants_system_roles=True, plugins=PRICED, scheduler=image)
    account = account_of(beyond)
    assert beyond["ClusterRole", account]["rules"] == [CONFIG_MAPS]
    assert ("ClusterRoleBinding", account) in beyond
    assert CONFIG_MAPS in named(plugins=PRICED, scheduler=image)["ClusterRole", account]["rules"]


def account_of(created: dict[tuple[str, str], Object]) -> str:
    """The account of the processes, which must be the only one, and the only one that gets any rights."""
    (account,) = (name for kind, name in created if kind == "ServiceAccount")
    subjects = [subject["name"] for item in created.values() for subject in item.get("subjects", ())]
    pod = created["Deployment", "berth-bin-packing"]["spec"]["template"]["spec"]
    assert set(subjects) == {pod["serviceAccountName"]} == {account}
    return account


def test_code_that_is_granted_rights_has_an_account_of_its_own() -> None:
    one, other = (named(plugins=PRICED, scheduler={"image": image}) for image in ("it:1", "it:2"))
    assert len({account_of(one), account_of(other), account_of(named(scheduler={"image": "it:1"}))}) == 3
    assert account_of(one) == account_of(named(plugins=PRICED, scheduler={"image": "it:1", "logLevel": 4}))
    # So what the one has is nothing that the other could use while its processes are still there.
    roles = {key for key in one.keys() & other.keys() if key[0].endswith(("Role", "Binding", "Account"))}
    assert roles == set()


def test_rules_that_in_tree_plugins_have_need_no_account_of_their_own() -> None:
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}
    scheduler_profile = profile(plugins=PRICED)
    process = rendered(scheduler_profile, declaring("prices", "PriceCap", {"hooks": ["filter"], "rules": [nodes]}))
    assert applied(desired_objects(scheduler_profile, process, RELEASE))["ServiceAccount"]["metadata"]["name"] == (
        "berth-bin-packing"
    )


def test_what_the_document_has_no_field_for_stands_beside_it() -> None:
    assert set(objects(engine="KubeScheduler")["ConfigMap"]["data"]) == {"config.yaml"}
    data = objects(scheduler={"events": "Failures"})["ConfigMap"]["data"]
    assert yaml.safe_load(data["berth.yaml"]) == {"events": "Failures"}


SOURCE = {"configMap": {"name": "price-cap", "key": "price_cap.py", "sha256": "0" * 64}}


def test_a_scheduler_gets_the_place_and_hash_of_code_and_may_read_it() -> None:
    declares = {"hooks": ["filter"], "rules": [CONFIG_MAPS]}
    scheduler_profile = profile(plugins=PRICED)
    configs = declaring("prices", "PriceCap", declares, source=SOURCE)
    created = applied(desired_objects(scheduler_profile, rendered(scheduler_profile, configs), RELEASE))
    document = yaml.safe_load(created["ConfigMap"]["data"]["berth.yaml"])
    assert document == {"events": "All", "plugins": {"PriceCap": {**SOURCE, "declares": declares}}}
    read = berth_options.load(created["ConfigMap"]["data"]["berth.yaml"], "berth.yaml")
    assert isinstance(read, BerthOptions), str(read)
    assert read.plugins.keys() == {"PriceCap"}
    code = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["price-cap"], "verbs": ["get"]}
    assert code in created["Role"]["rules"]
    run = {"apiGroups": ["berth.dev"], "resources": ["pluginsources"], "resourceNames": ["0" * 64], "verbs": ["run"]}
    assert run in created["Role"]["rules"]
    assert run["resources"] not in [rule["resources"] for rule in objects()["Role"]["rules"]]


@pytest.mark.parametrize("engine", ["Python", "KubeScheduler"])
@pytest.mark.parametrize("allows", [False, True])
def test_only_our_own_schedulers_are_started_for_code_in_config_maps_where_the_release_allows_it(
    engine: str, allows: bool
) -> None:
    scheduler_profile, release = profile(engine=engine), replace(RELEASE, allows_sources=allows)
    # Also for a profile without such code, so that one that gets it keeps its processes.
    created = applied(desired_objects(scheduler_profile, rendered(scheduler_profile), release))
    (result,) = created["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert ("--allow-plugin-sources" in result["args"]) == (allows and engine == "Python")


def secured(name: str, **tls: Any) -> dict[str, Any]:
    """An extender with certificates in the Secret ``name``."""
    tls_config = {"secretName": f"berth-extender-{name}", **tls}
    return {"urlPrefix": "https://x", "filterVerb": "filter", "ignorable": True, "tlsConfig": tls_config}


@pytest.mark.parametrize("engine", ["Python", "KubeScheduler"])
def test_secrets_of_extenders_are_mounted_and_the_document_names_their_files(engine: str) -> None:
    extenders = [secured("b"), secured("a", caData=base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode())]
    extenders.append(secured("a", insecure=True))
    made = objects(engine=engine, extenders=extenders)
    (config, volume) = made["Deployment"]["spec"]["template"]["spec"]["volumes"]
    assert config["name"] == "config"
    sources = [source["secret"] for source in volume["projected"]["sources"]]
    assert [(source["name"], source["optional"]) for source in sources] == [
        ("berth-extender-a", True),
        ("berth-extender-b", True),
    ]
    mounts = made["Deployment"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    directory = {mount["name"]: mount["mountPath"] for mount in mounts}[volume["name"]]
    mounted = {f"{directory}/{item['path']}" for source in sources for item in source["items"]}
    document = yaml.safe_load(made["ConfigMap"]["data"]["config.yaml"])
    named = [
        {field: value for field, value in extender["tlsConfig"].items() if field.endswith("File")}
        for extender in document["extenders"]
    ]
    pair = ["certFile", "keyFile"]
    assert [list(files) for files in named] == [[*pair, "caFile"], pair, pair]
    assert {file for files in named for file in files.values()} <= mounted


def test_a_process_mounts_the_secrets_of_all_its_profiles() -> None:
    owner, joiner = profile("a", extenders=[secured("a")]), profile("b", joins="a", extenders=[secured("b")])
    outcome = render([owner, joiner], {}, NAMESPACE, Target(V1_36))
    assert isinstance(outcome, Rendered)
    assert outcome.extender_secrets == ("berth-extender-a", "berth-extender-b")


@pytest.mark.parametrize("engine", ["Python", "KubeScheduler"])
def test_a_scheduler_has_no_file_that_is_not_of_its_document(engine: str) -> None:
    made = objects(engine=engine)
    (volume,) = made["Deployment"]["spec"]["template"]["spec"]["volumes"]
    assert [item["key"] for item in volume["configMap"]["items"]] == list(made["ConfigMap"]["data"])


def test_without_secrets_there_is_one_volume() -> None:
    assert len(pod()["spec"]["volumes"]) == len(container()["volumeMounts"]) == 1


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        ({"secretName": "berth-operator-token"}, "does not have the form"),
        ({"secretName": "berth-extender-"}, "does not have the form"),
        ({"secretName": "berth-extender-a/../b"}, "does not have the form"),
        ({"secretName": "berth-extender-a", "keyFile": "/x"}, "leave out the fields of files and data"),
        ({"secretName": "berth-extender-a", "certData": "eA=="}, "leave out the fields of files and data"),
    ],
)
def test_other_secrets_and_files_beside_one_are_refused(tls: dict[str, str], message: str) -> None:
    outcome = problems(profile(extenders=[{"urlPrefix": "https://x", "filterVerb": "f", "tlsConfig": tls}]))
    (problem,) = [problem for problem in outcome.problems if problem.path == "spec.extenders[0].tlsConfig.secretName"]
    assert message in problem.message
