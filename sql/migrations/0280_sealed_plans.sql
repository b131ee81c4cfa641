-- The plan of a dry run that ended. `digest`: the hash of its last chunk. `steps`: how many writes it has; `rows`: of how many rows.
-- A person seals it (`sealed_at`), asks for approval, and another admin approves it. `plan_of`: the dry run whose plan a run applies.
create table sealed_plans (
  run_no bigint primary key references runs on delete cascade,
  digest bytea not null,
  chunks int not null,
  steps bigint not null,
  rows bigint not null,
  sealed_at timestamptz,
  sealed_by text references people on delete set null,
  expires_at timestamptz,
  asked_at timestamptz,
  asked_by text references people on delete set null,
  approved_at timestamptz,
  approved_by text references people on delete set null
);

-- The chunks of a plan: consecutive steps of one flow. `hash`: of the hash before and of the chunk's lines, so a difference is located.
-- `first_line`: its first line in the list of the run's segments.
create table plan_chunks (
  run_no bigint not null references runs on delete cascade,
  chunk int not null,
  flow_no smallint not null,
  first_row bigint not null,
  last_row bigint not null,
  first_line bigint not null,
  hash bytea not null,
  primary key (run_no, chunk)
);

alter table runs add column plan_of bigint;
