"""Reconciling of profiles and PluginConfigs, and the status that reports it."""
