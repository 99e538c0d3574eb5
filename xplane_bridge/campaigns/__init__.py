"""Campaigns: many flights, one answer."""
