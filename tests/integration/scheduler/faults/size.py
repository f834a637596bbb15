"""Size of the tests under faults: ``FAULTS_FULL=1`` has thousands of pods, and faults that last."""

import os

FULL = bool(os.environ.get("FAULTS_FULL"))
