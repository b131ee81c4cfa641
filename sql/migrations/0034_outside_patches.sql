-- An outside engine's update of a record that the same row made in the run: a patch, which has attempts of its own and leaves the row's
-- outcome as it is. `patches`: which rows of an open batch are patched; null where none is.
alter table admissions add column last_patch smallint not null default 0;
alter table sends add column patches boolean[];
