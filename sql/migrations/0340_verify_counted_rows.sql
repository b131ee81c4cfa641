-- The rows of an entry without second writes and writes that got no answer. These are the rows that a run counts as verified or not. Null: the
-- release before wrote the entry, and `rows` counts instead.
alter table verify_queue add column counted_rows int;
