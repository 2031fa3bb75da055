"""Engines compute summaries of a bounded table. Noise is never drawn here."""
