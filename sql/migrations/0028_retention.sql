-- What goes at the end of the plan's history window, what is to be removed from storage by then, and what each night came to.

-- `expired_at`: from then on nothing of it is read. `emptied`: nothing is left of it but its row. `deleted`: a person did it, so that it is
-- seen no more and goes as soon as may be.
alter table imports
  add column expired_at timestamptz,
  add column emptied boolean not null default false,
  add column deleted boolean not null default false;
update imports set expired_at = lading_now() where state = 'expired';
alter table imports add check ((state = 'expired') = (expired_at is not null)), add check (expired_at is not null or not (deleted or emptied));
create index imports_expired on imports (org_id, import_no) where expired_at is not null;
create index imports_deleted on imports (import_no) where deleted;

alter table runs
  add column expired_at timestamptz,
  add column emptied boolean not null default false,
  add check (expired_at is not null or not emptied);
create index runs_kept on runs (org_id, ended_at) where ended_at is not null and expired_at is null;
create index runs_expired on runs (org_id, run_no) where expired_at is not null;
create index runs_chain on runs (chain_no) where chain_no is not null;

-- `doomed`: a row named it and none does any more, so that it may go at once. The others may just be being stored.
alter table loose_objects add column doomed boolean not null default false;
create index loose_objects_doomed on loose_objects (since) where doomed;

create or replace function loosen_object() returns trigger language plpgsql as
  $$ begin insert into loose_objects (key, doomed) values (old.key, true) on conflict (key) do update set doomed = true; return null; end $$;

-- A source's file, unless another source is read from it, or the results of a run that has not expired.
create function loosen_file(file text) returns void language sql as $$
  insert into loose_objects (key, doomed)
  select file, true
  where not exists (select from sources where file_key = file)
    and not exists (
      select from imports join runs using (import_no) join run_snapshots using (snapshot_no)
      where imports.id = split_part(file, '/', 2)
        and document -> 'sources' @> jsonb_build_array(jsonb_build_object('fileKey', file)))
  on conflict (key) do update set doomed = true $$;

create function loosen_source() returns trigger language plpgsql as
  $$ begin perform loosen_file(old.file_key); return null; end $$;
create trigger sources_leave_files after delete on sources for each row execute function loosen_source();

create function loosen_snapshot() returns trigger language plpgsql as $$
  begin
    perform loosen_file(file) from (select distinct value #>> '{}' as file from jsonb_path_query(old.document, '$.sources[*].fileKey') as value) files
    where file is not null;
    return null;
  end $$;
create trigger run_snapshots_leave_files after delete on run_snapshots for each row execute function loosen_snapshot();

-- One row a night, claimed by whoever comes first, and again where that one died. `tries`: whose claim it is.
create table retention_nights (
  day date primary key,
  started_at timestamptz not null default lading_now(),
  ended_at timestamptz,
  lease_until timestamptz not null,
  tries int not null default 1,
  counts jsonb not null default '{}'
);
create table retention_failures (
  failure_no bigint generated always as identity primary key,
  day date not null references retention_nights on delete cascade,
  org_id text references orgs on delete cascade,
  step text not null,
  message text not null,
  at timestamptz not null default lading_now()
);
create index on retention_failures (day);
create index on retention_failures (org_id);
