"""A node that truly runs pods, as processes of this machine: no container engine, no registry, no root.

``python -m devcluster.node --config FILE`` registers a Node and runs the containers of the pods bound to it. An image
stands for a local command (``config``), a volume for a directory (``mounts``), a pod has its own loopback address
(``agent``), its own ServiceAccount's token and a kubeconfig (``tokens``, ``launch``). The output of a container is in
``DIRECTORY/logs/NAMESPACE_POD_UID/CONTAINER/current``.

What a process cannot have is refused with an event and a waiting reason (``refusals``). These differ from a kubelet
without being refused: resource limits, users, read-only file systems and dropped capabilities are not enforced (a
pod's processes are the agent's user), ``readOnly`` and ``subPath`` mounts can be written and follow updates,
``ephemeralContainers`` are not run, Services have neither addresses nor variables.

The way through the package: ``agent`` watches pods; a ``pod.life`` checks ``refusals``, writes its volumes and runs
each ``container``, whose ``launch`` becomes one of the node's ``processes`` under an ``init``; their states become,
through ``pod.reported_status``, the status of the pod's object.
"""
