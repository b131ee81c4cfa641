-- The newest test of each schedule's file source: the file's name, size, columns and first rows, or why it could not be fetched. It is deleted after a day.
create table test_fetches (
  schedule_id text primary key references schedules on delete cascade,
  result jsonb not null,
  fetched_at timestamptz not null default lading_now()
);
