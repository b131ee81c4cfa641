-- Whether an administrator disabled the module. `enabled` and `disabled` are both false until an administrator decides.
alter table curated_modules add column disabled boolean not null default false;

-- The modules that runs wrote to. They count towards the plan's limit, as enabled modules do.
create table imported_modules (
  org_id text not null references orgs on delete cascade,
  connector_id text not null references connectors on delete cascade,
  api_name text not null,
  first_at timestamptz not null default lading_now(),
  primary key (org_id, connector_id, api_name)
);
