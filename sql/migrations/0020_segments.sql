-- Where the records of ended runs are kept. `list` 0 is the log, each entry once and in order of seq; `list` n what became of the rows
-- of source n, in their order: `first` and `last` are seqs of the one and row numbers of the other.
create table segments (
  run_no bigint not null references runs on delete cascade,
  list smallint not null,
  first bigint not null,
  last bigint not null,
  rows int not null check (rows > 0),
  bytes bigint not null,
  sha256 bytea not null,
  format smallint not null,
  storage text not null,
  key text not null unique,
  primary key (run_no, list, first),
  check (first > 0 and last >= first),
  check (list > 0 or rows = last - first + 1)
);

-- Objects no row names, or not yet: written down before they are stored, so that none is ever forgotten. They outlive run and org.
create table loose_objects (
  key text primary key,
  since timestamptz not null default lading_now()
);
create index on loose_objects (since);

create function loosen_object() returns trigger language plpgsql as
  $$ begin insert into loose_objects (key) values (old.key) on conflict do nothing; return null; end $$;
create trigger segments_leave_objects after delete on segments for each row execute function loosen_object();

-- `archived`: nothing of an ended run's log is left here. `archive_after`: somebody is at it, or the storage failed, until then.
alter table runs
  add column archived boolean not null default false,
  add column archive_after timestamptz,
  add column archive_tries smallint not null default 0;
create index runs_unarchived on runs (run_no) where state = 'ended' and not archived;
