"""The demonstration behind ``make demo``: a cluster, the operator, one profile, and pods that it schedules."""
