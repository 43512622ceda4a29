"""A database of schema version 2: version 1's, migrated to there, with the Table 1 of its time."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

from backends.databases import schema
from backends.databases.triggers import triggers
from backends.databases.views import VIEWS
from tests.backends.schema_version1 import make as make_version1

LATER = (
    "actions", "calls", "contexts", "costs", "erasures", "exports", "members", "prompts",
    "reservations", "timings",
)  # fmt: skip
"""The tables and views that later versions brought, or gave other columns."""

TABLE1 = """
    CREATE VIEW table1 AS
    SELECT sessions.run, sessions.repetition, COUNT(*) AS total,
           SUM(human.one_way) AS one_way_human, SUM(machine.one_way) AS one_way_machine
    FROM sessions
    JOIN intelligibility AS human ON human.session = sessions.session AND human.agent = 'h'
    JOIN intelligibility AS machine ON machine.session = sessions.session AND machine.agent = 'm'
    WHERE sessions.ending IN ('ratified', 'rejected', 'bound', 'term')
    GROUP BY sessions.run, sessions.repetition
"""


def make(engine: Engine) -> None:
    make_version1(engine)
    with engine.begin() as connection:
        for view in ("intelligibility", "sent"):
            connection.exec_driver_sql(f"DROP VIEW {view}")
        kept = "version_num TEXT NOT NULL, PRIMARY KEY (version_num)"
        connection.execute(text(f"CREATE TABLE blackboard_version ({kept})"))
        connection.execute(text("INSERT INTO blackboard_version VALUES ('1')"))
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", "backends.databases:migrations")
        command.upgrade(config, "2")
        for name, query in VIEWS.items():
            if name not in LATER:
                connection.exec_driver_sql(f"CREATE VIEW {name} AS {query}")
        columns = {table.name: table.columns.keys() for table in schema.metadata.sorted_tables}
        for _name, table, statement in triggers(connection.dialect.name, columns):
            if table not in LATER:
                connection.exec_driver_sql(statement)
        connection.exec_driver_sql("DROP VIEW table1")
        connection.exec_driver_sql(TABLE1)
