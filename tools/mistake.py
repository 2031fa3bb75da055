"""One example for every error code: the shortest mistake that raises it. The error catalogue shows them, and its test makes them."""

from __future__ import annotations

SETUP = '''
import sordino as sd
from contextlib import contextmanager

@contextmanager
def refused(code):
    """Print the error that the block raises, and insist on its code."""
    try:
        yield
    except sd.errors.SordinoError as error:
        assert error.code == code, error
        print(error)
    else:
        raise AssertionError(f"{code} was not raised")

incomes = {"person": list(range(1_000)), "income": [21_000, 35_000, 52_000, 90_000] * 250, "sex": ["f", "m"] * 500}
person = dict(unit="person", max_rows=1, max_groups=1)
three = sd.Budget(epsilon=3)
people = sd.table(incomes, **person, bounds={"income": (0, 200_000)}, keys={"sex": ["f", "m", "x"]}, budget=three, ledger="people.ledger")
'''

MISTAKES: dict[str, str] = {
    "SRD-101": "people.count().release(epsilon=0)",
    "SRD-102": "sd.Budget(epsilon=1, delta=2)",
    "SRD-103": "sd.mechanisms.Laplace(epsilon=1, sensitivity=-1)",
    "SRD-104": "sd.sensitivity.worst_case.median(bounds=(100, 0))",
    "SRD-105": 'sd.release(sd.mechanisms.Laplace(epsilon=1, sensitivity=1), "forty-two")',
    "SRD-106": 'sd.mechanisms.find("magic")',
    "SRD-107": 'sd.table(incomes, relation="replace", budget=three)',
    "SRD-108": """
        from scipy.stats import logistic
        own = sd.privacy.Law(logistic.pdf, logistic.cdf, logistic.ppf, "logistic")
        own.at(0, 1)                                   # it can be certified and plotted
    """,
    "SRD-109": 'sd.release(sd.mechanisms.Stability(epsilon=1, delta=1e-6), "an answer without a distance")',
    "SRD-110": "sd.privacy.Cost.approximate(1, 1e-6).group(1_000)",
    "SRD-111": """
        from unittest.mock import patch
        with patch.dict("sys.modules", polars=None):   # as if it were not there
            people.count().release(epsilon=0.1).to_polars()
    """,
    "SRD-201": 'people.mean("incme")',
    "SRD-202": 'sd.table(incomes, columns={"income": "int"}, budget=three, ledger=":memory:").sum("income")',
    "SRD-203": 'people.mean("sex")',
    "SRD-204": 'sd.table(incomes, unit="person", budget=three)',
    "SRD-205": 'sd.table("nowhere.csv", budget=three)',
    "SRD-206": 'people.where("income > (SELECT 1)")',
    "SRD-207": """
        wide = {name: [str(i) for i in range(1_001)] for name in ("a", "b")}
        sd.table(wide, keys=wide, budget=three, ledger=":memory:").group_by("a", "b").count().release(epsilon=1)
    """,
    "SRD-208": "people.agg().release(epsilon=1)",
    "SRD-209": 'people.sql("SELECT income FROM t")',
    "SRD-301": "people.count().release(epsilon=50)",
    "SRD-302": """
        purses = sd.Budget(epsilon=3, analysts={"amina": 0.1})
        sd.table(incomes, budget=purses, ledger=":memory:").count().release(epsilon=1, analyst="amina")
    """,
    "SRD-303": """
        ceiling = sd.Budget(epsilon=3, max_per_release=0.5)
        sd.table(incomes, budget=ceiling, ledger=":memory:").count().release(epsilon=1)
    """,
    "SRD-304": "sd.table(incomes)",
    "SRD-401": """
        from pathlib import Path
        Path("gone.csv").write_text("income\\n1\\n2\\n")
        gone = sd.table("gone.csv", bounds={"income": (0, 9)}, budget=three)
        Path("gone.csv").unlink()
        gone.count().release(epsilon=1, request="monday")
    """,
    "SRD-402": 'gone.count().release(epsilon=1, request="monday")   # the request of the section above, once more',
    "SRD-601": """
        import sqlite3
        people.count().release(epsilon=1)
        with sqlite3.connect("people.ledger") as file:
            file.execute("UPDATE entry SET hash = zeroblob(32) WHERE number = 1")
        sd.table(incomes, **person, budget=three, ledger="people.ledger").count().release(epsilon=2)
    """,
    "SRD-602": """
        import shutil
        town = dict(budget=three, ledger="town.ledger")
        sd.table(incomes, **town).close()
        shutil.copy("town.ledger", "backup")
        with sd.table(incomes, **town) as table:
            table.count().release(epsilon=1)
        shutil.copy("backup", "town.ledger")           # a budget like new
        sd.table(incomes, **town)
    """,
    "SRD-603": 'sd.table(incomes, budget=three, ledger="no/such/folder/people.ledger")',
    "SRD-604": """
        sd.table(incomes, budget=three, ledger="rows.ledger").close()
        sd.table(incomes, relation="replace", size=1_000, budget=three, ledger="rows.ledger")
    """,
    "SRD-605": """
        table = sd.table(incomes, budget=three, ledger=":memory:")
        table.count().release(epsilon=1, request="tuesday")
        table.count().release(epsilon=2, request="tuesday")
    """,
    "SRD-606": """
        from sordino.ledger import adopt
        adopt("town.ledger", epsilon=0.1)              # the witness of SRD-602 saw more than that
    """,
}

REQUESTS: dict[str, str] = {
    "SRD-305": "POST /v1/plans/{id}/release for epsilon 0.00001, where a release costs at least a ten-thousandth of the cap.",
    "SRD-501": "GET /v1/datasets without a token.",
    "SRD-502": "GET /v1/ledger with the token of an analyst.",
    "SRD-503": 'POST /v1/plans with {"question": 1}.',
    "SRD-504": "GET /v1/datasets more often than the server's rate allows.",
    "SRD-505": "GET /v1/plans/none/preview.",
    "SRD-506": "POST /v1/plans/{id}/release of an answer that takes longer than the server's patience.",
    "SRD-507": "POST /v1/plans/{id}/release while the server has a fault of its own.",
    "SRD-508": "POST /v1/plans/{id}/release for a price above the owner's approve_above.",
    "SRD-509": "The same again after the owner refused it.",
    "SRD-510": "POST /v1/plans/{id}/release of twenty sums over LIKE patterns of two hundred characters.",
    "SRD-511": "POST /v1/plans/{id}/release after a release that was not ready after four deadlines.",
    "SRD-512": "POST /v1/plans/{id}/release with an at_most below what the wish costs now.",
}
