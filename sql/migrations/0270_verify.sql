-- Written rows that are to be read back: one entry per settlement, in its order. `records`: the ids of their records. `sealed`: the rows with
-- the sent values, encrypted with the run's key. `verified`: kept only until all earlier entries are verified.
create table verify_queue (
  run_no bigint not null references runs on delete cascade,
  fence bigint not null,
  settle_no bigint not null,
  settled_at timestamptz not null default lading_now(),
  records text[] not null,
  rows int not null,
  sealed bytea not null,
  verified boolean not null default false,
  primary key (run_no, fence, settle_no)
);

-- The key of a run's values for verification, sealed. Without the key, no value can be read.
create table verify_keys (
  run_no bigint primary key references runs on delete cascade,
  sealed text not null
);

-- Sent values by what the CRM held when they were read back.
create table run_verified (
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  field text not null,
  as_sent bigint not null,
  truncated bigint not null,
  coerced bigint not null,
  changed bigint not null,
  missing bigint not null,
  uncompared bigint not null,
  primary key (run_no, flow_no, field)
);
