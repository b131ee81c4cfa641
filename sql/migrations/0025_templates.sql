-- What is to be done with files of one kind, without any of their rows: how they are read, what is expected in them, what is written where.
create table templates (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  -- None: whichever connection an import of it names.
  connector_id text references connectors on delete cascade,
  name text not null,
  description text,
  sources jsonb not null,
  flows jsonb not null,
  -- What the CRM's metadata said of the fields it names when it was saved.
  known jsonb not null default '{}',
  version bigint not null default 1,
  shared boolean not null default false,
  created_by text references people on delete set null,
  created_at timestamptz not null default lading_now(),
  updated_at timestamptz not null default lading_now()
);
create index on templates (org_id, id);
create index on templates (connector_id);
create index on templates (created_by);
-- A configuration repository knows them by their names.
create unique index templates_shared_name on templates (org_id, name) where shared;

-- What an import was made from, also when that is deleted. `slots`: the files its template expects, each with the source that fills it; it is
-- the import's own, whatever becomes of the template.
alter table imports
  add column template_id text,
  add column template_version bigint,
  add column slots jsonb not null default '[]';

alter table runs
  add column template_id text,
  add column template_version bigint;
create index on runs (template_id, run_no) where template_id is not null;
