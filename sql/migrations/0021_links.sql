-- Links between the rows of a run. The keys that rows of one flow are known by to the rows of another that belong to them, as digests, from
-- which no value can be read back. Kept while the run is under way.
create table run_parent_keys (
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  key_hash bytea not null,
  row_number bigint not null,
  primary key (run_no, flow_no, key_hash, row_number)
) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);

-- Whether what is written after all flows has been written to the row's record, in whichever run of the chain.
alter table chain_rows add column patched boolean not null default false;
