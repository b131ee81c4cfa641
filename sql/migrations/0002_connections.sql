create table connectors (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  kind text not null default 'zoho',
  name text not null,
  dc text not null,
  crm_org_id text not null,
  api_domain text not null,
  crm_user_id text not null,
  crm_user_name text not null,
  scopes text[] not null,
  state text not null default 'connected' check (state in ('connected', 'ended', 'disconnected')),
  created_by text references people on delete set null,
  created_at timestamptz not null default lading_now()
);
create index on connectors (org_id, created_at);

-- Sealed under the key ring with the connector's id as associated data: a row moved to another connector does not open.
create table grants (
  connector_id text primary key references connectors on delete cascade,
  refresh_sealed text not null,
  access_sealed text,
  access_expires_at timestamptz,
  ended_at timestamptz
);

-- Every access token asked of the CRM, written before it is used. The CRM refuses the eleventh in ten minutes.
create table grant_mints (
  connector_id text not null references connectors on delete cascade,
  minted_at timestamptz not null default lading_now()
);
create index on grant_mints (connector_id, minted_at);

create table discoveries (
  id text primary key,
  connector_id text not null references connectors on delete cascade,
  diff jsonb not null,
  created_at timestamptz not null default lading_now()
);
create index on discoveries (connector_id, id);

create table discovered_modules (
  discovery_id text not null references discoveries on delete cascade,
  api_name text not null,
  module jsonb not null,
  primary key (discovery_id, api_name)
);
