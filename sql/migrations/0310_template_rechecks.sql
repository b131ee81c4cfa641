-- What the newest discovery breaks in the newest import of a template. `problems` has kinds, fields and counts, and no cells.
create table template_rechecks (
  template_id text primary key references templates on delete cascade,
  template_version int not null,
  discovery_id text not null,
  import_id text not null,
  checked_at timestamptz not null default lading_now(),
  rows bigint not null,
  problems jsonb not null
);
