"""Inputs that nobody meant: noise, texts after a few slips, and objects with something odd somewhere in them."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import yaml

SEEDS = tuple(path.read_text() for path in sorted((Path(__file__).parent / "seeds").iterdir()))
COMMON = tuple(number for number, text in enumerate(SEEDS) if "berth.dev" in text or "config.k8s.io/v1\n" in text) * 2
OBJECTS = tuple(list(yaml.safe_load_all(text)) for text in SEEDS)
WORDS = tuple(sorted({word for text in SEEDS for word in text.replace(",", " ").split()}))
ODD_TEXTS = (
    *("&a", "*a", "<<: *a", "!!binary x", "!!python/object:os.system", "!!set {a}", "!!timestamp 2001-01-01"),
    *("? ", "|", ">-", "---", "...", "%YAML 9.9", "\t", "\ufeff", "\0", "\x1b[2J", "\\ud800", '"\\ud800"', "\u2028"),
    *("é", "🙂", "~", "null", "NaN", ".nan", "-.inf", "1e999", "0x10", "010", "1_000", "0b1", "12:30:45", "9" * 400),
    *("-" * 50, "{" * 200, "[" * 200, "'", '"', "#", ": ", "- ", "@", "`", "${x}", "{{ .Values.x }}", "yes", "="),
    *("a: b: c", "\r\n", "\x85"),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 101, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e30, 1e-300),
    *("", " ", "*", "x", "5", "1h", "a.b/c", "A" * 300, "\x1b[31m", "\ud83d", "NodeResourcesFit", "default-scheduler"),
    *("kubescheduler.config.k8s.io/v1", "berth.dev/v1alpha1", "SchedulerProfile", [], {}, [[]], [None], [{}]),
    *({"": ""}, {"name": "x"}, [{"name": "*"}], [{"name": "x"}, {"name": "x"}], {"a": {"b": {"c": []}}}),
)


def fuzzed(random: Random) -> bytes:
    """An input of some family."""
    return random.choice(FAMILIES)(random)


def noise(random: Random) -> bytes:
    """Bytes; half of the time those of texts."""
    length = random.choice((0, 1, 3, 20, 300))
    if random.random() < 0.5:
        return random.randbytes(length)
    return "".join(random.choice((*ODD_TEXTS, *WORDS, "\n", "  ")) for _ in range(length)).encode(
        errors="surrogatepass"
    )


def slipped(random: Random) -> bytes:
    """A seed with a few places typed over."""
    text = SEEDS[_seed(random)]
    for _ in range(_few(random)):
        text = random.choice(SLIPS)(random, text)
    return text.encode(errors="surrogatepass")


def grafted(random: Random) -> bytes:
    """Objects of the seeds with odd values in odd places, as YAML or as JSON."""
    objects = copy.deepcopy(OBJECTS[_seed(random)])
    for _ in range(_few(random)):
        _graft(random, objects)
    if random.random() < 0.5 and objects:
        return json.dumps(objects[0]).encode()
    return yaml.safe_dump_all(objects).encode(errors="surrogatepass")


def _few(random: Random) -> int:
    """Mostly one: an input with many mistakes is refused for the first of them."""
    return (1, 1, 1, 1, 2, 4)[random.randrange(6)]


def _seed(random: Random) -> int:
    """Which seed to take: more often one that every command reads."""
    numbers: list[int] = [*COMMON, *range(len(SEEDS))]
    return numbers[random.randrange(len(numbers))]


def _graft(random: Random, objects: list[Any]) -> None:
    places = list(_places(objects))
    if not places:
        return
    holder, key = random.choice(places)
    match random.randrange(5):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[random.choice((*WORDS, "name", "args", "*"))] = holder.pop(key)
        case 2:
            other, place = random.choice(list(_places(list(random.choice(OBJECTS)))))
            holder[key] = copy.deepcopy(other[place])
        case _:
            holder[key] = copy.deepcopy(random.choice(ODD_VALUES))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _type_over(random: Random, text: str) -> str:
    start = random.randrange(len(text) + 1)
    return text[:start] + random.choice((*ODD_TEXTS, *WORDS)) + text[start + random.choice((0, 0, 1, 5, 40)) :]


def _replace_word(random: Random, text: str) -> str:
    return text.replace(random.choice(WORDS), random.choice((*ODD_TEXTS, *WORDS)), random.choice((1, -1)))


def _move_line(random: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    line = lines.pop(random.randrange(len(lines))) if lines else ""
    moved = random.choice((line, line * 2, "  " + line, line.lstrip(), ""))
    lines.insert(random.randrange(len(lines) + 1), moved)
    return "".join(lines)


FAMILIES: tuple[Callable[[Random], bytes], ...] = (noise, slipped, slipped, grafted, grafted, grafted)
SLIPS: tuple[Callable[[Random, str], str], ...] = (_type_over, _replace_word, _move_line)


USER_OBJECTS = tuple(item for objects in OBJECTS for item in objects if "berth.dev" in str(item.get("apiVersion")))
"""Profiles and PluginConfigs of the seeds."""
PLUGINS = (
    *("NodeResourcesFit", "NodeAffinity", "PriceCap", "PodTopologySpread", "InterPodAffinity"),
    *("No\0thing", "é" * 100),
)
PATTERNS = ("(a?){500}a{500}", "(x+x+)+y", r"(\w{30}){30}", "((", "a" * 5000)
ARGS = "/profiles/0/pluginConfig/0/args"
POINTERS = ("/profiles/-", "/profiles/01", "/profiles/²", "/~01", "/", "/kind", ARGS, f"{ARGS}/a/b", f"{ARGS}/-")
OPERATIONS = ("add", "move", "copy", "remove", "test", "replace")
HOSTILE_SIZES = (10, 100, 1000, 20_000, 49_000, 60_000)


def user_objects(random: Random) -> list[dict[str, Any]]:
    """A few profiles and PluginConfigs that refer to each other, with odd values or a hostile one somewhere."""
    objects = copy.deepcopy([random.choice(USER_OBJECTS) for _ in range(random.choice((1, 2, 2, 3, 5)))])
    for number, item in enumerate(objects):
        item["metadata"]["name"], spec = f"object-{number}", item["spec"]
        if item["kind"] == "PluginConfig" and random.random() < 0.3:
            spec["plugin"] = random.choice(PLUGINS)
        if item["kind"] == "SchedulerProfile" and number and random.random() < 0.3:
            spec["joins"] = "object-0"
        if item["kind"] == "SchedulerProfile" and random.random() < 0.3:
            spec["pluginConfig"] = [{"name": random.choice(PLUGINS), "ref": f"object-{n}"} for n in range(len(objects))]
    if random.random() < 0.1:
        _put_hostile(random, random.choice(objects)["spec"])
    else:
        for _ in range(_few(random)):
            _graft(random, objects)
    return [item for item in objects if _is_object(item)]


def _put_hostile(random: Random, spec: dict[str, Any]) -> None:
    """Put a value of extreme size or form where a user may write any value."""
    value = _hostile_value(random)
    match random.randrange(5):
        case 0:
            spec["args"] = {"a": value}
        case 1:
            spec["pluginConfig"] = [{"name": random.choice(PLUGINS), "args": {"a": value}}]
        case 2:
            spec.update(plugin="PriceCap", declares={"hooks": ["filter"], "argsSchema": _hostile_schema(random)})
            spec["args"] = {"a": value, "b": value}
        case 3:
            entry = {"name": "NodeAffinity", "args": {"a": value}}
            first = {"op": "add", "path": "/profiles/0/pluginConfig", "value": [entry]}
            count = random.choice((1, 10, 63))
            copies = [{"op": "copy", "from": ARGS, "path": f"{ARGS}/b{number}"} for number in range(count)]
            odd = [{"op": random.choice(OPERATIONS), "path": path, "from": ARGS, "value": 1} for path in POINTERS]
            spec["overrides"] = [first, *random.choice((copies, odd, [*odd, *copies]))]
        case 4:
            spec["scheduler"] = {"affinity": {"a": value}}


def _hostile_value(random: Random) -> Any:
    size = random.choice(HOSTILE_SIZES)
    match random.randrange(6):
        case 0:
            value: Any = "leaf"
            for number in range(min(size, 20_000)):
                value = [value] if number % 2 else {"a": value}
            return value
        case 1:
            return [random.choice((0, "a", None, {"a": []})) for _ in range(size)]
        case 2:
            return {f"{random.choice(ODD_TEXTS)}{number}": number for number in range(size)}
        case 3:
            return random.choice(("a", "\0", "é", "🙂", "\x1b[31m")) * size * 20
        case 4:
            return [[[0] * 30] * 30] * (size // 900 + 1)
    return {"k" * min(size, 1000): {"k" * min(size, 1000): list(range(size))}}


def _hostile_schema(random: Random) -> dict[str, Any]:
    size = random.choice(HOSTILE_SIZES)
    choices: tuple[dict[str, Any], ...] = (
        {"type": "string", "enum": [f"value-{number}" for number in range(size)]},
        {"type": "array", "uniqueItems": True, "items": {"type": "integer"}},
        {"type": "string", "pattern": random.choice(PATTERNS)},
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}},
        {"type": "object", "required": [f"field-{number}" for number in range(size)]},
    )
    names = ("a", *(f"p{number}" for number in range(random.choice((0, 3)))))
    properties = {name: random.choice(choices) for name in names}
    return {"type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": True}


def _is_object(item: Any) -> bool:
    """Whether the API server would take it for an object of a kind at all."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    has_name = isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and bool(metadata["name"])
    return has_name and item.get("kind") in ("SchedulerProfile", "PluginConfig") and isinstance(item.get("spec"), dict)
