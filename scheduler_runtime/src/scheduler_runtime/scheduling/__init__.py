"""Scheduling: the loop, the queue, bindings, preemption, extenders, and what is reported of them."""
