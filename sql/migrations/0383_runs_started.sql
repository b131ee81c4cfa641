-- The audit export reads the runs of an org by this time, a page at a time.
-- concurrently
create index concurrently if not exists runs_started on runs (org_id, started_at) where started_at is not null;
