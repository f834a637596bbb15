"""``berth lint``: findings, and how a script learns of them."""

import json
from pathlib import Path

import pytest
import yaml

from scheduler_runtime import catalog
from tests.scheduler_operator.cli.berth import BARE, DOCUMENT, FORGETFUL, PROFILE, berth
from tests.support.distributions import CODE, install

CUSTOM = """---
apiVersion: berth.dev/v1alpha1
kind: PluginConfig
metadata: {name: cap}
spec: {plugin: PriceCap, declares: {hooks: [filter, score], argsSchema: {type: object}}}
"""


def test_a_finding_has_its_place_its_code_and_what_to_write() -> None:
    ran = berth("lint", "-", stdin=FORGETFUL)
    first, suggestion = ran.stdout.splitlines()
    assert (ran.status, ran.stderr) == (1, "")
    assert first.startswith("<stdin>:7: warning: profiles[0].plugins.score.enabled[0]: PodTopologySpread")
    assert first.endswith("(WeightReset)")
    assert suggestion.strip() == "{name: PodTopologySpread, weight: 2}"


def test_nothing_to_say_is_silence() -> None:
    ran = berth("lint", "-", stdin=DOCUMENT)
    assert (ran.status, ran.stdout, ran.stderr) == (0, "", "")


def test_a_profile_is_judged_at_the_paths_where_its_author_wrote() -> None:
    ran = berth("lint", "-", stdin=BARE % ("calm", "plugins: {score: {enabled: [{name: NodeAffinity}]}}"))
    assert ran.status == 1
    assert ran.stdout.startswith("<stdin>:5: warning: spec.plugins.score.enabled[0]: NodeAffinity")


@pytest.mark.parametrize(
    ("severity", "status"),
    [pytest.param("error", 0, id="errors-only"), pytest.param("warning", 1, id="warnings"), ("note", 1)],
)
def test_the_severity_decides_how_it_ends(severity: str, status: int) -> None:
    ran = berth("lint", "--severity", severity, "-", stdin=FORGETFUL)
    assert ran.status == status
    assert "WeightReset" in ran.stdout


@pytest.mark.parametrize(
    "allowed",
    [
        pytest.param(FORGETFUL + "# berth: allow WeightReset\n", id="comment-in-a-document"),
        pytest.param(
            (BARE % ("calm", "plugins: {score: {enabled: [{name: NodeAffinity}]}}")).replace(
                "{name: calm}", "{name: calm, annotations: {berth.dev/allow-findings: WeightReset}}"
            ),
            id="annotation-of-a-profile",
        ),
        pytest.param(
            (BARE % ("calm", "plugins: {score: {enabled: [{name: NodeAffinity}]}}")) + "# berth: allow WeightReset\n",
            id="comment-in-a-profile",
        ),
    ],
)
def test_what_is_allowed_is_not_reported(allowed: str) -> None:
    assert berth("lint", "-", stdin=allowed).stdout == ""


HALF = "plugins: {filter: {disabled: [{name: VolumeBinding}]}}"


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(
            DOCUMENT.replace("score:", "filter: {disabled: [{name: VolumeBinding}]}\n    score:"), id="document"
        ),
        pytest.param(BARE % ("calm", f"engine: KubeScheduler, {HALF}"), id="profile"),
    ],
)
def test_an_error_among_findings_is_no_refusal(inputs: str) -> None:
    ran = berth("lint", "--severity", "error", "-", stdin=inputs)
    assert (ran.status, ran.stderr) == (1, "")
    assert "error: " in ran.stdout
    rendered = berth("render", "-", stdin=inputs)
    assert rendered.status == 1
    assert "kind: KubeSchedulerConfiguration" in rendered.stdout
    assert ": error: " in rendered.stderr


@pytest.mark.parametrize(
    ("allowance", "suggestion"),
    [
        pytest.param("# berth: allow WeightRest\n", "# berth: allow WeightReset", id="misspelt"),
        pytest.param("# berth: allow Everything\n", "remove Everything", id="unknown"),
    ],
)
@pytest.mark.parametrize("inputs", [pytest.param(FORGETFUL, id="document"), pytest.param(PROFILE, id="profile")])
def test_an_allowance_of_what_no_finding_is_called_is_reported(inputs: str, allowance: str, suggestion: str) -> None:
    result = json.loads(berth("lint", "-o", "json", "-", stdin=allowance + inputs).stdout)
    (idle,) = (item for item in result if item["code"] == "UnknownCode")
    assert idle["suggestion"] == suggestion
    assert berth("lint", "-o", "sarif", "-", stdin=allowance + inputs).status == 1


def test_what_is_refused_is_reported_beside_the_findings_of_the_rest(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(DOCUMENT.replace("score:", "scores:"))
    ran = berth("lint", str(bad), "-", stdin=FORGETFUL)
    assert ran.status == 2
    assert "WeightReset" in ran.stdout
    assert ran.stderr.startswith(f"{bad}:7: profiles[0].plugins.scores: is not a field; did you mean score")


def test_a_plugin_that_a_plugin_config_declares_is_available_to_documents() -> None:
    inputs = DOCUMENT.replace("PodTopologySpread", "PriceCap")
    assert berth("lint", "-", stdin=inputs).stderr.endswith(
        "there is no plugin 'PriceCap'; if it is your own, install its package beside berth, or give a PluginConfig "
        "that declares it\n"
    )
    assert berth("lint", "-", stdin=inputs + CUSTOM).stderr == ""


@pytest.mark.parametrize("engine", ["KubeScheduler", "Python"])
def test_a_plugin_that_is_installed_beside_berth_is_available_to_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    code = CODE.replace("PriceCap", "BesideCap").replace("NodePlugin\n", "NodePlugin, PluginArgs\n")
    code += "    class Args(PluginArgs):\n        most: int = 3\n"
    install(tmp_path, "beside-caps", code, BesideCap="BesideCap")
    inputs = f"{DOCUMENT}    filter: {{enabled: [{{name: BesideCap}}]}}\n"
    assert "there is no plugin 'BesideCap'" in berth("lint", "-", "--engine", engine, stdin=inputs).stderr
    monkeypatch.syspath_prepend(tmp_path)
    ran = berth("lint", "-", "--engine", engine, stdin=inputs)
    assert (ran.status, ran.stderr) == (0 if engine == "Python" else 1, "")
    assert ("NotInKubeScheduler" in ran.stdout, "no signature" in ran.stdout) == (
        engine != "Python",
        engine == "Python",
    )
    configured = f"{inputs}  pluginConfig: [{{name: BesideCap, args: {{mots: 1}}}}]\n"
    refused = berth("lint", "-", "--engine", engine, stdin=configured).stderr
    assert "pluginConfig[0].args.mots: is not a field; did you mean most?" in refused


def test_a_plugin_beside_berth_that_cannot_be_used_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "lost-caps", "import prices_of_nobody", LostCap="LostCap")
    monkeypatch.syspath_prepend(tmp_path)
    ran = berth("lint", "-", stdin=DOCUMENT.replace("PodTopologySpread", "LostCap"))
    assert ran.status == 2
    assert "plugin LostCap: lost_caps:LostCap of lost-caps 1.0 cannot be imported: ModuleNotFound" in ran.stderr


def test_a_plugin_that_cannot_be_used_is_reported_at_its_place_and_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "torn-caps", "import prices_of_nobody", TornCap="TornCap")
    monkeypatch.syspath_prepend(tmp_path)
    inputs = DOCUMENT.replace("schedulerName", "schedulerNam").replace("PodTopologySpread, weight: 9", "Nowhere")
    inputs += "    filter: {enabled: [{name: TornCap}]}\n    reserve: {enabled: [{name: TornCap}]}\n"
    typo, unknown, torn = berth("lint", "-", stdin=inputs).stderr.splitlines()
    assert typo.startswith("<stdin>:5: profiles[0].schedulerNam: is not a field; did you mean schedulerName?")
    assert unknown.startswith("<stdin>:7: profiles[0].plugins.score.enabled[0].name: there is no plugin 'Nowhere'")
    assert torn.startswith("<stdin>:8: profiles[0].plugins.filter.enabled[0]: plugin TornCap: torn_caps:TornCap of ")


def test_a_misspelt_plugin_beside_berth_is_reported_with_the_one_that_is_intended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "spelt-caps", CODE.replace("PriceCap", "SpeltCap"), SpeltCap="SpeltCap")
    monkeypatch.syspath_prepend(tmp_path)
    messages = berth("lint", "-", stdin=DOCUMENT.replace("PodTopologySpread", "speltCapp")).stderr
    assert "there is no plugin 'speltCapp'; did you mean SpeltCap? If it is your own, install its package" in messages


def test_the_operator_knows_no_plugin_that_is_only_beside_berth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "alone-caps", CODE.replace("PriceCap", "AloneCap"), AloneCap="AloneCap")
    monkeypatch.syspath_prepend(tmp_path)
    ran = berth("lint", "-", stdin=BARE % ("calm", "plugins: {filter: {enabled: [{name: AloneCap}]}}"))
    assert ran.stderr.endswith("if it is in an image of yours, give a PluginConfig that declares it\n")


def test_profiles_that_join_are_judged_together_in_their_own_files(tmp_path: Path) -> None:
    joiner = tmp_path / "joiner.yaml"
    joiner.write_text(BARE % ("calm", "joins: packed, plugins: {score: {enabled: [{name: NodeAffinity}]}}"))
    ran = berth("lint", "-", str(joiner), stdin=PROFILE)
    assert f"{joiner}:5: warning: spec.plugins.score.enabled[0]: NodeAffinity" in ran.stdout
    alone = berth("lint", str(joiner))
    assert alone.stderr.startswith(f"{joiner}:5: spec.joins: there is no profile packed in what was read")


def test_a_profile_cannot_join_one_that_joins() -> None:
    inputs = "".join(BARE % (name, f"joins: {other}") for name, other in (("a", "b"), ("b", "a")))
    ran = berth("lint", "-", stdin=inputs)
    assert ran.status == 2
    assert [line.split(": ")[:3] for line in ran.stderr.splitlines()] == [
        ["<stdin>:5", "spec.joins", "b has no process of its own, because it joins a; join a instead"],
        ["<stdin>:10", "spec.joins", "a has no process of its own, because it joins b; join b instead"],
    ]


def test_of_a_profile_nothing_is_reported_while_its_plugin_config_is_misshapen() -> None:
    inputs = PROFILE[: PROFILE.index("args: {scoring")] + "args: text}\n"
    ran = berth("lint", "-", stdin=inputs)
    assert ran.stderr == "<stdin>:14: spec.args: 'text' is not a mapping of fields\n"


def test_a_directory_is_searched_for_what_speaks_of_schedulers(tmp_path: Path) -> None:
    (tmp_path / "deep" / ".hidden").mkdir(parents=True)
    (tmp_path / "deep" / "scheduler.yml").write_text(FORGETFUL + "---\nkind: Namespace\napiVersion: v1\n")
    (tmp_path / "deep" / ".hidden" / "scheduler.yaml").write_text("kubescheduler.config.k8s.io: [")
    (tmp_path / "other.yaml").write_text("{{ something else }}")
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("name: berth")
    (tmp_path / "chart" / "templates" / "profile.yaml").write_text("{{ berth.dev }}: [")
    ran = berth("lint", str(tmp_path))
    assert ran.stderr == ""
    assert [line.partition(":")[0] for line in ran.stdout.splitlines()[::2]] == [str(tmp_path / "deep/scheduler.yml")]


def test_a_directory_without_any_is_refused(tmp_path: Path) -> None:
    ran = berth("lint", str(tmp_path))
    assert ran.status == 2
    assert ran.stderr == f"{tmp_path}: no file in it speaks of profiles or KubeSchedulerConfigurations\n"


def test_programs_get_findings_and_refusals_in_one_list(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("kind: Pod\napiVersion: v1\n")
    ran = berth("lint", "-o", "json", str(bad), "-", stdin=FORGETFUL)
    result = json.loads(ran.stdout)
    assert (ran.status, ran.stderr) == (2, "")
    assert [(item["file"], item["code"], item["severity"]) for item in result] == [
        (str(bad), "Refused", "error"),
        ("<stdin>", "WeightReset", "warning"),
    ]
    assert result == yaml.safe_load(berth("lint", "-o", "yaml", str(bad), "-", stdin=FORGETFUL).stdout)


def test_colour_is_for_terminals() -> None:
    assert "\033[33mwarning\033[0m" in berth("lint", "-", stdin=FORGETFUL, colour=True).stdout
    assert "\033" not in berth("lint", "-", stdin=FORGETFUL).stdout


def test_a_document_is_judged_for_the_engine_that_the_option_names() -> None:
    inputs = DOCUMENT.replace("score:", "filter: {enabled: [{name: DynamicResources}]}\n    score:")
    missing = catalog.find("DynamicResources") is None
    assert ("NotInThisEngine" in berth("lint", "--engine", "Python", "-", stdin=inputs).stdout) is missing
    assert "NotInThisEngine" not in berth("lint", "-", stdin=inputs).stdout


def test_a_list_is_read_by_its_items_at_their_own_places() -> None:
    profile = "- apiVersion: berth.dev/v1alpha1\n  kind: SchedulerProfile\n  metadata: {name: a}\n  spec:\n"
    listed = (
        f"apiVersion: v1\nkind: List\nitems:\n{profile}    plugins: {{score: {{enabled: [{{name: NodeAffinity}}]}}}}\n"
    )
    ran = berth("lint", "-", stdin=listed)
    assert ran.stdout.startswith("<stdin>:8: warning: spec.plugins.score.enabled[0]: NodeAffinity")


def test_findings_as_a_table() -> None:
    heading, row = berth("lint", "-o", "table", "-", stdin=FORGETFUL).stdout.splitlines()
    assert heading.split() == ["SEVERITY", "CODE", "PLACE", "PATH", "MESSAGE"]
    assert row.split()[:4] == ["warning", "WeightReset", "<stdin>:7", "profiles[0].plugins.score.enabled[0]"]
