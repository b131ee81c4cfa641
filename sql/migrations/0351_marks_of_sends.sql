-- The marks that each update of the batch leaves on its record, in the format of `written_records`. If the worker ends before the answer, they are
-- added to the marks of the record.
alter table sends add column marks bytea[];
