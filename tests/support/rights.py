"""Rights of an account beside its requests: granted by roles, used as the audit log tells.

A right that no request used, one that is wider than every use of it, and a refused request are all reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from devcluster.model.api import AdminApi

Object = dict[str, Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource; an empty ``namespace`` is the whole cluster, an empty ``name`` every object."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        name = f" {self.name}" if self.name else ""
        return f"{self.verb} {resource}{name}{f' in {self.namespace}' if self.namespace else ''}"

    def covers(self, use: Right) -> bool:
        """Return whether a grant of this right allows ``use``."""
        return (
            (self.verb, self.group, self.resource) == (use.verb, use.group, use.resource)
            and self.namespace in ("", use.namespace)
            and self.name in ("", use.name)
        )


def granted(api: AdminApi, account: str, without: Iterable[str] = ()) -> set[Right]:
    """Return the rights of the ServiceAccount ``namespace/name``, but for those of roles called as in ``without``."""
    bindings = [*api.get(f"{RBAC}/clusterrolebindings")["items"], *api.get(f"{RBAC}/rolebindings")["items"]]
    rights = set[Right]()
    for binding in bindings:
        accounts = [f"{subject.get('namespace')}/{subject['name']}" for subject in binding.get("subjects", ())]
        kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
        if account not in accounts or name in without:
            continue
        namespace = binding["metadata"].get("namespace", "")
        where = f"/namespaces/{namespace}/roles" if kind == "Role" else "/clusterroles"
        rules = api.get(f"{RBAC}{where}/{name}").get("rules") or ()
        rights.update(right for rule in rules for right in _of_rule(rule, namespace))
    return rights


def _of_rule(rule: Mapping[str, Any], namespace: str) -> Iterator[Right]:
    names = rule.get("resourceNames") or [""]
    for verb, group, resource, name in product(rule["verbs"], rule["apiGroups"], rule["resources"], names):
        yield Right(verb, group, resource, namespace, name)


def used(records: Iterable[Object], account: str) -> set[Right]:
    """Return the rights by which the API server allowed the requests of ``account``."""
    rights = set[Right]()
    for record in _requests(records, account):
        if record.get("annotations", {}).get("authorization.k8s.io/decision") == "allow":
            right = _of_record(record)
            rights.add(right)
            if record["verb"] == "patch" and record["responseStatus"]["code"] == 201:
                rights.add(replace(right, verb="create"))  # an apply that makes the object needs both rights
    return rights


def refused(records: Iterable[Object], account: str) -> list[Right]:
    """Return the rights that requests of ``account`` needed, and that it did not have."""
    return [
        _of_record(record)
        for record in _requests(records, account)
        if record.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"
    ]


def missing(api: AdminApi, records: Sequence[Object], namespace: str) -> set[str]:
    """Return what accounts of ``namespace`` needed and have not, each with its account.

    A request that was refused while a role was away for a moment is left out, and so are accounts whose roles are gone.
    """
    prefix = f"system:serviceaccount:{namespace}:"
    users = {user for record in records if (user := record["user"]["username"]).startswith(prefix)}
    lacking = set[str]()
    for account in (f"{namespace}/{user.removeprefix(prefix)}" for user in users):
        if needed := refused(records, account):
            rights = granted(api, account)
            lacking.update(f"{account}: {use}" for use in needed if rights and not any(g.covers(use) for g in rights))
    return lacking


def _requests(records: Iterable[Object], account: str) -> Iterator[Object]:
    user = f"system:serviceaccount:{account.replace('/', ':')}"
    return (record for record in records if record["user"]["username"] == user and "objectRef" in record)


def _of_record(record: Object) -> Right:
    what = record["objectRef"]
    resource = f"{what['resource']}/{what['subresource']}" if "subresource" in what else what["resource"]
    # The name of an object that is created is in its body, where no right looks.
    is_new = record["verb"] == "create" and "subresource" not in what
    name = "" if is_new else what.get("name", "")
    return Right(record["verb"], what.get("apiGroup", ""), resource, what.get("namespace", ""), name)


def differences(grants: Iterable[Right], uses: Iterable[Right], is_one_of_many: Callable[[str], bool]) -> set[str]:
    """Return what of ``grants`` nothing of ``uses`` needs: rights without a use, and rights wider than every use.

    ``is_one_of_many`` tells names and namespaces that could be any, because they are of users or follow from those of
    users: a right that was used only there is not too wide.
    """
    every_use = set(uses)
    found = set[str]()
    for grant in grants:
        own = [use for use in every_use if grant.covers(use)]
        namespaces, names = {use.namespace for use in own}, {use.name for use in own}
        if not own:
            found.add(f"{grant}: unused")
        elif not grant.namespace and (only := _only(namespaces, is_one_of_many)):
            found.add(f"{grant}: used in {only} only")
        elif not grant.name and (only := _only(names, is_one_of_many)):
            found.add(f"{grant}: used for {only} only")
    return found


def _only(places: set[str], is_one_of_many: Callable[[str], bool]) -> str:
    """Return the one place, if all uses were there and it is not one of many; empty otherwise."""
    return next(iter(places)) if len(places) == 1 and not any(map(is_one_of_many, places)) else ""
