"""Stands in for Django."""
