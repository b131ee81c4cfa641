-- How long calls of a connection take, by kind: blended medians and 95th percentiles of answered calls.
create table crm_paces (
  connector_id text not null references connectors on delete cascade,
  operation text not null,
  p50_ms real not null,
  p95_ms real not null,
  learnt_at timestamptz not null default lading_now(),
  primary key (connector_id, operation)
);
