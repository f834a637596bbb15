"""Permissions of plugins: rules are granted to one plugin, together with its code."""

from typing import Any

import pytest

from scheduler_operator.reconcile.permissions import permission_problems
from scheduler_operator.render import ObjectProblems
from tests.scheduler_operator.builders import RELEASE, declaring, profile, rendered

SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}
SHA256 = "0123456789abcdef" * 4
IMAGE = "registry.example.com/with-plugins@sha256:0123"


def grant(plugin: str = "PriceCap", rules: Any = (SECRETS,), **code: str) -> dict[str, Any]:
    """A ClusterRole of an administrator; ``code`` are its annotations about the code, by their last word."""
    ties = {"berth.dev/for-plugin": plugin, **{f"berth.dev/for-{what}": value for what, value in code.items()}}
    return {"metadata": {"name": f"for-{plugin}", "annotations": ties}, "rules": list(rules)}


def problems(
    *grants: dict[str, Any], image: str = "", sha256: str = "", rules: Any = (SECRETS,), beside: str = ""
) -> ObjectProblems | None:
    """What is wrong with a profile of PriceCap, whose code is in ``image`` or has that hash; with Ledger ``beside``."""

    def source(name: str, sha256: str) -> dict[str, Any]:
        config_map = {"name": name.lower(), "key": "it.py", "sha256": sha256}
        return {"source": {"configMap": config_map}} if sha256 else {}

    configs = [
        declaring("prices", "PriceCap", {"hooks": ["filter"], "rules": list(rules)}, **source("PriceCap", sha256))
    ]
    if beside:
        configs.append(declaring("ledger", "Ledger", {"hooks": ["filter"]}, **source("Ledger", beside)))
    plugins = {"filter": {"enabled": [{"name": config.spec["plugin"]} for config in configs]}}
    scheduler: dict[str, Any] = {"scheduler": {"image": image}} if image else {}
    process = rendered(profile("thrifty", plugins=plugins, **scheduler), *configs)
    return permission_problems(process, grants, RELEASE)


@pytest.mark.parametrize(
    ("code", "grants"),
    [
        pytest.param({"image": IMAGE}, [grant(image=IMAGE)], id="an-image"),
        pytest.param({"image": IMAGE}, [grant(image="other:1"), grant(image=IMAGE)], id="one-of-two-images"),
        pytest.param({}, [grant(image="berth:dev")], id="the-releases-image"),
        pytest.param({"sha256": SHA256}, [grant(sha256=SHA256)], id="a-source-in-the-releases-image"),
        pytest.param({"sha256": SHA256}, [grant(sha256=SHA256, image="berth:dev")], id="which-may-be-named"),
        pytest.param({"sha256": SHA256, "image": IMAGE}, [grant(sha256=SHA256, image=IMAGE)], id="in-another-image"),
        pytest.param(
            {"sha256": SHA256, "beside": "1" * 64},
            [grant(sha256=SHA256), grant("Ledger", (), sha256="1" * 64)],
            id="beside-a-source-that-is-named-too",
        ),
        pytest.param({"rules": [NODES]}, [], id="rules-that-in-tree-plugins-have"),
    ],
)
def test_rules_are_granted_to_a_plugin_with_its_code(code: dict[str, Any], grants: list[dict[str, Any]]) -> None:
    # Whether code in a ConfigMap may run at all is another question.
    found = problems(*grants, **code)
    assert found is None or found.reason == "NotLoaded"


@pytest.mark.parametrize(
    ("code", "grants"),
    [
        pytest.param({"image": IMAGE}, [], id="none"),
        pytest.param({"image": IMAGE}, [grant("Other", image=IMAGE)], id="anothers"),
        pytest.param({"image": IMAGE}, [grant()], id="for-no-code"),
        pytest.param({"image": IMAGE}, [{**grant(), "metadata": {"name": "old"}}], id="for-nobody"),
        pytest.param({"image": IMAGE}, [grant(image="registry.example.com/with-plugins")], id="another-image"),
        pytest.param({"image": IMAGE}, [grant(image=IMAGE, sha256=SHA256)], id="a-source-but-it-is-in-the-image"),
        pytest.param({"sha256": SHA256}, [grant(sha256="1" * 64)], id="another-source"),
        pytest.param({"sha256": SHA256}, [grant(image="berth:dev")], id="the-image-but-it-is-a-source"),
        pytest.param(
            {"sha256": SHA256, "image": IMAGE}, [grant(sha256=SHA256)], id="a-source-in-the-releases-image-only"
        ),
        pytest.param({"sha256": SHA256, "beside": "1" * 64}, [grant(sha256=SHA256)], id="beside-a-source-of-nobodys"),
    ],
)
def test_nobody_else_gets_them(code: dict[str, Any], grants: list[dict[str, Any]]) -> None:
    found = problems(*grants, **code)
    assert found is not None
    assert found.reason == "PermissionMissing"


def test_what_is_missing_is_named_with_the_grant_to_write() -> None:
    untied = {"metadata": {"name": "loose"}, "rules": [SECRETS]}
    assert str(problems(untied, image=IMAGE)) == (
        'PriceCap declares rights that nobody has granted to it: {APIGroups:[""], Resources:["secrets"], '
        'Verbs:["get"]}; grant them by a ClusterRole with the label berth.dev/aggregate-to-operator: "true" and the '
        f"annotations berth.dev/for-plugin: PriceCap and berth.dev/for-image: {IMAGE} (ClusterRole loose has them, "
        "without these annotations), or disable the plugin"
    )


def test_code_beside_a_privileged_plugin_is_named_with_what_helps() -> None:
    assert str(problems(grant(sha256=SHA256), sha256=SHA256, beside="1" * 64)) == (
        "spec.plugins: the code of Ledger would have the rights that are granted to PriceCap alone; enable Ledger in "
        "another profile, or have a ClusterRole name it, if only with no rules: the label "
        'berth.dev/aggregate-to-operator: "true" and the annotations berth.dev/for-plugin: Ledger and '
        f"berth.dev/for-sha256: {'1' * 64}"
    )
