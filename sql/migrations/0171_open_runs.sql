-- Open runs by connection: each run asks whether another one writes to the same CRM org.
-- concurrently
create index concurrently if not exists runs_open on runs (connector_id) where ended_at is null;
