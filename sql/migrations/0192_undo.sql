-- The key of a run's before images, sealed. Without the key, no image can be read.
create table image_keys (
  run_no bigint primary key references runs on delete cascade,
  sealed text not null
);

-- `undo_days`: the days for which the run can be undone, from its end. Null: it stores no before images.
-- `undo_of`: the run that this run undoes. `undo_force`: also delete created records that were touched since.
alter table runs
  add column undo_days smallint,
  add column undo_of bigint,
  add column undo_force boolean not null default false;
