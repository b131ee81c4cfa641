-- concurrently
create index concurrently if not exists runs_undo on runs (undo_of) where undo_of is not null;
