-- The newest report of each connection: what was expected of its CRM, and what was seen.
create table doctor_reports (
  connector_id text primary key references connectors on delete cascade,
  report jsonb not null,
  ran_at timestamptz not null default lading_now()
);
