-- Runs whose rows an engine outside this service reads and plans (the widget's own, a script's), and writes through us.

alter table connectors add column writes_paused boolean not null default false;

-- Which engine carries the run: null until one of them has touched it. `outcome`: what an outside engine said it came to. `tidied`:
-- it has ended, and what only its writing needed is gone.
alter table runs add column engine text check (engine in ('worker', 'outside')), add column outcome text,
  add column tidied boolean not null default false;
update runs set engine = 'worker' where state <> 'authorised';
create index runs_untidied on runs (run_no) where engine = 'outside' and not tidied;

-- What an outside run counts an admitted row as: null until its first answer.
alter table admissions add column outcome smallint;

-- Modules and flows of an outside run, numbered as they are met: no snapshot names them.
create table run_names (
  run_no bigint not null references runs on delete cascade,
  kind text not null check (kind in ('module', 'flow')),
  no smallint not null,
  name text not null,
  primary key (run_no, kind, no),
  unique (run_no, kind, name)
);

-- The last attempt of rows that were refused and are not counted any more: the next one counts on from it. 0: an outside engine settled
-- the row itself. `outcome`: what the run's counts have it as.
create table released_attempts (
  run_no bigint not null references runs on delete cascade,
  module_no smallint not null,
  row_key text not null,
  last_attempt smallint not null,
  outcome smallint not null,
  primary key (run_no, module_no, row_key)
);

-- One request to write: what is to be written lies here until it has been tried, never in a job. `problem`: one answer of
-- the CRM that was every item's.
create table writes (
  id text primary key,
  org_id text not null references orgs on delete cascade,
  run_no bigint not null references runs on delete cascade,
  connector_id text not null references connectors,
  kind text not null check (kind in ('create', 'update', 'replace', 'entries')),
  request jsonb,
  problem jsonb,
  created_at timestamptz not null default lading_now()
);
create index on writes (org_id);
create index on writes (run_no);
create index on writes (created_at);

-- What became of each item. An item with a name of its own (`writeId`) is done once in its run, however often it is sent, unless it has
-- given its name up (`freed`).
create table write_items (
  write text not null references writes on delete cascade,
  at smallint not null,
  run_no bigint not null,
  row_key text,
  write_id text,
  freed boolean not null default false,
  digest bytea,
  result jsonb,
  primary key (write, at)
);
create unique index write_items_named on write_items (run_no, write_id) where not freed and write_id is not null;
create index write_items_open on write_items (write) where result is null;

-- The request an open batch belongs to, the item of each of its rows, and which rows the batch was the first to count.
alter table sends add column write text references writes on delete cascade, add column item_ats smallint[], add column fresh boolean[];
create index on sends (write) where write is not null;

-- A record asked for by one row: nobody else gets it while its CRM is asked. `id`: of this one asking.
create table takes (
  chain_no bigint not null,
  module_no smallint not null,
  record_id text not null,
  row_key text not null,
  run_no bigint not null references runs on delete cascade,
  id text not null,
  until timestamptz not null,
  primary key (chain_no, module_no, record_id),
  unique (chain_no, module_no, row_key)
);
create index on takes (run_no);
-- A take asks whether some row of the chain has the record; rows that made or took it are found by `chain_rows_made`.
create index chain_rows_met on chain_rows (chain_no, module_no, record_id) where how in (3, 4);

-- Records whose subform rows a request is replacing: read and written by one at a time, whichever run it is of. `lost`: nobody heard the
-- end of its call, which may change the rows until then.
create table replacements (
  dc text not null,
  crm_org_id text not null,
  parent_id text not null,
  write text not null references writes on delete cascade,
  until timestamptz not null,
  lost boolean not null default false,
  primary key (dc, crm_org_id, parent_id)
);
create index on replacements (write);
