-- The archive takes the oldest run of all orgs first. Ids sort by creation, and run numbers do so within an org only. The release before uses
-- `runs_unarchived`.
-- concurrently
create index concurrently if not exists runs_unarchived_by_id on runs (id) where state = 'ended' and not archived;
