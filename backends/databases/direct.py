"""Messages at the driver: what each of them costs is most of what a run waits for.

SQLAlchemy makes the statements and keeps the connections; between the two, for a message that is
the next one as far as this process knows, its execution costs more than the database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Dialect, Engine
from sqlalchemy.exc import SQLAlchemyError

from backends.databases.rows import Made
from backends.databases.statements import ADD_ENTRY, ADD_JUDGEMENT, KEEP_TEXT


@dataclass(frozen=True, slots=True)
class Direct:
    """The statements of every message as the driver takes them, with parameters by name."""

    begin: str
    keep_text: str
    add_entry: str
    add_judgement: str

    def steps(
        self, said: Sequence[Made], entry: Made, judged: Sequence[Made]
    ) -> list[tuple[str, Sequence[Made]]]:
        """What a message is stored with: each statement with its rows."""
        steps = [(self.keep_text, said), (self.add_entry, [entry])]
        return [*steps, (self.add_judgement, judged)] if judged else steps


def direct(dialect: Dialect) -> Direct:
    """The statements for `dialect`; PostgreSQL's driver begins transactions by itself."""
    sqlite = dialect.name == "sqlite"
    kind: Callable[..., Dialect] = type(dialect)
    named = kind(paramstyle="named" if sqlite else "pyformat")
    written = (str(made.compile(dialect=named)) for made in (KEEP_TEXT, ADD_ENTRY, ADD_JUDGEMENT))
    return Direct("BEGIN IMMEDIATE" if sqlite else "", *written)


def committed(engine: Engine, begin: str, steps: Sequence[tuple[str, Sequence[Made]]]) -> bool:
    """Whether all of `steps` were committed as one transaction.

    False where the database or its driver objects. Whether a commit was done whose answer was lost
    is then not known: who asks must look, and learns on the way what the matter was.
    """
    try:
        connection = engine.raw_connection()
    except SQLAlchemyError:
        return False
    cursor = connection.cursor()
    try:
        if begin:
            cursor.execute(begin)
        for statement, rows in steps:
            for row in rows:  # psycopg's executemany has a pipeline, dearer than so few rows
                cursor.execute(statement, row)
        connection.commit()
    except engine.dialect.loaded_dbapi.Error as error:
        if engine.dialect.is_disconnect(error, connection, cursor):
            connection.invalidate(error)
        return False
    except UnicodeError:
        return False
    finally:
        connection.close()  # to the pool, which undoes what was not committed
    return True
