"""``make demo``: from nothing to pods placed by a profile's own scheduler, on a cluster that ends with it."""

import argparse
import signal
import subprocess
import sys
from types import FrameType

from rich.console import Console

from devcluster import DevclusterError
from examples.demo import clusters, installation, story
from examples.demo.kubectl import Kubectl


def main() -> int:
    """Run the demonstration; 0 when its pods were placed as promised."""
    options = parse_arguments()
    console = Console()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        with clusters.use_cluster(options.cluster, options.image, console) as cluster:
            kubectl = Kubectl(cluster.environment)
            console.print("Installing the operator and the profile [bold]bin-packing[/bold]")
            installation.install_operator(kubectl, cluster.image)
            installation.apply_profile_and_pods(kubectl, cluster.pod_image)
            if options.once:
                return story.wait_until_placed(kubectl, console, options.timeout)
            story.show_live(kubectl, console, cluster)
    except KeyboardInterrupt:
        console.print("\nEnded. Nothing is left behind.")
        return 0
    except DevclusterError as error:
        return report(console, str(error))
    except subprocess.CalledProcessError as error:
        return report(console, f"{' '.join(map(str, error.cmd))}: {(error.stderr or '').strip()}")
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--cluster", choices=sorted(clusters.CLUSTERS), default="process")
    parser.add_argument("--image", default="berth:dev", help="the image of the operator and the schedulers")
    parser.add_argument("--once", action="store_true", help="exit as soon as the pods are bound")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that --once waits for the pods")
    return parser.parse_args()


def report(console: Console, sentence: str) -> int:
    """Print why the demonstration ends early, and return its exit code."""
    console.print(f"[red]The demo could not go on:[/red] {sentence}", soft_wrap=True, highlight=False)
    return 1


def interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
