"""The program of the tests' pods: says what it was given, does what it is told, over HTTP on its pod's address.

``GET /environment``, ``/arguments``, ``/user`` (who the API server says it is) and any path of a file given as
``/file?PATH``; ``/break?NAME`` makes ``/healthy?NAME`` fail, ``/mend?NAME`` makes it pass again.
"""

import http.server
import json
import os
import ssl
import sys
import urllib.request
from pathlib import Path

broken: set[str] = set()


def user() -> object:
    """The user of the credential in KUBECONFIG, as the API server reports it."""
    config = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
    cluster, credential = config["clusters"][0]["cluster"], config["users"][0]["user"]
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    request = urllib.request.Request(  # noqa: S310 - the cluster's own address
        f"{cluster['server']}/apis/authentication.k8s.io/v1/selfsubjectreviews",
        data=json.dumps(review).encode(),
        headers={
            "Authorization": f"Bearer {Path(credential['tokenFile']).read_text()}",
            "Content-Type": "application/json",
        },
    )
    trust = ssl.create_default_context(cafile=cluster["certificate-authority"])
    with urllib.request.urlopen(request, context=trust, timeout=5) as answer:  # noqa: S310 - as above
        return json.load(answer)["status"]["userInfo"]


def answer(path: str, argument: str) -> tuple[int, object]:
    match path:
        case "/environment":
            return 200, dict(os.environ)
        case "/arguments":
            return 200, sys.argv
        case "/user":
            return 200, user()
        case "/file":
            return 200, Path(argument).read_text()
        case "/break":
            broken.add(argument)
        case "/mend":
            broken.discard(argument)
        case "/healthy" if argument in broken:
            return 500, "broken"
    return 200, ""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, _, argument = self.path.partition("?")
        status, body = answer(path, argument)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())


if __name__ == "__main__":
    http.server.ThreadingHTTPServer((os.environ["POD_IP"], 8080), Handler).serve_forever()
