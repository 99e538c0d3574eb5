"""Recordings and captures for other tools: CSV, Parquet, MAT and MF4."""
