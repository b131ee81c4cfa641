-- One clock for leases, ledgers, tokens and schedules. The offset moves it in tests; in production the table stays empty.
create table clock_offset (only_row boolean primary key default true check (only_row), ahead interval not null);
create function lading_now() returns timestamptz language sql volatile as
  $$ select clock_timestamp() + coalesce((select ahead from clock_offset), interval '0') $$;

create table plan_versions (
  id text primary key,
  key text not null,
  version int not null,
  limits jsonb not null,
  features text[] not null default '{}',
  unique (key, version)
);
insert into plan_versions (id, key, version, limits) values
  ('free.1', 'free', 1, '{"rowsPerRun": 1000000, "fileBytes": 536870912, "historyDays": 30}');

create table people (
  id text primary key,
  subject text not null unique,
  email text not null,
  name text not null,
  staff boolean not null default false,
  banned_at timestamptz,
  created_at timestamptz not null default lading_now()
);

create table orgs (
  id text primary key,
  name text not null,
  crm_dc text not null,
  crm_org_id text not null,
  plan_version_id text not null default 'free.1' references plan_versions,
  follows_crm_roles boolean not null default true,
  registry_version bigint not null default 0,
  sandbox_of text references orgs,
  closed_at timestamptz,
  created_at timestamptz not null default lading_now(),
  unique (crm_dc, crm_org_id)
);

create table members (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  person_id text not null references people on delete cascade,
  role text not null check (role in ('operator', 'builder', 'admin', 'owner')),
  created_at timestamptz not null default lading_now(),
  unique (org_id, person_id)
);
create index on members (person_id);

-- Bearers outlive what they stood for, so that whoever still sends one is told what is gone (ORG_NOT_FOUND, MEMBERSHIP_GONE).
-- Sessions leave when they expire; the tokens of an erased org are all that is left of it.
create table sessions (
  id text primary key,
  person_id text not null,
  org_id text,
  role text check (role in ('operator', 'builder', 'admin', 'owner')),
  expires_at timestamptz not null,
  created_at timestamptz not null default lading_now()
);
create index on sessions (expires_at);
create index on sessions (person_id);
create index on sessions (org_id);

-- One row per visit to the identity provider: what the state stands for. Single use, ten minutes.
create table sign_ins (
  id text primary key,
  purpose text not null check (purpose in ('session', 'connect')),
  browser_hash bytea not null,
  dc text not null,
  verifier text not null,
  return_origin text not null,
  org_id text references orgs on delete cascade,
  person_id text references people on delete cascade,
  connection_name text,
  expires_at timestamptz not null,
  used_at timestamptz,
  check (purpose = 'session' or (org_id is not null and person_id is not null))
);
create index on sign_ins (expires_at);

create table api_tokens (
  id text primary key,
  org_id text not null,
  person_id text references people on delete set null,
  name text not null,
  prefix text not null,
  hash bytea not null unique,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default lading_now()
);
create index on api_tokens (org_id, created_at);

-- Whose a queued job is, and how far it has come. The queue's own tables know neither.
create table jobs (
  id uuid primary key,
  org_id text not null references orgs on delete cascade,
  queue text not null,
  done bigint,
  total bigint,
  unit text,
  created_at timestamptz not null default lading_now()
);
create index on jobs (org_id, created_at);
