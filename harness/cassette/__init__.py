"""Exchanges on disk: dialects, lanes, matching and drift."""
