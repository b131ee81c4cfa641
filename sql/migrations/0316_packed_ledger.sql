-- formerly: 41afb8b697b86e029ec33b4cd965a39274c5e2818a1a197fddb354751fdded26
-- Packed log entries. A settlement writes one row per block of 1,024 row numbers, or several if a block has more than 1,000 entries. Entry n has
-- the sequence number first_seq + n - 1, and position n of each array. Entries without a row number are in block -1. Postgres compresses the
-- arrays inside the row. Like `run_log`, the table references no other: `leave_no_rows` deletes its rows.
create table log_batches (
  run_no bigint not null,
  first_seq bigint not null check (first_seq > 0),
  last_seq bigint not null check (last_seq >= first_seq),
  block int not null,
  at timestamptz not null default lading_now(),
  row_keys text[] not null,
  flows smallint[] not null,
  row_numbers bigint[] not null,
  modules smallint[] not null,
  phases smallint[] not null,
  targets text[] not null,
  attempts smallint[] not null,
  record_ids text[] not null,
  outcomes smallint[] not null,
  codes text[] not null,
  messages text[] not null,
  primary key (run_no, last_seq)
) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
-- PostgreSQL 15 has no such clause in `create table`.
alter table log_batches
  alter column row_keys set storage main,
  alter column flows set storage main,
  alter column row_numbers set storage main,
  alter column modules set storage main,
  alter column phases set storage main,
  alter column targets set storage main,
  alter column attempts set storage main,
  alter column record_ids set storage main,
  alter column outcomes set storage main,
  alter column codes set storage main,
  alter column messages set storage main;
create index log_batches_blocks on log_batches (run_no, block);

-- All log entries, of both tables. A reader that names `first_seq` and `last_seq`, or `block`, unpacks only the rows of `log_batches` that it
-- needs.
create view log_entries as
  select run_no, seq, row_key, flow_no, row_number, module_no, phase, target, attempt, record_id, outcome, code, message, at,
    seq as first_seq, seq as last_seq, coalesce((row_number / 1024)::int, -1) as block
  from run_log
  union all
  select run_no, first_seq + n - 1, e.row_key, e.flow_no, e.row_number, e.module_no, e.phase, e.target, e.attempt, e.record_id, e.outcome, e.code,
    e.message, at, first_seq, last_seq, block
  from log_batches cross join lateral unnest(row_keys, flows, row_numbers, modules, phases, targets, attempts, record_ids, outcomes, codes, messages)
    with ordinality as e(row_key, flow_no, row_number, module_no, phase, target, attempt, record_id, outcome, code, message, n);

-- Packed admissions of a flow: one bit per row number of a block, so that a row counts once however often it is sent. `fresh`: by how many
-- rows the last statement changed the count. Admissions of external engines stay in `admissions`.
create table admitted_blocks (
  run_no bigint not null,
  module_no smallint not null,
  flow_no smallint not null,
  block int not null,
  bits bit(1024) not null,
  fresh int not null,
  primary key (run_no, module_no, flow_no, block)
) with (fillfactor = 50);

create or replace function leave_no_rows() returns trigger language plpgsql as $$
  declare chain bigint := coalesce(old.chain_no, old.run_no);
  begin
    delete from run_heads where run_no = old.run_no;
    delete from run_log where run_no = old.run_no;
    delete from log_batches where run_no = old.run_no;
    delete from admissions where run_no = old.run_no;
    delete from admitted_blocks where run_no = old.run_no;
    delete from sends where run_no = old.run_no;
    delete from unsettled where run_no = old.run_no;
    if not exists (select from runs where chain_no = chain) then delete from chain_rows where chain_no = chain; end if;
    return null;
  end $$;
