-- The audit export reads the runs of an org by this time, a page at a time. `isWrittenRecently` looks for runs that ended recently, also expired ones, which `runs_kept` leaves out.
-- concurrently
create index concurrently if not exists runs_ended on runs (org_id, ended_at) where ended_at is not null;
