-- Exports of a module against which a flow of a run matches its rows: the CRM's jobs, and the sealed files once they are stored. `asked_at`:
-- before the job was created. The key of a file is sealed.
create table match_exports (
  run_no bigint not null references runs on delete cascade,
  flow_no smallint not null,
  part smallint not null,
  job text not null,
  asked_at timestamptz not null,
  next_page text,
  records bigint,
  key text,
  sealed text,
  primary key (run_no, flow_no, part)
);
create index match_exports_key on match_exports (key);
create trigger match_exports_leave_objects after delete on match_exports for each row when (old.key is not null) execute function loosen_object();
