-- What each file of a template must meet. `sources`: the expectations by slot; they hold no value of a file's rows but those that an editor stated.
create table data_contracts (
  template_id text primary key references templates on delete cascade,
  org_id text not null references orgs on delete cascade,
  sources jsonb not null,
  version bigint not null,
  updated_at timestamptz not null default lading_now()
);
create index on data_contracts (org_id);

-- The shape of the newest files of a template that were run: counts by column, and no value of a row.
create table accepted_files (
  file_no bigint generated always as identity primary key,
  template_id text not null references templates on delete cascade,
  org_id text not null references orgs on delete cascade,
  slot text not null,
  source_id text not null,
  rows bigint not null,
  columns jsonb not null,
  accepted_at timestamptz not null default lading_now(),
  unique (template_id, slot, source_id)
);
create index on accepted_files (template_id, slot, file_no);
create index on accepted_files (org_id);
