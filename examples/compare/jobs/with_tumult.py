"""What of the five jobs Tumult Analytics does: queries of a session, on Spark."""

from importlib.metadata import version

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

VERSION = version("tmlt.analytics")


def _session(rows, column):
    spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    table = spark.read.csv(str(rows.folder / "flights.csv"), header=True, inferSchema=True, nullValue="NA")
    return Session.from_dataframe(PureDPBudget(1), "flights", table.select(column).dropna(), protected_change=AddOneRow())


def mean(rows):
    query = QueryBuilder("flights").average("arr_delay", low=-60, high=180)
    return _session(rows, "arr_delay").evaluate(query, PureDPBudget(1)).collect()[0][0]


def counts(rows):
    query = QueryBuilder("flights").groupby(KeySet.from_dict({"carrier": rows.carriers[:-1]})).count()
    found = {row["carrier"]: row["count"] for row in _session(rows, "carrier").evaluate(query, PureDPBudget(1)).collect()}
    return [found[name] for name in rows.carriers[:-1]]


def median(rows):
    query = QueryBuilder("flights").quantile("arr_delay", 0.5, low=-60, high=180)
    return _session(rows, "arr_delay").evaluate(query, PureDPBudget(1)).collect()[0][0]
