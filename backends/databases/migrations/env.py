"""Alembic's environment: the migrations run on the connection that `versions.upgrade` gives."""

from __future__ import annotations

from alembic import context

from backends.databases.schema import version

context.configure(
    connection=context.config.attributes["connection"],
    version_table=version.name,
    transactional_ddl=False,  # the whole upgrade is in one transaction already
)
context.run_migrations()
