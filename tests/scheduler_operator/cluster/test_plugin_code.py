"""Code in ConfigMaps that a PluginConfig names, and what is wrong with it for a scheduler that starts."""

import hashlib
from typing import Any

import pytest

from scheduler_operator.cluster.plugin_code import CodeSource, PluginCode
from scheduler_operator.cluster.user_objects import StoredObject
from tests.scheduler_operator.builders import declaring

CODE = "class PriceCap: ..."
HASH = hashlib.sha256(CODE.encode()).hexdigest()
SOURCE = {"configMap": {"name": "price-cap", "key": "price_cap.py", "sha256": HASH}}
CONFIG = declaring("cap", "PriceCap", {"hooks": ["filter"]}, source=SOURCE)
PLACE = "ConfigMap berth-system/price-cap"


def known(digests: dict[str, str] | None) -> PluginCode:
    code = PluginCode()
    code.is_known = True
    if digests is not None:
        code.put("price-cap", digests)
    return code


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(known({"price_cap.py": HASH}), "None", id="as-it-was-named"),
        pytest.param(PluginCode(), "None", id="not-known-yet"),
        pytest.param(
            known(None),
            f"spec.source.configMap.name: {PLACE} does not exist; create it with the code",
            id="no-config-map",
        ),
        pytest.param(
            known({"other.py": HASH}),
            f"spec.source.configMap.key: {PLACE} has no price_cap.py; put the code there",
            id="no-key",
        ),
        pytest.param(
            known({"price_cap.py": "4f" * 32}),
            f"spec.source.configMap.sha256: price_cap.py in {PLACE} has the SHA-256 {'4f' * 32}",
            id="other-code",
        ),
    ],
)
def test_what_a_scheduler_could_not_load_is_told(code: PluginCode, expected: str) -> None:
    problem = code.problem(CONFIG, "berth-system")
    assert str(problem).startswith(expected)
    assert problem is None or "schedulers that run go on with the code" in str(problem)


def test_a_config_map_that_is_deleted_is_missed() -> None:
    code = known({"price_cap.py": HASH})
    code.remove("price-cap")
    assert "does not exist" in str(code.problem(CONFIG, "berth-system"))


@pytest.mark.parametrize(
    "source", [None, "x", {}, {"configMap": []}, {"configMap": {"name": 1, "key": "a.py", "sha256": "b"}}]
)
def test_a_source_that_is_none_has_no_code_to_miss(source: Any) -> None:
    config = declaring("cap", "PriceCap", {"hooks": ["filter"]}, **({} if source is None else {"source": source}))
    assert CodeSource.of(config) is None
    assert known(None).problem(config, "berth-system") is None


def test_the_source_is_among_what_is_kept_of_a_plugin_config() -> None:
    raw = {"kind": "PluginConfig", "metadata": {"name": "cap", "uid": "1", "generation": 1}, "spec": CONFIG.spec}
    assert CodeSource.of(StoredObject.from_object(raw).relations) == CodeSource("price-cap", "price_cap.py", HASH)
