"""``berth-scheduler --config FILE``: a drop-in for kube-scheduler."""

import sys

from scheduler_runtime.app.main import main

if __name__ == "__main__":
    sys.exit(main())
