-- An org's configuration: its settings, and the modules somebody has curated. Its version is `orgs.registry_version`.

-- No row: every setting is as it comes.
create table org_settings (
  org_id text primary key references orgs on delete cascade,
  date_format text not null,
  timezone text not null,
  expression_context jsonb not null,
  ai_sample_policy text not null check (ai_sample_policy in ('allow', 'masked', 'deny'))
);

-- A module of a connection from the first word somebody says about it. What the CRM says about it is in the discoveries.
create table curated_modules (
  org_id text not null references orgs on delete cascade,
  key text not null,
  connector_id text not null references connectors on delete cascade,
  api_name text not null,
  enabled boolean not null,
  singular text,
  -- The place in which records of it are made, among the modules of the org.
  position int not null,
  unique_fields jsonb not null,
  match jsonb,
  exclusions jsonb not null,
  seed_mappings jsonb not null,
  -- Its fields' annotations, in the order they were given.
  annotations jsonb not null,
  primary key (org_id, key),
  unique (connector_id, api_name)
);

-- Fields that were there and are not in the newest discovery, as they were last seen.
create table removed_fields (
  connector_id text not null references connectors on delete cascade,
  module text not null,
  api_name text not null,
  field jsonb not null,
  removed_at timestamptz not null default lading_now(),
  primary key (connector_id, module, api_name)
);
