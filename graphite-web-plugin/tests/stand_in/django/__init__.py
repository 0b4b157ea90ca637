"""A substitute for Django."""
