-- Runs that carry an earlier one on (its chain), runs that only plan (dry runs), and what people are asked and answer.

-- A dry run holds no import, and there is one at a time.
create unique index runs_rehearse_once on runs (import_no) where state in ('queued', 'writing', 'paused', 'closing') and dry_run;

-- What the payload's unique values were, as a digest: a retry whose mappings changed them cannot tell a lost create by the new ones.
alter table sends add column digests bytea[];
alter table unsettled add column digest bytea;
create index unsettled_chain on unsettled (chain_no, flow_no, row_number);

-- One thing a person is to choose, for all rows that ask it: which of several records a match or a lookup means. `module`: of the
-- candidates, by its name. `field`: the lookup's. `found`: how many there are, of which `candidates` are the oldest.
create table questions (
  run_no bigint not null references runs on delete cascade,
  question_key bytea not null,
  kind text not null check (kind in ('match', 'lookup')),
  flow_id text not null,
  module text not null,
  field text,
  candidates text[] not null,
  found bigint not null,
  primary key (run_no, question_key)
);
create table question_rows (
  run_no bigint not null,
  question_key bytea not null,
  row_number bigint not null,
  primary key (run_no, question_key, row_number),
  foreign key (run_no, question_key) references questions on delete cascade
);

-- What people answered, never changed: a run's snapshot names the last one it knows, so a run taken over applies the same. Without a
-- question the answer is the rule for all of the flow's.
create table decisions (
  decision_no bigint generated always as identity primary key,
  import_no bigint not null references imports on delete cascade,
  flow_id text not null,
  kind text not null check (kind in ('match', 'lookup')),
  question_key bytea,
  choice text not null check (choice in ('record', 'create', 'skip', 'first', 'ask')),
  record_id text,
  decided_by text references people on delete set null,
  decided_at timestamptz not null default lading_now(),
  check ((choice = 'record') = (record_id is not null))
);
create index on decisions (import_no, question_key, decision_no desc);
create index on decisions (decided_by);
