create table imports (
  import_no bigint generated always as identity primary key,
  id text not null unique,
  org_id text not null references orgs on delete cascade,
  connector_id text not null references connectors,
  name text not null,
  state text not null default 'draft' check (state in ('draft', 'ready', 'running', 'done', 'expired')),
  flows jsonb not null default '[]',
  version bigint not null default 1,
  created_by text references people on delete set null,
  created_at timestamptz not null default lading_now()
);
create index on imports (org_id, id);
create index on imports (connector_id);

-- The stored object is immutable: another file is another source.
create table sources (
  import_no bigint not null references imports on delete cascade,
  source_no smallint not null,
  id text not null unique,
  name text not null,
  label text not null,
  file_key text not null unique,
  sha256 bytea not null,
  bytes bigint not null,
  reader jsonb not null,
  rows bigint not null,
  evidence jsonb not null,
  created_at timestamptz not null default lading_now(),
  primary key (import_no, source_no)
);
