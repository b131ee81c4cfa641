-- The audit export reads the runs of an org by this time, a page at a time.
-- concurrently
create index concurrently if not exists runs_authorised on runs (org_id, authorised_at);
