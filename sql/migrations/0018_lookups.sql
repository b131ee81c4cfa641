-- What each distinct value that rows are searched by came to, asked once in a run, whoever carries it. The value stands as a digest.
-- `found`: how many records, of which `candidates` are the oldest; -1 where the CRM cannot be asked about the value.
create table run_lookups (
  run_no bigint not null references runs on delete cascade,
  lookup_no smallint not null,
  value_hash bytea not null,
  found int not null,
  candidates text[] not null,
  primary key (run_no, lookup_no, value_hash)
) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
