-- The last forecast of an import: what a run of it would cost at the CRM. `ground` is that of a dry run.
create table forecasts (
  import_no bigint primary key references imports on delete cascade,
  ground text not null,
  discovery_id text not null,
  made_at timestamptz not null default lading_now(),
  forecast jsonb not null
);
