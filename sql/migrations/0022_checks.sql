-- What the last check of an import found, replaced whole by the next one. `ground`: a digest of what it was made from.
create table checks (
  check_no bigint generated always as identity primary key,
  import_no bigint not null unique references imports on delete cascade,
  started_at timestamptz not null,
  ended_at timestamptz not null default lading_now(),
  rows bigint not null,
  ground text not null,
  discovery_id text not null
);

-- In the order they are told. Of the file's cells it holds the samples alone.
create table check_problems (
  check_no bigint not null references checks on delete cascade,
  place int not null,
  problem jsonb not null,
  primary key (check_no, place)
);
