"""A table to share: cells of columns, a model of their joint law, the schedule of its measurements, sampled rows and their error."""
