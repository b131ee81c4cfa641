-- The maintenance switch of the whole deployment: on while there is a row.
create table maintenance_switch (
  only_row boolean primary key default true check (only_row),
  switched_on_at timestamptz not null default lading_now()
);
