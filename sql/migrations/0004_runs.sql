-- The engine's tables. Bulk tables are keyed by numbers; public ids stand on runs, imports and sources only.
-- Customers' values appear in sources and snapshots; everything else holds keys, ids and hashes.

-- Raises, so that a statement whose gate is shut rolls back whole instead of committing its other branches.
create function stop_if(reason text) returns bigint language plpgsql as
  $$ begin raise exception using errcode = 'LD001', message = reason; end $$;

-- Element by element; the shorter array counts as zeros.
create function add_counts(a bigint[], b bigint[]) returns bigint[] language sql immutable as
  $$ select coalesce(array_agg(coalesce(x, 0) + coalesce(y, 0) order by n), '{}') from unnest(a, b) with ordinality as t(x, y, n) $$;

create table run_snapshots (
  snapshot_no bigint generated always as identity primary key,
  format int not null,
  document jsonb not null,
  created_at timestamptz not null default lading_now()
);
create function refuse_change() returns trigger language plpgsql as
  $$ begin raise exception 'a snapshot is never changed'; end $$;
create trigger run_snapshots_are_immutable before update on run_snapshots for each row execute function refuse_change();

create table runs (
  run_no bigint generated always as identity primary key,
  id text not null unique,
  org_id text not null references orgs on delete cascade,
  person_id text references people on delete set null,
  connector_id text references connectors,
  import_no bigint references imports on delete cascade,
  chain_no bigint,
  retry_of bigint references runs,
  dry_run boolean not null default false,
  declared_rows bigint not null,
  state text not null default 'authorised' check (state in ('authorised', 'queued', 'writing', 'paused', 'closing', 'ended')),
  snapshot_no bigint references run_snapshots,
  job_id uuid,
  pause jsonb,
  resume_at timestamptz,
  records_at text not null default 'db' check (records_at in ('db', 'storage')),
  authorised_at timestamptz not null default lading_now(),
  started_at timestamptz,
  ended_at timestamptz
);
create index on runs (org_id, id);
create index on runs (import_no, run_no);
-- One run holds an import; a chain does not fork.
create unique index runs_hold_import on runs (import_no) where state in ('queued', 'writing', 'paused', 'closing') and not dry_run;
create unique index runs_retry_once on runs (retry_of) where not dry_run;

-- One hot row a run: fence, lease, sequence, meter and counts change together or not at all.
create table run_heads (
  run_no bigint primary key references runs on delete cascade,
  fence bigint not null default 0,
  owner text,
  lease_until timestamptz not null default '-infinity',
  settle_no bigint not null default 0,
  takeovers smallint not null default 0,
  next_seq bigint not null default 1,
  next_batch bigint not null default 1,
  counted bigint not null default 0,
  rows_limit bigint not null,
  limit_by text not null check (limit_by in ('plan', 'declaration')),
  counts bigint[] not null default '{}',
  stop jsonb,
  check (counted between 0 and rows_limit)
) with (fillfactor = 30);

create table run_cursors (
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  pass smallint not null default 0,
  low_water bigint not null default 0,
  done boolean not null default false,
  primary key (run_no, flow_no, pass)
) with (fillfactor = 50);

-- The meter: presence is counted, so a row counts once however often it is sent.
create table admissions (
  run_no bigint not null references runs on delete cascade,
  module_no smallint not null,
  row_key text not null,
  parent_key text,
  last_attempt smallint not null,
  primary key (run_no, module_no, row_key)
) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);

-- One row for each batch in flight: written before the request leaves, gone when its answer is settled.
create table sends (
  run_no bigint not null references runs on delete cascade,
  batch_no bigint not null,
  fence bigint not null,
  flow_no smallint not null,
  module_no smallint not null,
  kind smallint not null,
  row_keys text[] not null,
  row_numbers bigint[] not null,
  attempts smallint[] not null,
  targets text[] not null,
  witness boolean[] not null,
  sent_at timestamptz not null,
  deadline_at timestamptz not null,
  primary key (run_no, batch_no)
) with (fillfactor = 50);

-- Rows whose last send was never answered: one open question each.
create table unsettled (
  chain_no bigint not null,
  module_no smallint not null,
  row_key text not null,
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  row_number bigint not null,
  kind smallint not null,
  target text,
  witness boolean not null,
  last_attempt smallint not null,
  sent_at timestamptz not null,
  deadline_at timestamptz not null,
  primary key (chain_no, module_no, row_key)
) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
create index on unsettled (run_no, flow_no, row_number);

create table run_log (
  run_no bigint not null references runs on delete cascade,
  seq bigint not null check (seq > 0),
  row_key text not null,
  flow_no smallint,
  row_number bigint,
  module_no smallint not null,
  phase smallint not null,
  target text,
  attempt smallint not null,
  record_id text,
  outcome smallint not null,
  code text,
  message text,
  at timestamptz not null default lading_now(),
  primary key (run_no, seq)
) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
create index run_log_rows on run_log (run_no, flow_no, row_number, module_no, phase, attempt desc, seq desc);

-- What each row became, across the runs of a chain. Two rows may update one record; only one may have made or taken it.
create table chain_rows (
  chain_no bigint not null,
  module_no smallint not null,
  row_key text not null,
  record_id text not null,
  how smallint not null,
  match_key bytea,
  run_no bigint not null references runs on delete cascade,
  primary key (chain_no, module_no, row_key)
) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
create unique index chain_rows_made on chain_rows (chain_no, module_no, record_id) where how in (1, 2);
create index chain_rows_match on chain_rows (chain_no, module_no, match_key) where match_key is not null;
