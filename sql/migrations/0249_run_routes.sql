-- How a run finds the records of its rows: what its start asked for, and what each flow took and why.
alter table runs add column match_by text not null default 'query';
create table run_routes (
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  match text not null,
  why text not null,
  primary key (run_no, flow_no)
);
-- How many records the modules of a connection have, as last counted.
create table crm_module_sizes (
  connector_id text not null references connectors on delete cascade,
  module text not null,
  records bigint not null,
  counted_at timestamptz not null default lading_now(),
  primary key (connector_id, module)
);
