# ruff: noqa: E501
"""Six star schemas as an owner would declare them, and statements of their analysts, written before it was known what is answered.

The statements are in outside/*.sql, each ended by a semicolon, in the dialects their authors grew up with: PostgreSQL, Snowflake and
SQL Server, BigQuery and DuckDB, MySQL.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sordino as sd

FOLDER = Path(__file__).with_name("outside")
NAMES = ("hospital", "insurance", "flights", "retail")
ROWS = range(60)
PEOPLE = range(20)


def statements(name: str) -> list[str]:
    """The statements of one house, as they were written."""
    return [text.strip() for text in (FOLDER / f"{name}.sql").read_text(encoding="utf-8").split(";\n") if text.strip()]


def later(file: str = "later") -> list[tuple[str, str]]:
    """Further statements and their houses, written when most of the others were answered and before one of these was tried."""
    lines = (FOLDER / f"{file}.sql").read_text(encoding="utf-8").strip().split(";\n")
    return [(line.partition(": ")[0], line.partition(": ")[2].rstrip(";")) for line in lines]


def opened(name: str) -> Any:
    """The dataset the statements of a house are about."""
    houses = {"hospital": _hospital, "insurance": _insurance, "flights": _flights, "retail": _retail, "bank": _bank, "survey": _survey}
    return houses[name]()


def _spread(values: list[Any], rows: range = ROWS) -> list[Any]:
    return [values[i % len(values)] for i in rows]


def _day(i: int, year: int = 2023) -> str:
    return f"{year}-{1 + i % 12:02d}-{1 + i % 28:02d}"


def _dataset(tables: dict[str, Any], **declared: Any) -> Any:
    return sd.dataset(
        tables, max_rows=8, max_groups=3, max_rows_per_group=8, size=20, budget=sd.Budget(epsilon=100_000, delta=0.01), ledger=":memory:",
        **declared,
    )  # fmt: skip


def _hospital() -> Any:
    return _dataset(
        {
            "patients": {"patient_id": list(PEOPLE), "sex": _spread(["f", "m"], PEOPLE), "birth_date": _spread(["1950-03-01", "2010-07-09"], PEOPLE),
                         "postcode_area": _spread(["N", "S", "E"], PEOPLE), "insurance_type": _spread(["public", "private", None], PEOPLE)},
            "admissions": {"admission_id": list(ROWS), "patient_id": [i % 15 for i in ROWS], "admitted_at": [f"{_day(i)} {i % 24:02d}:15:00" for i in ROWS],
                           "discharged_at": [f"{_day(i + 3)} 10:00:00" if i % 9 else None for i in ROWS],
                           "department": _spread(["surgery", "medicine", "maternity"]), "admission_type": _spread(["emergency", "elective", "urgent"]),
                           "drg": _spread(["F62", "K60", "O60"]), "total_charge": [100 * i for i in ROWS], "died": [i % 20 == 0 for i in ROWS]},
            "labs": {"admission_id": list(ROWS), "test": _spread(["creatinine", "hba1c"]), "value": [1.5 + i % 7 for i in ROWS],
                     "taken_at": [f"{_day(i)} 12:00:00" for i in ROWS]},
            "departments": {"department": ["surgery", "medicine", "maternity"], "building": ["A", "B", "B"], "beds": [20, 40, 15]},
        },
        person={"patients": "patient_id", "admissions": "patient_id", "labs": {"via": "admissions", "on": "admission_id"}},
        unique={"patients": ["patient_id"], "admissions": ["admission_id"]},
        public={"departments": ["department"]},
        columns={"admission_id": "id", "birth_date": {"type": "date", "bounds": ("1920-01-01", "2024-12-31")},
                 "admitted_at": {"type": "timestamp", "bounds": ("2022-01-01", "2024-12-31 23:59:59")},
                 "discharged_at": {"type": "timestamp", "bounds": ("2022-01-01", "2024-12-31 23:59:59")},
                 "taken_at": {"type": "timestamp", "bounds": ("2022-01-01", "2024-12-31 23:59:59")},
                 "total_charge": {"type": "int", "bounds": (0, 100_000)}, "value": {"type": "float", "bounds": (0, 500)}, "died": "bool",
                 "drg": {"type": "cat", "keys": "private"}, "beds": {"type": "int", "bounds": (0, 100)}},
        keys={"sex": ["f", "m"], "postcode_area": ["N", "S", "E"], "insurance_type": ["public", "private"],
              "department": ["surgery", "medicine", "maternity"], "admission_type": ["emergency", "elective", "urgent"],
              "test": ["creatinine", "hba1c"], "building": ["A", "B"]},
    )  # fmt: skip


def _insurance() -> Any:
    money = {"type": "decimal(10,2)", "bounds": (0, 20_000)}
    return _dataset(
        {
            "members": {"member_id": list(PEOPLE), "gender": _spread(["F", "M"], PEOPLE), "birth_date": _spread(["1950-03-01", "1990-07-09"], PEOPLE),
                        "state": _spread(["NY", "CA", "TX"], PEOPLE), "plan": _spread(["basic", "plus"], PEOPLE),
                        "joined": _spread(["2020-01-01", "2023-04-01"], PEOPLE)},
            "claims": {"claim_id": list(ROWS), "member_id": [i % 15 for i in ROWS], "service_date": [_day(i) for i in ROWS],
                       "paid_date": [_day(i + 1, 2024) if i % 5 else None for i in ROWS],
                       "claim_type": _spread(["inpatient", "outpatient", "pharmacy", "er"]), "diagnosis_code": _spread(["E11.9", "I10", "J45"]),
                       "billed": _spread(["120.50", "80", "4000"]), "allowed": _spread(["100", "80", "3000"]), "paid": _spread(["90", "75.25", "2500"]),
                       "status": _spread(["paid", "paid", "denied", "pending"])},
            "plans": {"plan": ["basic", "plus"], "tier": ["bronze", "gold"], "premium": [200, 400]},
        },
        person={"members": "member_id", "claims": "member_id"}, unique={"members": ["member_id"]}, public={"plans": ["plan"]},
        columns={"claim_id": "id", "birth_date": {"type": "date", "bounds": ("1920-01-01", "2024-12-31")},
                 "joined": {"type": "date", "bounds": ("2010-01-01", "2024-12-31")}, "service_date": {"type": "date", "bounds": ("2022-01-01", "2024-12-31")},
                 "paid_date": {"type": "date", "bounds": ("2022-01-01", "2025-12-31")}, "billed": money, "allowed": money, "paid": money,
                 "diagnosis_code": {"type": "cat", "keys": "private"}, "premium": {"type": "int", "bounds": (0, 1000)}},
        keys={"gender": ["F", "M"], "state": ["NY", "CA", "TX"], "plan": ["basic", "plus"], "tier": ["bronze", "gold"],
              "claim_type": ["inpatient", "outpatient", "pharmacy", "er"], "status": ["paid", "denied", "pending"]},
    )  # fmt: skip


def _flights() -> Any:
    codes = ["JFK", "LAX", "ZRH", "LHR"]
    return _dataset(
        {
            "passengers": {"passenger_id": list(PEOPLE), "country": _spread(["US", "CH", "GB"], PEOPLE), "tier": _spread(["none", "silver", "gold"], PEOPLE),
                           "birth_year": _spread([1960, 1985, None], PEOPLE), "joined": _spread(["2015-01-01", "2022-04-01"], PEOPLE)},
            "bookings": {"booking_id": list(ROWS), "passenger_id": [i % 15 for i in ROWS], "booked_at": [f"{_day(i)} {i % 24:02d}:00:00" for i in ROWS],
                         "channel": _spread(["web", "agent", "phone"]), "fare": _spread(["199.90", "450", "1250"]), "currency": _spread(["EUR", "USD"])},
            "segments": {"booking_id": [i % 60 for i in range(90)], "flight_date": [_day(i + 1) for i in range(90)], "origin": _spread(codes, range(90)),
                         "destination": _spread(codes[::-1], range(90)), "carrier": _spread(["DL", "LX", "BA"], range(90)),
                         "dep_delay": [i % 40 - 5 for i in range(90)], "arr_delay": [i % 50 - 10 for i in range(90)],
                         "distance": [300 + 40 * i for i in range(90)], "cabin": _spread(["economy", "business"], range(90))},
            "airports": {"code": codes, "city": ["New York", "Los Angeles", "Zurich", "London"], "country": ["US", "US", "CH", "GB"],
                         "region": ["east", "west", "europe", "europe"]},
        },
        person={"passengers": "passenger_id", "bookings": "passenger_id", "segments": {"via": "bookings", "on": "booking_id"}},
        unique={"passengers": ["passenger_id"], "bookings": ["booking_id"]}, public={"airports": ["code"]},
        columns={"booking_id": "id", "birth_year": {"type": "int", "bounds": (1920, 2020)}, "joined": {"type": "date", "bounds": ("2010-01-01", "2024-12-31")},
                 "booked_at": {"type": "timestamp", "bounds": ("2022-01-01", "2024-12-31 23:59:59")}, "fare": {"type": "decimal(10,2)", "bounds": (0, 10_000)},
                 "flight_date": {"type": "date", "bounds": ("2022-01-01", "2024-12-31")}, "dep_delay": {"type": "int", "bounds": (-60, 600)},
                 "arr_delay": {"type": "int", "bounds": (-60, 600)}, "distance": {"type": "int", "bounds": (0, 10_000)}},
        keys={"country": ["US", "CH", "GB"], "tier": ["none", "silver", "gold"], "channel": ["web", "agent", "phone"], "currency": ["EUR", "USD"],
              "origin": codes, "destination": codes, "code": codes, "carrier": ["DL", "LX", "BA"], "cabin": ["economy", "business"],
              "region": ["east", "west", "europe"], "city": ["New York", "Los Angeles", "Zurich", "London"]},
    )  # fmt: skip


def _retail() -> Any:
    return _dataset(
        {
            "customers": {"customer_id": list(PEOPLE), "country": _spread(["ch", "de"], PEOPLE), "segment": _spread(["home", "business"], PEOPLE),
                          "signup_date": _spread(["2019-05-01", "2023-01-01"], PEOPLE), "email": _spread(["x@gmail.com", "y@post.ch"], PEOPLE)},
            "orders": {"order_id": list(ROWS), "customer_id": [i % 15 for i in ROWS], "store_id": [1 + i % 4 for i in ROWS],
                       "order_date": [_day(i, 2023 + i % 2) for i in ROWS], "order_time": [f"{_day(i, 2023 + i % 2)} {i % 24:02d}:30:00" for i in ROWS],
                       "total": _spread(["19.90", "5", "310"]), "channel": _spread(["web", "store"]), "coupon": _spread(["SAVE10", None, " vip"]),
                       "status": _spread(["completed", "returned", "cancelled"])},
            "order_lines": {"order_id": [i % 60 for i in range(90)], "product_id": [1 + i % 3 for i in range(90)], "quantity": [1 + i % 4 for i in range(90)],
                            "unit_price": _spread(["9.95", "2", "80"], range(90))},
            "products": {"product_id": [1, 2, 3], "category": ["toys", "food", "electronics"], "brand": ["acme", "other", "acme"], "cost_price": [5, 1, 50]},
            "stores": {"store_id": [1, 2, 3, 4], "region": ["north", "south", "north", "south"]},
        },
        person={"customers": "customer_id", "orders": "customer_id", "order_lines": {"via": "orders", "on": "order_id"}},
        unique={"customers": ["customer_id"], "orders": ["order_id"]}, public={"products": ["product_id"], "stores": ["store_id"]},
        columns={"order_id": "id", "email": {"access": "never"}, "signup_date": {"type": "date", "bounds": ("2015-01-01", "2024-12-31")},
                 "order_date": {"type": "date", "bounds": ("2023-01-01", "2024-12-31")},
                 "order_time": {"type": "timestamp", "bounds": ("2023-01-01", "2024-12-31 23:59:59")},
                 "total": {"type": "decimal(10,2)", "bounds": (0, 2000)}, "quantity": {"type": "int", "bounds": (1, 50)},
                 "unit_price": {"type": "decimal(8,2)", "bounds": (0, 500)}, "cost_price": {"type": "int", "bounds": (0, 500)},
                 "store_id": {"type": "int", "bounds": (1, 20)}, "product_id": {"type": "int", "bounds": (1, 1000)},
                 "coupon": {"type": "cat", "keys": "private"}},
        keys={"country": ["ch", "de"], "segment": ["home", "business"], "channel": ["web", "store"], "status": ["completed", "returned", "cancelled"],
              "category": ["toys", "food", "electronics"], "brand": ["acme", "other"], "region": ["north", "south"]},
    )  # fmt: skip


def _bank() -> Any:
    return _dataset(
        {
            "clients": {"client_id": list(PEOPLE), "segment": _spread(["retail", "private"], PEOPLE), "age": [25 + i for i in PEOPLE],
                        "income": [3000 * i if i % 6 else None for i in PEOPLE]},
            "accounts": {"account_id": list(ROWS), "client_id": [i % 15 for i in ROWS], "kind": _spread(["current", "savings", "credit"]),
                         "balance": _spread(["120.50", "-80", "4000"]), "opened": [_day(i, 2019 + i % 5) for i in ROWS]},
            "transactions": {"account_id": [i % 60 for i in range(90)], "booked": [_day(i, 2023 + i % 2) for i in range(90)],
                             "amount": _spread(["-19.90", "50", "310"], range(90)), "channel": _spread(["card", "transfer", "atm"], range(90)),
                             "description": _spread(["ATM ZURICH", "CASH", "RENT"], range(90))},
        },
        person={"clients": "client_id", "accounts": "client_id", "transactions": {"via": "accounts", "on": "account_id"}},
        unique={"clients": ["client_id"], "accounts": ["account_id"]},
        columns={"account_id": "id", "age": {"type": "int", "bounds": (18, 110)}, "income": {"type": "int", "bounds": (0, 500_000)},
                 "balance": {"type": "decimal(12,2)", "bounds": (-20_000, 1_000_000)}, "opened": {"type": "date", "bounds": ("2000-01-01", "2024-12-31")},
                 "booked": {"type": "date", "bounds": ("2023-01-01", "2024-12-31")}, "amount": {"type": "decimal(10,2)", "bounds": (-50_000, 50_000)},
                 "description": {"type": "cat", "keys": "private"}},
        keys={"segment": ["retail", "private"], "kind": ["current", "savings", "credit"], "channel": ["card", "transfer", "atm"]},
    )  # fmt: skip


def _survey() -> Any:
    return _dataset(
        {
            "respondents": {"respondent_id": list(PEOPLE), "region": _spread(["north", "south"], PEOPLE), "age": [20 + 3 * i for i in PEOPLE],
                            "weight": _spread([0.8, 1.0, 1.3], PEOPLE), "votes": _spread([True, False], PEOPLE),
                            "satisfaction": _spread([1, 3, 4, 5, None], PEOPLE), "nps": [i % 11 for i in PEOPLE],
                            "income": [3000 * i if i % 6 else None for i in PEOPLE]},
        },
        person={"respondents": "respondent_id"}, unique={"respondents": ["respondent_id"]},
        columns={"age": {"type": "int", "bounds": (16, 100)}, "weight": {"type": "float", "bounds": (0, 5)}, "votes": "bool",
                 "satisfaction": {"type": "int", "bounds": (1, 5)}, "nps": {"type": "int", "bounds": (0, 10)},
                 "income": {"type": "int", "bounds": (0, 500_000)}},
        keys={"region": ["north", "south"]},
    )  # fmt: skip
