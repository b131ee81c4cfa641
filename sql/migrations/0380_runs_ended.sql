-- Ended runs of a connection by time. A batch asks whether another run ended recently. `runs_kept` lacks expired runs, whose writes count too.
-- concurrently
create index concurrently if not exists runs_ended on runs (connector_id, ended_at) where ended_at is not null and not dry_run;
