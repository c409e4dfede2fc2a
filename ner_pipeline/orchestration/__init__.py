"""Dagster, and only here: assets, checks, sensors, schedules, jobs, resources."""
