-- Helper libraries: ES modules an org's expressions may use. A name removed and published again is another library.
create table libraries (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  namespace text not null,
  managed_by text check (managed_by = 'sdk'),
  version_no int not null,
  updated_at timestamptz not null default lading_now(),
  unique (org_id, namespace)
);

-- Every publish. History is linear: bringing an old version back is a publish of its own.
create table library_versions (
  library_id text not null references libraries on delete cascade,
  version_no int not null,
  manifest jsonb not null,
  source text not null,
  restored_from int,
  published_by text references people on delete set null,
  published_at timestamptz not null default lading_now(),
  primary key (library_id, version_no)
);

update plan_versions set features = array_append(features, 'helper_libraries') where not 'helper_libraries' = any(features);
