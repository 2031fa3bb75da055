"""What the lecture notes call things that are no mechanism of their own, and the name under which each lives here."""

from __future__ import annotations

__all__ = ["CONCEPTS"]

# by the notes' names, several where they use several; loaded when asked for, so that this room depends on none above it
CONCEPTS: dict[str, tuple[str, ...]] = {
    "sordino.sensitivity.worst_case": ("global sensitivity", "worst-case sensitivity", "sensitivity", "L1 sensitivity", "L2 sensitivity"),
    "sordino.sensitivity.local": ("local sensitivity", "LS"),
    "sordino.sensitivity.smooth": ("smooth sensitivity", "smooth upper bound", "smoothed sensitivity", "SS", "easier way"),
    "sordino.sensitivity.rungs": ("sensitivity at distance k", "A(k)"),
    "sordino.sensitivity.distance": ("distance to instability", "distance to stability", "Distance2Stability distance"),
    "sordino.sensitivity.exhaustive": ("all databases", "smallest smooth upper bound"),
    "sordino.sensitivity.influence": ("influence function", "IF", "gross error sensitivity", "GES", "fixed scale influence function"),
    "sordino.sensitivity.influence.location": ("M-estimator", "Huber's estimate"),
    "sordino.sensitivity.influence.planning_bound": ("Chaudhuri and Hsu", "upper bound of smooth sensitivity", "Glivenko-Cantelli"),
    "sordino.privacy.Relation": ("neighbouring datasets", "neighbours", "Hamming distance", "adjacent databases", "small changes"),
    "sordino.privacy.loss": ("privacy loss", "PLRV", "privacy loss random variable", "pure DP", "approximate DP", "hockey stick"),
    "sordino.privacy.compose": ("composition", "basic composition"),
    "sordino.privacy.Cost.group": ("group privacy",),
    "sordino.privacy.admissible": ("admissible", "admissible noise distribution", "sliding property", "dilation property"),
    "sordino.privacy.LaplaceLaw": ("Laplace distribution", "Lap"),
    "sordino.privacy.GaussianLaw": ("Gaussian distribution", "normal distribution"),
    "sordino.privacy.GeneralizedCauchy": ("generalized Cauchy", "1/(1+|z|^gamma)"),
    "sordino.session.release.Release.map": ("post-processing",),
    "sordino.session.table.table": ("statistical database", "database"),
    "sordino.session.synthesis.synthesize": ("share the data",),
    "sordino.lab.noise_exploitation": ("noise-exploitation attack", "sticky noise", "magnitude of noise"),
    "sordino.lab.linkage": ("link attack", "linkage", "re-identification"),
    "sordino.lab.how_unique": ("How unique am I?", "uniqueness"),
    "sordino.lab.trace": ("only disclosing the mean", "tracing", "membership"),
    "sordino.lab.memorization": ("memorize", "memorization"),
    "sordino.lab.poison": ("corrupted data", "mislabeling", "backdoor"),
    "sordino.lab.compare": ("data-dependent differential privacy", "data-dependent DP"),
    "sordino.lab.reconstruct": ("reconstruction",),
    "sordino.lab.descent": ("descent paths",),
    "sordino.course.leverage": ("leverage", "global sensitivity of linear regression"),
    "sordino.course.plug_in": ("Avella-Medina",),
    "sordino.course.verdicts": ("possible error in constants", "printed formulas", "errata"),
    "sordino.models.PrivateLinearRegression": ("linear regression", "ridge regression"),
    "sordino.statistics.means": ("vector query", "mean of d bits"),
}
