-- The audit export reads the runs of an org by this time, a page at a time. It lists expired runs too, which `runs_kept` leaves out.
-- concurrently
create index concurrently if not exists runs_ended_by_org on runs (org_id, ended_at) where ended_at is not null;
