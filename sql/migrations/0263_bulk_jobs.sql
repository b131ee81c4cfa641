-- The CRM's jobs that write the rows of a file, of one flow of a run each. `state`: composed (intent and rows are stored), uploaded, started, done.
-- `sent_at`: before the job was requested, so that without it nothing was sent. `job`: its id at the CRM. `hint`: an id that a callback named, not
-- verified. `secret`: a digest of the secret in the callback's address. The key of the file is sealed.
create table bulk_jobs (
  run_no bigint not null references runs on delete cascade,
  job_no int not null,
  flow_no smallint not null,
  operation text not null,
  file_name text not null,
  rows int not null,
  state text not null default 'composed',
  file_id text,
  job text,
  hint text,
  secret bytea not null,
  composed_at timestamptz not null default lading_now(),
  sent_at timestamptz,
  done_at timestamptz,
  key text,
  sealed text,
  primary key (run_no, job_no)
);
create unique index bulk_jobs_secret on bulk_jobs (secret);
create index bulk_jobs_key on bulk_jobs (key);
create trigger bulk_jobs_leave_objects after delete on bulk_jobs for each row when (old.key is not null) execute function loosen_object();
create trigger bulk_jobs_change_objects after update of key on bulk_jobs for each row when (old.key is not null and new.key is null) execute function loosen_object();
